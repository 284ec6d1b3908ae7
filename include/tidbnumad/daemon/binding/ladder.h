/* By which means an instance is bound, as plan/ladder.h chooses it from what was observed; and the
 * way from one means to another. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* After each observation. True: it is bound by other means from now on, or what it is bound by is
 * being released for that; it is looked at again then. */
bool ladder_follow(const Binder *b, Instance *instance, uint64_t now_usec);
