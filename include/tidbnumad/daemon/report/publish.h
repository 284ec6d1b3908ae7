/* Writes the daemon's state to the published files. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/units/units.h"
#include "tidbnumad/world/memory.h"

typedef struct Binder Binder;
typedef struct Undoing Undoing;

/* The module of reports. It reads the modules that it borrows, and changes none. */
typedef struct Report {
        const Host *host;
        const Registry *registry;
        const Sampling *sampling;
        const Undoing *undo;
        const Units *units;
        const Binder *binding;
        struct Interrupts *const *irq; /* see irq.h; points to NULL until it is started */

        sd_event_source *timer, *clock_set; /* owned */
        NodeTimes node_times;               /* CPU times of nodes at the last snapshot */
        double start_seconds;               /* start time of this process, as published last */
        Text metrics, status;               /* buffers that are reused */
        int error;                          /* of the last attempt, logged once; 0: it succeeded */
} Report;

void report_done(Report *report);

/* Writes metrics.prom and status.json. A failure is logged once, and so is that it works
 * again. Nothing is done in a dry run without --runtime-dir. */
int publish_now(Report *report);

/* Chooses the instances that are published individually. Where a policy allows it, users can start
 * hundreds; the rest is only counted, so that the files stay small: about so much of metrics.prom.
 * Ascending by name. The caller owns the list, but not the instances. 0 or -ENOMEM. */
#define LISTED_BYTES_MAX ((size_t)1 << 20)
int listed_choose(const Registry *registry, size_t n_nodes, const Instance ***ret, size_t *ret_n);

/* Renders a table of the instances: the place of each, and the next step towards it. */
void dry_run_render(const Report *report, Text *text);
