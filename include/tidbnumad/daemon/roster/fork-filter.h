/* The processes whose forks the kernel reports: the members of instances. A worker that never
 * execs, as haproxy's, is found by its parent; forks of other processes would only wake the daemon.
 */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* Updates the kernel's filter if a process has joined since, and identifies the children that new
 * members already have. This takes longer than binding, so binding is done first. */
void fork_filter_update(Roster *roster);
