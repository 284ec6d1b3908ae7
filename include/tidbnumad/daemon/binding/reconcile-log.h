/* What a reconcile logs: the final state of an instance, and in a dry run the step that would be
 * next. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/plan/verdict.h"

/* The verdict on an instance as the journal and the published files report it. */
Verdict reconcile_verdict(const Binder *b, const Instance *instance);

/* Logs that the instance has reached a final step. `first`: it is bound for the first time. */
void reconcile_log_final(const Binder *b, const Instance *instance, bool first, uint64_t now_usec);

/* Was it bound when the daemon started, so that nothing was changed? Such instances are counted
 * in one line. */
bool reconcile_found_bound(const Binder *b, const Instance *instance);
void reconcile_log_found(Binder *b);

/* Logs the step that would be next, where nothing may be changed. */
void reconcile_log_plan(const Binder *b, Instance *instance, const Step *step);
