/* Network cards and disks of the machine, from /sys and /proc/net. */
#pragma once

#include "tidbnumad/model/device.h"
#include "tidbnumad/sys/sysroot.h"

/* Real cards, bonds and teams, no loopback, bridge or veth; whole disks, no partition, loop, ram or
 * device-mapper device. A bond has the node of its members where they agree, and so has an NVMe
 * namespace of several controllers. The default route is followed through bridges, VLANs and bonds.
 * Cards of another network namespace are not there. A dump that lacks a file leaves its field
 * unknown. */
int devices_load(const Sysroot *sysroot, DeviceList *ret);

/* The disks of a directory of a process or of the host. */
typedef struct StorageDevices {
        DeviceList disks; /* whole disks; through partitions, device mapper (LVM, crypt) and md */
        NodeSet nodes;    /* their known nodes */
        char *chain;      /* "/data: ext4 on dm-3 (lvm) on nvme0n1p2 on nvme0n1"; owned */
} StorageDevices;

void storage_devices_done(StorageDevices *storage);
#define _cleanup_storage_devices_ _cleanup_(storage_devices_done)

/* `mountinfo` is the text of a /proc/PID/mountinfo, `dir` absolute and without symbolic links or
 * "..": the deepest mount that holds it, its device, and the devices below that. A btrfs or
 * other file system of several devices: all that it shows. -ENODEV: not on a block device
 * (tmpfs, NFS, overlay); -ENOENT: no mount holds it; -EBADMSG: not a mountinfo. 0 without disks:
 * it is on a block device that is no disk (a RAM disk), or that /sys does not describe. A loop
 * device is built on the disks of its file. */
int storage_find(const Sysroot *sysroot, const char *mountinfo, const char *dir,
                 StorageDevices *ret);

/* The same for a process that names the directory, by its own mountinfo and root, and with `dir`
 * resolved first; in a dump by <proc>/1/mountinfo where it has none of its own. For a directory
 * that does not exist yet, the nearest one above it counts. -EINVAL: not absolute, or in a dump
 * with ".."; -ESRCH: the process is gone; -EACCES: no permission. */
int storage_find_process(const Sysroot *sysroot, int proc_pid_fd, const char *dir,
                         StorageDevices *ret);
