/* A look at all instances reads the threads of some of them only, in turn: a server of thousands of
 * threads is not read again and again while nothing happens to it. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Before a look at all instances: sets `threads_known` of those whose threads it leaves out. */
void thread_rounds_choose(Binder *b);
