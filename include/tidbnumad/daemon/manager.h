/* The daemon: one event loop and all that it owns. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/daemon/access.h"
#include "tidbnumad/daemon/args.h"
#include "tidbnumad/daemon/hotplug.h"
#include "tidbnumad/daemon/instance.h"
#include "tidbnumad/daemon/journal.h"
#include "tidbnumad/daemon/release.h"
#include "tidbnumad/daemon/sample.h"
#include "tidbnumad/daemon/strangers.h"
#include "tidbnumad/daemon/units.h"
#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/enforce/undo.h"
#include "tidbnumad/model/device.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/observe/node-load.h"
#include "tidbnumad/observe/processes.h"
#include "tidbnumad/sys/sysroot.h"

/* A storm of 3,000 starts makes some 10,000 events of 200 bytes each with the kernel's overhead,
 * while the loop is busy for a second. */
#define MANAGER_RECEIVE_BUFFER_BYTES ((size_t)8 << 20)

/* The net under the events, and what stands in for them where there is no connector. */
#define MANAGER_SCAN_INTERVAL_USEC (UINT64_C(30) * 1000 * 1000)
#define MANAGER_POLL_INTERVAL_USEC (UINT64_C(2) * 1000 * 1000)

/* After a loss of events everything is looked at, but no more often than so: under a storm that
 * goes on, the scans themselves would make the next loss. */
#define MANAGER_RESCAN_INTERVAL_USEC (UINT64_C(250) * 1000)

typedef struct EventCounters {
        uint64_t received, lost, rescans;
} EventCounters;

/* Beside the policies, by index. */
typedef struct PolicyCounters {
        Histogram bind_latency;
        uint64_t bind_attempts, bind_failures[N_REASONS];
        uint64_t drift_repairs[N_DRIFTS];
        /* As those of the instances, which end: counted beside them. */
        uint64_t memory_widenings, migrated_bytes, failed_pages;
        uint64_t accesses[N_LOCALITIES];
} PolicyCounters;

struct Manager {
        const Args *args; /* borrowed */
        Journal journal;
        Sysroot sysroot;
        Topology topology;
        Hotplug hotplug;
        DeviceList devices;             /* read at the start and with each reload */
        uint64_t *high_watermark_bytes; /* by index of the topology's nodes; owned */
        int runtime_fd;                 /* -EBADF: nothing is published */
        int lock_fd;                    /* of runtime-dir.h */

        PolicySet policies;
        PolicyCounters *policy_counters; /* n_policies; owned */
        Diagnostics policy_errors;       /* of the last attempt */
        Diagnostics policy_warnings;
        bool policy_load_success;
        double policy_load_seconds;

        sd_event *event;
        sd_event_source *connector_source, *work_timer, *scan_timer, *rescan_timer, *sample_timer,
                *publish_timer, *describe_timer;
        int connector_fd;  /* -EBADF: polling */
        bool follow_stale; /* processes have come whose forks the kernel does not tell yet */
        bool follows_all;
        Backend backend;

        Instance **instances; /* ascending by name; owned */
        size_t n_instances, instances_allocated;
        bool plan_stale; /* see place.h */
        sd_event_source *place_source;
        NodeSet reserved;     /* what host.reserve comes to, at the last plan */
        uint64_t *left_bytes; /* by index of the topology's nodes; owned */
        bool left_known;
        struct Guard *guard; /* see guard.h; NULL: not started; owned */
        struct Irq *irq;     /* see irq.h; likewise */
        Strangers strangers;
        PidList scan; /* the round of the slow scan that is under way */
        size_t scan_next;
        uint64_t rescan_usec; /* when the last loss was answered */

        Undo undo; /* what stood before each change */
        Releases releases;

        NodeTimes node_times; /* of the last snapshot */
        Sampling sampling;
        Access access;

        Units units; /* that are prepared before they start */

        int drift_fd; /* inotify(7) on what instances are bound by; -EBADF: none */
        sd_event_source *drift_source;

        EventCounters connector_events, scan_events;
        bool ready;
        bool memory_lock_tried;
        bool publish_failed;  /* said once */
        bool identify_failed; /* likewise */
        double start_seconds; /* when this process began, as it was told last */
        Text metrics;         /* rendered again and again */
};

int manager_new(const Args *args, Manager **ret);
Manager *manager_free(Manager *manager);
DEFINE_CLEANUP(Manager *, manager_free)

/* Loads the policies, finds the processes and sets up the loop's sources. */
int manager_start(Manager *manager);

/* Does it change anything on this host? */
bool manager_enforces(const Manager *manager);

/* Locks this process's memory, once it enforces: the guard is to act when the host has none left.
 * It stays locked when a reload ends that. That a run by hand may not be allowed to is logged. */
void manager_lock_memory(Manager *manager);

/* Something happened: look at what is due at the latest at that time; publish soon. */
void manager_schedule(Manager *manager);
void manager_publish_soon(Manager *manager);
