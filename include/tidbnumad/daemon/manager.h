/* The whole daemon: its modules and its event loop. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/daemon/units/units.h"

/* The modules, from the bottom up. */
typedef struct Manager {
        Host host;
        Registry registry;
        Sampling sampling;
        Undoing undo;
        Placing placing;
        Units units; /* units that are prepared before they start */
        Binder binding;
        struct Interrupts *irq; /* see irq.h; NULL: not started; owned */
        Report report;
        struct Control *control; /* see control.h; NULL: there is none; owned */
        bool start_waits;        /* the start waits for the first preparation of units */
        int notified_error;      /* of publishing, as systemd was notified of it; 0: none */
} Manager;

int manager_new(const Args *args, Manager **ret);
Manager *manager_free(Manager *manager);
DEFINE_CLEANUP(Manager *, manager_free)

/* Loads the policies, finds the processes and adds the loop's event sources. */
int manager_start(Manager *manager);

/* --- a pass of its loop: pass.c --- */

/* Waits for the next event, handles it, and runs a pass unless the event concerns no policy. As
 * sd_event_run(): 0 after `timeout_usec` without an event. */
int manager_next(Manager *manager, uint64_t timeout_usec);

/* Makes a pass at the start, before the loop runs: carries what an event has changed in one module
 * through the other modules, in a fixed order. */
void manager_run_pass(Manager *manager);

/* Does the queued work of all instances, and frees those that have ended. Each pass does so; a
 * caller needs it only where the same event depends on it. */
void manager_dispatch(Manager *manager);

/* Reads the policy files, and puts them in force in every module; if they are rejected, the former
 * ones stay. -ENOMEM and the like only. */
int manager_load_policies(Manager *manager);

/* Reloads the policies while the daemon runs, and notifies systemd. The errors are in
 * host.policy_errors. The pass that follows places and releases by the new policies, or, where the
 * processes are too many for one pass, the one that has looked at the last of them: until then
 * host.reloading is set. */
int manager_reload(Manager *manager);

/* To be called when host.requests has changed. `all`: for every instance, as a pause does; else for
 * those whose release was requested, or is no more. */
void manager_follow_requests(Manager *manager, bool all);

/* Where no policies are in force: holds on to what an earlier run has bound. At the start, once the
 * records were read. */
int manager_adopt(Manager *manager);

/* To be called when the start is complete: reports readiness to systemd. */
int manager_finish_start(Manager *manager);

/* Frees an instance, and what every module keeps of it. */
Instance *manager_free_instance(Instance *instance);
