/* Which CPUs and nodes an instance may have, and which it is bound to. */
#pragma once

#include "tidbnumad/observe/members.h"

/* The cpuset of the nearest group above its own that has one: what the instance cannot exceed,
 * whatever is set for it. Both stay empty (everything is allowed) if there is none, and on v1,
 * where the instance gets a group beside the others. */
void members_read_allowed(const Members *members, CpuSet *ret_cpus, NodeSet *ret_nodes);

/* The CPUs to which it is bound. Of a service on v2 its unit's cpuset decides, because the threads
 * of a service may be narrower for other reasons (CPUAffinity= of the manager, a cpu-map). Where
 * there is no such cpuset, the CPUs that its threads may use. -ENODATA: neither can be read. */
int members_read_cpus(const Members *members, CpuSet *ret);

/* The first part of it, the unit's cpuset. -EOPNOTSUPP: no service, or it has none. */
int members_read_unit_cpus(const Members *members, CpuSet *ret);
