/* Chooses the instances that are published individually. Where a policy allows it, users can start
 * hundreds; the rest is only counted, so that the files stay small. */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* Approximate limit of their size in metrics.prom. */
#define LISTED_BYTES_MAX ((size_t)1 << 20)

/* Returns them ascending by name. The caller owns the list, but not the instances. 0 or -ENOMEM. */
int listed_choose(const Roster *roster, size_t n_nodes, const Instance ***ret, size_t *ret_n);
