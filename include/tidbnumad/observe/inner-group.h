/* Cgroups that a service has made below its own (Delegate=), and what they leave of its CPUs and
 * memory nodes. They follow the unit's properties as far as their own cpuset files are empty. */
#pragma once

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

/* The group nearest to the process, below that of its unit, that has a cpuset. 1: `*ret_path`,
 * owned by the caller, and its effective sets; 0: there is none; negative errno. */
int inner_group_read(const Sysroot *sysroot, const ProcHandle *handle, const char *unit_path,
                     char **ret_path, CpuSet *ret_cpus, NodeSet *ret_mems);
