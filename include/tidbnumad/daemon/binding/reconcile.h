/* One look at an instance: observe, decide, act, and again when that is due. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Looks at all instances that are due. */
void reconcile_due(Binder *b, uint64_t now_usec);

/* Of those that are due, only the ones to which a process has come since: they go before all else.
 */
void reconcile_fresh(Binder *b, uint64_t now_usec);

/* A sampling interval has passed: everything is looked at, and what stayed partly bound is tried
 * again. */
void reconcile_all(Binder *b, uint64_t now_usec);

/* Has every instance come as far as it goes for now? */
bool reconcile_is_settled(const Binder *b);
