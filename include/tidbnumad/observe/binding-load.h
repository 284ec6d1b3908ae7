/* What the kernel shows of an instance's binding, read into the model. */
#pragma once

#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/proc.h"

/* `members` are the instance's processes, `cgroup_fd` the folder of its unit or -EBADF, `cpus` what
 * every thread is to have. Reads each thread's status file, so that a thread that set its own
 * affinity is seen too. Members that have ended meanwhile are passed over. -ESRCH: all of them
 * have, or the unit is gone. */
int binding_load(const Topology *topology, const Sysroot *sysroot, const ProcHandle *members,
                 size_t n_members, int cgroup_fd, const CpuSet *cpus, Binding *ret);
