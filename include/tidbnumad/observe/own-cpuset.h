/* What the cgroup of a process, usually our own, leaves of the machine. */
#pragma once

#include <sys/types.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/sysroot.h"

/* The CPUs that its cpuset allows, whatever narrower affinity it has. Where the controller is not
 * enabled for its group, the nearest group above counts. -EOPNOTSUPP: no group has the controller;
 * other negative errno. */
int own_cpuset_read_cpus(const Sysroot *sysroot, pid_t pid, CpuSet *ret);

/* The nodes whose memory it may use. */
int own_cpuset_read_nodes(const Sysroot *sysroot, pid_t pid, NodeSet *ret);
