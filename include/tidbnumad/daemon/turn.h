/* One turn of the daemon: whatever an event has changed in one room goes through the others in a
 * fixed order. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* Adds the source that runs a turn after each event, and the timers that a turn sets. */
int turn_start(Manager *manager);

/* At the start, before the loop runs. */
void turn_run(Manager *manager);

/* What the roster has to report goes to the rooms above it: for what follows within the same event,
 * and else done by each turn. */
void turn_hand_on(Manager *manager);

/* Everything that a start waits for is there: the daemon is ready, and reports that. */
int turn_finish_start(Manager *manager);

/* Reports to systemd that the start or the reload is over, and for `systemctl status` how it ended.
 */
void turn_notify_ready(Manager *manager);

/* With what every room keeps of it. */
Instance *turn_free_instance(Instance *instance);
