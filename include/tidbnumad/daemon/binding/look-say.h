/* What a look at an instance tells: its state's word, the end of the way in the journal, and what
 * would be done if anything might be. For look.c. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* One word, a constant: tidbnumad(8), STATES. */
const char *look_say_state(const Instance *instance, StepKind kind);

/* The instance has come to an end, which is `step`. */
void look_say_final(const Instance *instance);

/* Nothing may be changed, and this would be next. */
void look_say_plan(Instance *instance, const Step *step);
