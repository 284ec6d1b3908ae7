/* Each round over all instances reads the threads of only some of them, in turn: a server with
 * thousands of threads is not read again and again while nothing changes. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* To be called before a round: sets `threads_known` of the instances whose threads are not read in
 * it. */
void thread_rounds_choose(Binder *b);
