/* Whole disks in /sys, each by the path of its folder as sysfs_resolve() gives it. */
#pragma once

#include "tidbnumad/model/device.h"
#include "tidbnumad/sys/sysroot.h"

/* By its name alone: devices without data of a server, and devices that are built on others. */
bool disk_name_counts(const char *name);

/* Is this block device a disk of its own, rather than a partition, or made of others or of memory?
 */
bool disk_is_whole(const Sysroot *sysroot, const char *path);

bool disk_is_partition(const Sysroot *sysroot, const char *path);

/* A namespace that several NVMe controllers show has the node that they agree on. */
int disk_load(const Sysroot *sysroot, const char *path, Device *ret);

/* Adds all whole disks of the machine. */
int disks_load(const Sysroot *sysroot, DeviceList *list);
