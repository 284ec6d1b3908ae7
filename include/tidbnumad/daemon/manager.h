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
