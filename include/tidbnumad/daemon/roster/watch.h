/* The kernel's process events, and what the daemon makes of them. */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* Subscribes; where that is refused, says so once and leaves it to polling. Then a first scan. */
int watch_start(Roster *roster);

/* After the policies changed: sorts every known process anew, then scans. */
int watch_rematch(Roster *roster);
