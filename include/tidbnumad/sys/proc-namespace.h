/* What a process shares with others: namespaces, the root folder, memory. */
#pragma once

#include "tidbnumad/sys/proc.h"

typedef enum ProcNamespace {
        PROC_NAMESPACE_PID,
        PROC_NAMESPACE_USER,
        PROC_NAMESPACE_MOUNT,
        PROC_NAMESPACE_NETWORK,
} ProcNamespace;

/* Is the process in the host's namespace of that kind? The host's namespaces are our own; for mount
 * namespaces also that of PID 1, because a hardened daemon has a mount namespace of its own. 1:
 * yes, and always below a --sysroot; 0: no; -ESRCH: gone; -EACCES. */
int proc_in_host_namespace(const Sysroot *sysroot, const ProcHandle *handle,
                           ProcNamespace namespace);

/* The same by its folder in the live /proc, for a caller that has just checked that the process is
 * not in an exec. */
int proc_folder_in_host_namespace(const Sysroot *sysroot, int dir_fd, ProcNamespace namespace);

/* Our own, once, as sysroot_open() does of the live machine: they never change. */
void proc_namespaces_read_own(Sysroot *sysroot);

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
