/* Finds the instances that run on a machine, by a set of policies. */
#pragma once

#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/world/instances.h"

/* Finds all processes that match a policy; to be followed by host_instances_describe(). `status`
 * (may be NULL) is what a running daemon published: it has the names, and the policy, program and
 * data directory of processes that this user may not read. 0, -ENOMEM, or another negative errno:
 * /proc cannot be read. */
int instances_find(const Sysroot *sysroot, const PolicySet *policies, const Snapshot *status,
                   HostInstances *ret);

/* For instances whose disks this user cannot look up, those that the daemon published. To be called
 * once they are described. 0 or -ENOMEM. */
int instances_take_storage(const Snapshot *status, HostInstances *list);

/* Moves instances beyond max_instances of their policy and user to `ret_ignored`, as the daemon
 * does: instances that it published come first, then the others in their order. 0 or -ENOMEM. */
int instances_limit(const PolicySet *policies, const Snapshot *status, HostInstances *list,
                    HostInstances *ret_ignored);

/* GOMAXPROCS in the environment of its start; 0: none, or it may not be read. */
uint32_t instances_gomaxprocs(const HostInstance *o);
