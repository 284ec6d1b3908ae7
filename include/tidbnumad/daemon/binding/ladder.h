/* Keeps the means by which an instance is bound as plan/ladder.h chooses it from what was observed,
 * and changes from one means to another. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* To be called after each observation. True: the means changed, or the former one is being released
 * for that; the instance is reconciled again then. */
bool ladder_follow(const Binder *b, Instance *instance, uint64_t now_usec);
