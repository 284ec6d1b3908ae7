/* Reconciles instances: observe, decide, act, and again when due. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Reconciles all instances that are due. */
void reconcile_due(Binder *b, uint64_t now_usec);

/* Reconciles only those due instances that a new process has joined: they have priority over all
 * other work. */
void reconcile_fresh(Binder *b, uint64_t now_usec);

/* Reconciles all instances after binding_interval_usec(), and retries those that stayed partly
 * bound. */
void reconcile_all(Binder *b, uint64_t now_usec);

/* Has every instance reached a final step for now? */
bool reconcile_is_settled(const Binder *b);
