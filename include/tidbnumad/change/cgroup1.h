/* Our groups in the cpuset hierarchy of cgroup v1. */
#pragma once

#include "tidbnumad/change/backend.h"
#include "tidbnumad/sys/sysroot.h"

/* The two that follow wait while another process changes any group of the host.
 *
 * Creates the group of an instance, ready for processes: a group without processes gets the memory
 * nodes of the root. 0, or a negative errno. */
int cgroup1_groups_make(const Sysroot *sysroot, const char *instance);

/* Removes all groups without processes, and then our directory. -EBUSY: some groups are in use;
 * -ENOENT: there is no group; other negative errno. */
int cgroup1_groups_remove(const Sysroot *sysroot);

/* The folder of the target, and its path as /proc/PID/cgroup has it. The caller owns both.
 * -ENOENT: it is not there yet. */
int backend_cgroup1_open(Backend *backend, const BackendTarget *target, int *ret_fd,
                         char **ret_path);

/* Makes the group of an instance, gives it the CPUs and puts the process into it, with all its
 * threads. 0; -ESRCH: the process is gone; -ENOSPC: the group has no CPUs or no memory nodes; other
 * negative errno. */
int cgroup1_join(Backend *backend, const char *instance, const CpuSet *cpus,
                 const ProcHandle *process);
