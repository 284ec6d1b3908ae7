/* What a process sees and shares with others: mounts, the root folder, namespaces, memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

/* O_PATH: it opens nothing on the file system. Absolute links and ".." stay below `root_fd`. A
 * magic link of /proc, which can lead anywhere, is not followed. -ENOENT; -ENOTDIR; -ELOOP: a magic
 * link, or too many links; other negative errno. */
int open_below(int root_fd, const char *path);

/* The same without openat2(2), one path component after the other, for kernels before 5.6. A
 * process that renames directories at the same time can make the path end elsewhere: use the result
 * for information only, not for a decision on access. */
int open_below_walk(int root_fd, const char *path);

/* Is one of its names ".."? */
bool path_has_dot_dot(const char *path);

/* --- the mounts that a process sees: /proc/PID/mountinfo (proc(5)) --- */

typedef struct Mount {
        uint64_t id;
        uint64_t parent; /* the mount that it is mounted on */
        uint32_t major;  /* of the file system; 0: none of a block device, as of tmpfs and btrfs */
        uint32_t minor;
        const char *root;  /* what of the file system is mounted; escaped */
        const char *point; /* as the process names it */
        const char *type;  /* "ext4" */
        const char *source;
        const char *point_options; /* of this mount: "ro,nosuid" */
        const char *options;       /* of the file system: "rw,cpuset" */
} Mount;

/* What the mounts point into is theirs. Paths hold any bytes. */
typedef struct MountTable {
        char *text;    /* owned */
        Mount *mounts; /* owned */
        size_t n_mounts;
        size_t allocated;
} MountTable;

void mount_table_done(MountTable *table);
#define _cleanup_mount_table_ _cleanup_(mount_table_done)

/* Turns a failure to read the mounts or the root of a process that has ended meanwhile, -ENOENT or
 * -EINVAL, into -ESRCH; any other `r` as it is. */
int mountinfo_error(int r);

/* -EBADMSG: a line is none of mountinfo. */
int mountinfo_parse(const char *text, MountTable *ret);

/* Is nothing to be written there: by the options of the mount, as in the sandbox of a service, or
 * of the file system? */
bool mount_is_read_only(const Mount *mount);

/* The mount of an absolute path without links and ".."; NULL: none. One that was mounted over
 * another hides what was below that. */
const Mount *mount_table_find(const MountTable *table, const char *path);

const Mount *mount_table_find_id(const MountTable *table, uint64_t id);

/* The mount that our descriptor `fd` is on. */
int mount_id_read(const Sysroot *sysroot, int fd, uint64_t *ret);

/* "\040" becomes a blank, and so on, in place. No other backslash changes. */
void mountinfo_unescape(char *text);

/* --- what a process shares with others: namespaces, the root folder, memory --- */

/* Is the process in the host's namespace of that kind? The host's namespaces are our own; for mount
 * namespaces also that of PID 1, because a hardened daemon has a mount namespace of its own. 1:
 * yes, and always below a --sysroot; 0: no; -ESRCH: gone; -EACCES. */
int proc_in_host_namespace(const Sysroot *sysroot, const ProcHandle *handle,
                           ProcNamespace namespace);

/* The same by its folder in the live /proc, for a caller that has just checked that the process is
 * not in an exec. */
int proc_folder_in_host_namespace(const Sysroot *sysroot, int dir_fd, ProcNamespace namespace);

/* Is its root folder ours, or the one of PID 1? Answers as above. */
int proc_has_host_root(const ProcHandle *handle);

/* Is the root folder of its mount namespace ours, or the one of PID 1? So it is for a process in a
 * chroot(2) that sees only a part of the host's tree, and not after a pivot_root(2), as in a
 * container. Walks up through the folders, and so may wait for their file system for ever. Answers
 * as above. */
int proc_namespace_has_host_root(const Sysroot *sysroot, const ProcHandle *handle);

/* Are both in the same namespace of that kind? Answers as above. */
int proc_shares_namespace(const ProcHandle *a, const ProcHandle *b, ProcNamespace namespace);

/* Is the file that it executes on a mount of its mount namespace, or of PID 1's? A process may
 * execute a descriptor of a file in another namespace, or of a mount that is detached:
 * /proc/PID/exe then shows the path on that mount alone, which its maker chose. Follows the link,
 * and so may wait for the file system of the file for ever. Answers as above. */
int proc_exe_is_mounted(const Sysroot *sysroot, const ProcHandle *handle);

/* Does it share its address space with the process `other`, as the child of a vfork(2) does
 * until its exec? 1: yes; 0: no, and always below a --sysroot; -ESRCH: one is gone; -ENOSYS,
 * -EPERM: the kernel does not permit it, see kcmp(2). */
int proc_shares_memory(const ProcHandle *handle, pid_t other);
