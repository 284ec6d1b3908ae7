/* The disks of a directory, and the data directory of a process. */
#pragma once

#include <stddef.h>

#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/proc.h"

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

/* --- the data directory --- */

/* Where a TiKV or PD keeps its data. The first of two sources that names a directory counts:
 *
 *  1. the command line: --data-dir DIR, also with '=' and, as older PD versions took it, with one
 *     dash; of TiKV also --store and -s. TiUP always gives it; 2. the directory of a file that the
 *     process has open for writing: the first one called LOCK, else the first log or table of
 *     RocksDB ("000123.log", "000123.sst"). TiKV keeps a LOCK in the data directory itself;
 *     RocksDB, LevelDB and raft-engine keep one in theirs, which may be one level below.
 *
 * TiDB and HAProxy have no data directory. No file of the process is opened: its configuration
 * belongs to another program, and its path may be on a file system that does not answer. */

/* The directory, as the process itself names it: absolute, below its own root (/proc/PID/root),
 * free of control characters, shorter than PATH_MAX; it need not exist. The caller owns it.
 * -ENODATA: none found; -EBADMSG: the first source names one that is no such path; -ESRCH: gone;
 * -EACCES: not ours to read. */
int data_dir_read(const Sysroot *sysroot, const ProcHandle *handle, char **ret);

/* Source 1, out of a command line as cmdline_read() gives it: points into `bytes`, NULL where it is
 * not given or empty. The last one counts, as it does for PD; TiKV does not start with two. */
const char *data_dir_parse_cmdline(const char *bytes, size_t size);

/* `path` below `base`, where it is not absolute, without "." and double slashes. `base` may be
 * NULL: the working directory of the process is gone. -ENODATA: relative to nothing; -EBADMSG: not
 * absolute in the end, too long, or with control characters. The caller owns it. */
int data_dir_join(const char *base, const char *path, char **ret);
