/* Devices in /sys: each is a folder below sys/devices, inside the one of what it is attached to
 * (Documentation/admin-guide/sysfs-rules.rst). Paths here are relative to /sys. */
#pragma once

#include <limits.h>

#include "tidbnumad/sys/sysroot.h"

enum { SYSFS_PCI_MAX = 24 }; /* "10000:3b:00.0" and more */

/* The folder that a path leads to, without links: "class/net/eth0" becomes
 * "devices/pci0000:00/0000:00:03.0/net/eth0". -ENOENT: no such folder; -EXDEV: outside of /sys. */
int sysfs_resolve(const Sysroot *sysroot, const char *path, char ret[static PATH_MAX]);

/* The same of an entry of a folder: "class/net" and "eth0". */
int sysfs_resolve_in(const Sysroot *sysroot, const char *folder, const char *name,
                     char ret[static PATH_MAX]);

bool sysfs_is_virtual(const char *path); /* of a device without hardware of its own */
bool sysfs_to_parent(char *path);        /* false: it has none, and stays */

/* A file or folder of the device. A file comes without its final newline. */
bool sysfs_has(const Sysroot *sysroot, const char *path, const char *name);
ssize_t sysfs_read(const Sysroot *sysroot, const char *path, const char *name, char *buffer,
                   size_t size);

/* The last part of what a link of the device points to. The caller owns it. -ENOENT: no link. */
int sysfs_read_link_name(const Sysroot *sysroot, const char *path, const char *name, char **ret);

/* The NUMA node and the driver of a device, or of the nearest one above it that has them. The node
 * is found by its number or by the CPUs near it, and only by what a device of a bus (PCI, nd) shows
 * of them: a device of a class may report a node that nobody set. -1 where the firmware does not
 * report it. The caller owns the driver's name (-ENOENT: none). */
int sysfs_node(const Sysroot *sysroot, const char *path);
int sysfs_driver(const Sysroot *sysroot, const char *path, char **ret);

/* The address of the PCI device that it is, or is attached to. -ENOENT: none. */
int sysfs_pci(const char *path, char ret[static SYSFS_PCI_MAX]);

/* Calls back for each entry of a folder, in any order, but for those with a leading dot. A negative
 * answer ends the walk and is returned. -ENOENT: no such folder. */
typedef int (*SysfsCallback)(const char *name, void *userdata);
int sysfs_foreach(const Sysroot *sysroot, const char *path, SysfsCallback callback, void *userdata);
