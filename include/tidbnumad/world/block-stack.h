/* What a block device is built on: partitions, device mapper, md, down to whole disks. */
#pragma once

#include <limits.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/device.h"
#include "tidbnumad/sys/sysroot.h"

/* The folder of a device below /sys, by its number or by its name in /dev ("/dev/sda1",
 * "/dev/mapper/vg-data", "/dev/vg/data"). -ENODEV: none that /sys knows. */
int block_stack_resolve_number(const Sysroot *sysroot, uint32_t major, uint32_t minor,
                               char ret[static PATH_MAX]);
int block_stack_resolve_name(const Sysroot *sysroot, const char *name, char ret[static PATH_MAX]);

/* Adds the whole disks under the device at `path` to `disks`, each once, and appends the way
 * there to `chain`: "dm-3 (lvm) on nvme0n1p2 on nvme0n1". Several devices are in brackets. A
 * device on no disk, such as a RAM disk, adds none. */
int block_stack_add(const Sysroot *sysroot, const char *path, DeviceList *disks, Text *chain);
