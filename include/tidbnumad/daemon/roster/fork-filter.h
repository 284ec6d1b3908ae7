/* Whose forks the kernel is to tell: those of the processes that are ours. A worker that never
 * execs, as haproxy's, is found by its parent; the forks of all others would only wake us. */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* Tells the kernel, if a process has come since, and looks at the children that the new ones have
 * already. Binding goes first: this takes longer. */
void fork_filter_update(Roster *roster);
