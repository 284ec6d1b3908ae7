/* Everything that is published, at one moment: what `metrics.prom` and `status.json` are made from.
 *
 * The daemon fills it: strings and arrays are borrowed from its own state then, and are valid
 * during the call that renders. tidbnumactl reads the same struct back from status.json, but for
 * what is not in that file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/instance.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/reason.h"
#include "tidbnumad/model/requests.h"
#include "tidbnumad/model/topology.h"

enum { HISTOGRAM_BUCKETS = 18 };

typedef struct Histogram {
        uint64_t counts[HISTOGRAM_BUCKETS]; /* each alone, not yet summed up */
        uint64_t n;                         /* those above the last bound too */
        double sum;
} Histogram;

/* The upper bound of a bucket; a value that equals it is in. */
double histogram_bound(size_t bucket);

void histogram_add(Histogram *histogram, double seconds);

typedef enum SampleMethod {
        SAMPLE_NUMA_STAT, /* memory.numa_stat of a cgroup that is the instance's alone */
        SAMPLE_DRAWN,     /* nodes of pages that were drawn at random */
        SAMPLE_COUNTERS,  /* hardware counters of accesses */
        N_SAMPLE_METHODS,
} SampleMethod;

/* "numa_stat", "sampled", "counters". */
const char *sample_method_to_string(SampleMethod method);

/* A process that a policy names and that is ignored. */
typedef struct IgnoredInfo {
        pid_t pid;
        const char *exe;
        const char *unit; /* NULL: none */
        const char *policy;
        const char *reason; /* a sentence */
} IgnoredInfo;

/* Why processes that a policy names are ignored. */
typedef enum IgnoredReason {
        IGNORED_MAX_INSTANCES,
        IGNORED_PROCESS_LIMIT,
        IGNORED_USER,
        IGNORED_NAMESPACE,
        N_IGNORED_REASONS,
} IgnoredReason;

const char *ignored_reason_to_string(IgnoredReason reason);

/* A unit that a policy names, and that is prepared for its next start. */
typedef struct UnitInfo {
        const char *name;
        const char *policy;          /* of the processes that it will have; NULL: not known */
        const char *state;           /* one word: see tidbnumad(8), STATES */
        const char *reason;          /* a sentence; "" when all is well */
        Reason code;                 /* REASON_NONE: no failure, or none that was classified */
        NodeSet nodes;               /* those of the CPUs on which it is prepared to start */
        bool limits_known;           /* the next two were read */
        CpuSet cpus;                 /* AllowedCPUs= as systemd has it now */
        NodeSet mems;                /* AllowedMemoryNodes= likewise; empty = all */
        uint64_t memory_limit_bytes; /* MemoryMax= as tidbnumad has set it; 0: it has not */
} UnitInfo;

/* Counters of a policy that outlive its instances. */
typedef struct PolicyInfo {
        const char *name;
        Histogram bind_latency; /* from the start of an instance to the verified CPUs */
        uint64_t bind_attempts;
        uint64_t bind_failures[N_REASONS];
        uint64_t drift_repairs[N_DRIFTS];
        uint64_t memory_widenings, migrated_bytes, failed_pages; /* of all its instances, ever */
        uint64_t accesses[N_LOCALITIES];                         /* likewise */
} PolicyInfo;

/* Jobs of workers that were given up, by kind. */
typedef struct JobTimeouts {
        const char *job;
        uint64_t n;
} JobTimeouts;

typedef struct EventInfo {
        const char *source; /* "connector", "scan" */
        uint64_t received;
        uint64_t lost;    /* times that the kernel reported lost events (ENOBUFS) */
        uint64_t rescans; /* full scans because of a loss */
} EventInfo;

/* Whether accesses to memory are counted. */
typedef struct AccessInfo {
        bool wanted; /* false: not requested, and nothing is known */
        bool available;
        const char *reason;         /* a sentence, why it is not; "" */
        const char *source;         /* metric labels, see AccessEvents */
        const char *coverage;       /* NULL, both: it is not available */
        bool counted[N_LOCALITIES]; /* which of them there is an event for */
} AccessInfo;

/* The daemon itself, for the process_* metrics. */
typedef struct ProcessInfo {
        pid_t pid;
        double cpu_seconds; /* user and system time so far */
        uint64_t resident_bytes;
        uint64_t open_fds;
        double start_seconds; /* since the epoch */
} ProcessInfo;

/* How a vector of a device is. */
typedef enum IrqState {
        IRQ_STATE_STEERED,   /* it is where the plan wants it */
        IRQ_STATE_MANAGED,   /* the kernel has chosen its CPUs */
        IRQ_STATE_CONTESTED, /* something else sets it repeatedly */
        IRQ_STATE_FAILED,    /* it is not where it is wanted */
        IRQ_STATE_LEFT,      /* left alone */
        N_IRQ_STATES,
} IrqState;

const char *irq_state_to_string(IrqState state); /* "steered" */

typedef struct IrqDeviceInfo {
        const char *name;
        const char *kind; /* "net" */
        const char *pci;  /* NULL: none */
        int32_t node;     /* -1: not known */
        const char *reason_id, *reason;
        CpuSet cpus; /* where its vectors are to be; empty: where they are */
        uint64_t vectors[N_IRQ_STATES];
} IrqDeviceInfo;

typedef struct IrqLandedInfo {
        const char *device, *instance;
        uint64_t count;
} IrqLandedInfo;

/* Interrupts, and irqbalance. */
typedef struct IrqInfo {
        bool known; /* false: not read, and everything is omitted */
        const IrqDeviceInfo *devices;
        size_t n_devices;
        const IrqLandedInfo *landed;
        size_t n_landed;
        uint64_t n_writes, n_repairs; /* settings that were written; of these, put back */
        uint64_t undo_settings;       /* that could be given back */
        bool host_releasing;          /* `release host` was asked for, and is not complete */
        pid_t irqbalance_pid;         /* 0: it does not run */
        bool irqbalance_sent;
        CpuSet irqbalance_cpus; /* banned for irqbalance, its own bans included */
        size_t n_irqbalance_irqs;
} IrqInfo;

/* An instance or a unit that is being given back what it had. */
typedef struct ReleaseInfo {
        const char *name;
        const char *unit;    /* NULL: none */
        const char *reason;  /* why it is released */
        const char *failure; /* of the last attempt; NULL: none has failed */
        Reason failure_code;
} ReleaseInfo;

typedef enum NodeMode {            /* of its CPUs */
                        MODE_USER, /* with nice, and with what guests use */
                        MODE_SYSTEM,
                        MODE_IRQ,
                        MODE_SOFTIRQ,
                        MODE_IOWAIT,
                        MODE_IDLE,
                        MODE_STEAL,
                        N_MODES,
} NodeMode;
const char *node_mode_to_string(NodeMode mode);

typedef enum NodeEvent { /* Documentation/admin-guide/numastat.rst */
                         EVENT_HIT,
                         EVENT_MISS,
                         EVENT_FOREIGN,
                         EVENT_INTERLEAVE,
                         EVENT_LOCAL,
                         EVENT_OTHER,
                         N_NODE_EVENTS,
} NodeEvent;
const char *node_event_to_string(NodeEvent event);

/* A node of the topology by the kernel's own counters. */
typedef struct NodeCounters {
        bool memory_known, cpu_known, events_known;
        uint64_t total_bytes, free_bytes, file_bytes /* without shmem */, anon_bytes;
        double cpu_seconds[N_MODES];
        uint64_t events[N_NODE_EVENTS]; /* pages */
} NodeCounters;

/* The share of the CPU time between two readings that soft interrupts took; NAN: not known. */
double node_softirq_ratio(const NodeCounters *before, const NodeCounters *now);

/* What the daemon does about its plan. */
typedef enum DaemonMode {
        DAEMON_ENFORCING,
        DAEMON_OBSERVING, /* enforcement.mode: observe */
        DAEMON_PAUSED,    /* by the operator */
        DAEMON_DRY_RUN,   /* --dry-run, or a sysroot */
        N_DAEMON_MODES,
} DaemonMode;

const char *daemon_mode_to_string(DaemonMode mode); /* "observing" */

typedef struct Snapshot {
        const char *version;         /* of tidbnumad */
        const char *hwloc_version;   /* "2.9.0" */
        const char *systemd_version; /* of libsystemd at build time */
        double time_seconds;         /* when it was taken, since the epoch */
        bool ready;                  /* the first scan is complete */
        bool enforcing;              /* false: another mode, or it is about to end */
        DaemonMode mode;
        TrialRequest trial;
        const char *backend;        /* of the host; an instance may have a weaker one */
        const char *backend_reason; /* why it is not a stronger one, where the host seems to have
                                     * that, or why it is none; NULL: neither */

        bool policy_load_success; /* of the last attempt */
        bool policy_in_force;     /* false: refused at the start, and no earlier ones were kept */
        bool policy_kept; /* those in force are of an earlier run, kept in the runtime folder */
        size_t n_adopted; /* none is in force: bindings of an earlier run that are held */
        double policy_load_seconds;       /* when that was, since the epoch */
        const char *const *policy_errors; /* "file:line:column: what, what was expected" */
        size_t n_policy_errors;           /* 0 when the last load succeeded */
        const char *const *policy_warnings;
        size_t n_policy_warnings;

        double sample_interval_seconds;    /* in force */
        const Histogram *sample_durations; /* N_SAMPLE_METHODS of them; NULL: none */
        const Topology *topology;
        NodeSet reserved_nodes;        /* by host.reserve.nodes, for the network */
        CpuSet reserved_cpus;          /* by host.reserve.cpus */
        const NodeCounters *nodes;     /* n_nodes of the topology, by index; NULL: not read */
        const InstanceInfo *instances; /* ascending by name */
        size_t n_instances;
        uint64_t n_unlisted;   /* instances that there are beside these */
        const UnitInfo *units; /* ascending by name */
        size_t n_units;
        const IgnoredInfo *ignored_processes;
        size_t n_ignored_processes;
        uint64_t ignored[N_IGNORED_REASONS]; /* processes, at the last reading of each */
        const ReleaseInfo *releases;         /* under way */
        size_t n_releases;
        bool undo_known;       /* false: nothing is ever changed, and the three are left out */
        uint64_t undo_records; /* what could be given back */
        uint64_t n_released, n_release_failures;
        uint64_t n_revoked;         /* preparations of units that were taken back */
        const PolicyInfo *policies; /* in file order */
        size_t n_policies;
        const JobTimeouts *job_timeouts;
        size_t n_job_timeouts;
        const EventInfo *events;
        size_t n_events;
        IrqInfo irq;
        AccessInfo access;
        ProcessInfo self;
        bool self_known; /* false: `self` was not read and is left out */

        struct json_t *read_from; /* what owns the strings of one that was read; else NULL */
} Snapshot;

extern const FieldTable snapshot_fields;
