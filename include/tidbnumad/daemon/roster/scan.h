/* Looks at every process: at the start, after events were lost, and slowly all the time. */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* A first scan, and from then on a slow one. */
int scan_start(Roster *roster);

/* Looks at every process now: adds what is new, removes what is gone. */
int scan_all(Roster *roster);
