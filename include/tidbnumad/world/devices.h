/* Network cards and disks of the machine, from /sys and /proc/net. */
#pragma once

#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"

/* Real cards, bonds and teams, no loopback, bridge or veth; whole disks, no partition, loop, ram or
 * device-mapper device. A bond has the node of its members where they agree, and so has an NVMe
 * namespace of several controllers. The default route is followed through bridges, VLANs and bonds.
 * Cards of another network namespace are not there. A dump that lacks a file leaves its field
 * unknown. */
int devices_load(const Sysroot *sysroot, DeviceList *ret);

/* Adds the real cards, and what bundles them: bonds and teams. */
int network_cards_load(const Sysroot *sysroot, DeviceList *list);

/* Reads the node, PCI address and driver of a device, as far as they are known. `path` is as from
 * sysfs_resolve(). 0 or -ENOMEM. */
int device_set_attachment(const Sysroot *sysroot, const char *path, Device *device);

/* --- disks, each by the path of its folder as sysfs_resolve() gives it --- */

/* By its name alone: devices without data of a server, and devices that are built on others. */
bool disk_name_counts(const char *name);

/* Is this block device a disk of its own, rather than a partition, or made of others or of memory?
 */
bool disk_is_whole(const Sysroot *sysroot, const char *path);

bool disk_is_partition(const Sysroot *sysroot, const char *path);

/* A namespace that several NVMe controllers show has the node that they agree on. */
int disk_load(const Sysroot *sysroot, const char *path, Device *ret);
