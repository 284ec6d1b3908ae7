/* Which instances are published one by one. Where a policy allows it, users can start hundreds: the
 * others are counted, so that the files stay small enough for whoever reads them. */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* What all of them may take in metrics.prom, about. */
#define LISTED_BYTES_MAX ((size_t)1 << 20)

/* Ascending by name. The list is the caller's, the instances are not. 0 or -ENOMEM. */
int listed_choose(const Roster *roster, size_t n_nodes, const Instance ***ret, size_t *ret_n);
