/* What a look at an instance tells: its state's word, the end of the way in the journal, and what
 * would be done if anything might be. For reconcile.c. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/plan/verdict.h"

/* What is reported of it now, in the journal and in what is published. */
Verdict reconcile_verdict(const Binder *b, const Instance *instance);

/* The instance has come to an end, which is `step`. */
void reconcile_log_final(const Binder *b, const Instance *instance);

/* Nothing may be changed, and this would be next. */
void reconcile_log_plan(const Binder *b, Instance *instance, const Step *step);
