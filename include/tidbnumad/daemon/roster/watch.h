/* Receives the kernel's process events, and scans for processes that no event reported. */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* Subscribes to process events, and makes a first scan. If the kernel refuses, that is logged once
 * and processes are found by polling. */
int watch_start(Roster *roster);

/* Matches every known process again after a change of policies, then scans. */
int watch_rematch(Roster *roster);
