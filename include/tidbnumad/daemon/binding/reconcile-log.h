/* What a reconcile logs: the final state of an instance, and in a dry run the step that would be
 * next. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/plan/verdict.h"

/* The verdict on an instance as the journal and the published files report it. */
Verdict reconcile_verdict(const Binder *b, const Instance *instance);

/* Logs that the instance has reached a final step. */
void reconcile_log_final(const Binder *b, const Instance *instance);

/* Logs the step that would be next, where nothing may be changed. */
void reconcile_log_plan(const Binder *b, Instance *instance, const Step *step);
