/* Which policy a process belongs to. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/workload.h"

/* Could a process of this executable match any policy? What a scan asks first, about every process.
 */
bool match_wants_exe(const PolicySet *policies, const char *exe);

/* The first policy, in file order, whose every key holds; NULL when none does. A policy with a
 * `user` that does not exist on this host matches nothing. Strangers (containers) match nothing. */
const Policy *match_process(const PolicySet *policies, const Process *process);

/* The nodes that an entry of `instances` gives to this unit, or NULL. The first that matches
 * counts. */
const PolicyInstance *match_instance(const Policy *policy, const char *unit);
