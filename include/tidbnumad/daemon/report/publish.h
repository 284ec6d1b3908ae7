/* The daemon's state into the files that others read. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/units/units.h"
#include "tidbnumad/observe/node-load.h"

typedef struct Binder Binder;
typedef struct Undoing Undoing;

/* The room of what is published. It reads the rooms that it borrows and changes none. */
typedef struct Report {
        const Host *host;
        const Roster *roster;
        const Sampling *sampling;
        const Undoing *undo;
        const Units *units;
        const Binder *binding;
        struct Interrupts *const *irq; /* see irq.h; points to NULL until it is started */

        sd_event_source *timer; /* owned */
        NodeTimes node_times;   /* of the last snapshot */
        double start_seconds;   /* when this process began, as it was published last */
        Text metrics;           /* rendered again and again */
        bool failed;            /* logged once */
} Report;

void report_done(Report *report);

/* Writes metrics.prom and status.json. A failure is logged once, and so is that it works
 * again. Nothing is done in a dry run without --runtime-dir. */
int publish_now(Report *report);

/* A table of the instances: where each belongs, and what would be done. */
void dry_run_render(const Report *report, Text *text);
