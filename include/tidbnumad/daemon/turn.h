/* One turn of the daemon: carries what an event has changed in one module through the other
 * modules, in a fixed order. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* Adds the timers that a turn sets. */
int turn_start(Manager *manager);

/* Waits for the next event, handles it, and runs a turn unless the event concerns no policy. As
 * sd_event_run(): 0 after `timeout_usec` without an event. turn_loop(): until the loop exits;
 * returns its exit code, or a negative errno. */
int turn_next(Manager *manager, uint64_t timeout_usec);
int turn_loop(Manager *manager);

/* Runs a turn at the start, before the loop runs. */
void turn_run(Manager *manager);

/* Does the queued work of all instances, and frees those that have ended. Each turn does so; a
 * caller needs it only where the same event depends on it. */
void turn_dispatch(Manager *manager);

/* Reads the policy files, and puts them in force in every module; if they are rejected, the former
 * ones stay. -ENOMEM and the like only. */
int turn_load_policies(Manager *manager);

/* Reloads the policies while the daemon runs, and notifies systemd. The errors are in
 * host.policy_errors. The turn that follows places and releases by the new policies, or, where the
 * processes are too many for one turn, the one that has looked at the last of them: until then
 * host.reloading is set. */
int turn_reload(Manager *manager);

/* To be called when host.requests has changed. `all`: for every instance, as a pause does; else for
 * those whose release was requested, or is no more. */
void turn_follow_requests(Manager *manager, bool all);

/* Where no policies are in force: holds on to what an earlier run has bound. At the start, once the
 * records were read. */
int turn_adopt(Manager *manager);

/* To be called when the start is complete: reports readiness to systemd. */
int turn_finish_start(Manager *manager);

/* Frees an instance, and what every module keeps of it. */
Instance *turn_free_instance(Instance *instance);
