/* One turn of the daemon: whatever an event has changed in one room goes through the others in a
 * fixed order. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* Adds the source that runs a turn after each event, and the timers that a turn sets. */
int turn_start(Manager *manager);

/* At the start, before the loop runs. */
void turn_run(Manager *manager);
