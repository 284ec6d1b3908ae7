/* What is watched on a host without any policy. */
#pragma once

#include "tidbnumad/model/policy.h"

/* Adds the built-in policies to a set that has none: tidb, tikv, pd and haproxy, by their programs,
 * as services of the system manager, which are watched and reported and never placed. Returns 0 or
 * -ENOMEM. */
int policy_builtin_add(PolicySet *set);
