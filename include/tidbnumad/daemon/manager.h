/* The daemon: one event loop and all that it owns. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/undo/release.h"
#include "tidbnumad/daemon/units/units.h"
#include "tidbnumad/enforce/undo.h"

/* A storm of 3,000 starts makes some 10,000 events of 200 bytes each with the kernel's overhead,
 * while the loop is busy for a second. */
#define MANAGER_RECEIVE_BUFFER_BYTES ((size_t)8 << 20)

/* The net under the events, and what stands in for them where there is no connector. */
#define MANAGER_SCAN_INTERVAL_USEC (UINT64_C(30) * 1000 * 1000)
#define MANAGER_POLL_INTERVAL_USEC (UINT64_C(2) * 1000 * 1000)

/* After a loss of events everything is looked at, but no more often than so: under a storm that
 * goes on, the scans themselves would make the next loss. */
#define MANAGER_RESCAN_INTERVAL_USEC (UINT64_C(250) * 1000)

/* Beside the policies, by index. */
typedef struct PolicyCounters {
        Histogram bind_latency;
        uint64_t bind_attempts, bind_failures[N_REASONS];
        uint64_t drift_repairs[N_DRIFTS];
        /* As those of the instances, which end: counted beside them. */
        uint64_t memory_widenings, migrated_bytes, failed_pages;
} PolicyCounters;

/* What stood before each change, and the way back. */
typedef struct Undoing {
        Undo records;
        Releases releases;
} Undoing;

/* The plan in force. */
typedef struct Placing {
        sd_event_source *timer;
        NodeSet reserved;     /* by host.reserve, at the last plan */
        uint64_t *left_bytes; /* by index of the topology's nodes; owned */
        bool left_known;
} Placing;

/* Each instance on its way to its place. */
typedef struct Binder {
        sd_event_source *work_timer;
        struct Guard *guard; /* see guard.h; NULL: not started; owned */
        int drift_fd;        /* inotify(7) on what instances are bound by; -EBADF: none */
        sd_event_source *drift_source;
        PolicyCounters *policy_counters; /* n_policies; owned */
} Binder;

/* The rooms, from the bottom up. */
struct Manager {
        Host host;
        Roster roster;
        Sampling sampling;
        Undoing undo;
        Placing placing;
        Units units; /* that are prepared before they start */
        Binder binding;
        struct Interrupts *irq; /* see irq.h; NULL: not started; owned */
        Report report;
        sd_event_source *turn; /* see turn.h */
};

int manager_new(const Args *args, Manager **ret);
Manager *manager_free(Manager *manager);
DEFINE_CLEANUP(Manager *, manager_free)

/* Loads the policies, finds the processes and sets up the loop's sources. */
int manager_start(Manager *manager);

/* Reports to systemd that the start or the reload is over, and for `systemctl status` how it ended.
 */
void manager_notify_ready(const Manager *manager);
