/* What the full-node guard logs and reports in status. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/model/huge-pages.h"
#include "tidbnumad/plan/guard.h"

/* Logs that these nodes fill up and nothing is done: `what`: why, and what may happen. Logged
 * once, until the danger is over. */
void guard_log_danger(const Binder *b, Instance *instance, const NodeSet *nodes,
                      const GuardOutlook *outlook, const char *what);
void guard_log_safe(const Binder *b, Instance *instance);

/* Logs that the instance got another node because these nodes fill up. */
void guard_log_widened(const Binder *b, const Instance *instance, const NodeSet *nodes,
                       const GuardOutlook *outlook, uint32_t node);

/* The same for a pool of reserved huge pages; `more`: the nodes that it got. */
void guard_log_pool_danger(const Binder *b, Instance *instance, const NodeSet *nodes,
                           const HugeShortage *shortage, const char *what);
void guard_log_pool_widened(const Binder *b, const Instance *instance, const NodeSet *nodes,
                            const HugeShortage *shortage, const NodeSet *more);
