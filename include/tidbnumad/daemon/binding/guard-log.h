/* What the full-node guard tells, to the journal and in status. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/plan/guard.h"

/* These nodes fill up, and nothing is done: `what` says why, and what may follow. Told once, until
 * it is over. */
void guard_log_danger(const Binder *b, Instance *instance, const NodeSet *nodes,
                      const GuardOutlook *outlook, const char *what);
void guard_log_safe(const Binder *b, Instance *instance);

/* They do, and the instance got another node. */
void guard_log_widened(const Binder *b, const Instance *instance, const NodeSet *nodes,
                       const GuardOutlook *outlook, uint32_t node);
