/* Everything that is published, at one moment: what `metrics.prom` and `status.json` are made from.
 *
 * Strings are borrowed from the daemon's own state and are valid during the call that renders. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/access.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/reason.h"
#include "tidbnumad/model/topology.h"

typedef enum InstanceState {
        INSTANCE_WAITING,
        INSTANCE_WATCHED,
        INSTANCE_RELEASED,
        INSTANCE_PLANNED,
        INSTANCE_BINDING,
        INSTANCE_MOVING,
        INSTANCE_NARROWING,
        INSTANCE_SETTLING,
        INSTANCE_BOUND,
        INSTANCE_WIDENED,
        INSTANCE_PARTLY,
        INSTANCE_REFUSED,
        N_INSTANCE_STATES,
} InstanceState;

const char *instance_state_to_string(InstanceState state); /* "bound" */

/* From 50 µs, which reading a small file takes, to the minute after which a binding is no longer
 * something that one waits for. */
#define HISTOGRAM_BOUNDS                                                                           \
        {                                                                                          \
                0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,    \
                        0.25, 0.5, 1, 2.5, 5, 10, 60                                               \
        }
enum { HISTOGRAM_BUCKETS = 18 };

typedef struct Histogram {
        uint64_t counts[HISTOGRAM_BUCKETS]; /* each alone, not yet summed up */
        uint64_t n;                         /* those above the last bound too */
        double sum;
} Histogram;

/* The upper bound of a bucket; a value that equals it is in. */
double histogram_bound(size_t bucket);

void histogram_add(Histogram *histogram, double seconds);

/* Resident bytes on one node, as memory.numa_stat counts them (cgroup-v2.rst). */
typedef struct NodeMemory {
        uint64_t anon_bytes;
        uint64_t file_bytes;   /* page cache without shmem */
        uint64_t shmem_bytes;  /* shared memory, tmpfs */
        uint64_t mapped_bytes; /* of both, what is mapped; unknown on cgroup v1 */
} NodeMemory;

/* Used memory without the page cache, which the kernel can reclaim. */
uint64_t node_memory_held(const NodeMemory *memory);

typedef enum SampleMethod {
        SAMPLE_NUMA_STAT, /* memory.numa_stat of a cgroup that is the instance's alone */
        SAMPLE_DRAWN,     /* nodes of pages that were drawn at random */
        SAMPLE_COUNTERS,  /* hardware counters of accesses */
        N_SAMPLE_METHODS,
} SampleMethod;

/* "numa_stat", "sampled", "counters". */
const char *sample_method_to_string(SampleMethod method);

typedef struct InstanceSnapshot {
        const char *name;      /* metric label `instance` */
        const char *policy;    /* metric label `policy` */
        const char *unit;      /* NULL: none */
        const char *exe;       /* path */
        const uint16_t *ports; /* TCP ports that it listens on, ascending; may be NULL */
        size_t n_ports;
        const char *data_dir; /* NULL: none, or not known */
        const char *storage;  /* the disks under it; NULL: not read */
        NodeSet storage_nodes;
        const char *backend;  /* "systemd", "cgroup1", "affinity", or "none" where nothing can be
                               * enforced */
        const char *bound_by; /* "unit", "scope", "cgroup1", "affinity"; "": not yet */
        const char *bound_by_reason; /* why by affinity, where the host has more; NULL: it is not */
        Reason bound_by_code;
        const char *start_cpus_by; /* what of the start of its unit chooses CPUs, such as "numactl";
                                    * "": nothing; NULL: not known */
        const char *start_memory_by; /* likewise, memory nodes */
        pid_t pid;                   /* the oldest process of the instance */
        size_t n_processes;
        NodeSet nodes; /* where it is to be; empty = the policy names none */
        CpuSet cpus;   /* the CPUs that it is to have */
        MemoryMode memory;
        PlacementBasis basis; /* why it is to be there */
        uint32_t warnings;    /* PlacementWarning */

        InstanceState state;
        const char *reason; /* a sentence for the operator; "" when all is well */
        Reason reason_code; /* of what kind it is */
        bool bind_wanted;   /* a written policy names it, and its release was not requested */
        bool cpu_bound, memory_bound; /* verified, see plan/verdict.h */
        size_t n_threads;
        size_t n_threads_outside; /* threads whose CPUs are not exactly `cpus` */

        const NodeMemory *by_node; /* n_nodes of the topology, by index; NULL: not sampled yet */
        const char *memory_method; /* how `by_node` was had: "numa_stat", counted; "sampled", an
                                    * estimate; NULL: it was not */
        double remote_ratio;       /* anonymous memory, 0..1; NAN: not known */
        double remote_ratio_halfwidth; /* of its 95 % confidence interval; 0: exact; NAN: not known
                                        */

        bool access_known;               /* some of its threads have counters, or had */
        uint64_t accesses[N_LOCALITIES]; /* since it was first counted */
        double remote_access_ratio;      /* of the last sample; NAN: not known */
        double access_coverage;          /* 0..1, likewise */

        uint64_t bind_attempts;
        uint64_t bind_failures;
        uint64_t migrated_bytes;
        uint64_t pending_bytes;           /* anonymous bytes that are still to be moved */
        uint64_t failed_pages;            /* pages that the kernel refused to move */
        uint64_t migration_bytes_per_sec; /* the rate in force; 0: nothing is being moved */
        double migration_left_seconds;    /* NAN: nothing is being moved */
        bool memory_widened; /* a strict binding has more nodes, for its own are nearly full, or
                              * were and it is not narrow again yet */
        NodeSet memory_extra_nodes; /* those that are held open for that; empty: none */
        uint64_t memory_widenings;
        bool bound_after_start; /* its first process had run for a while when its CPUs were set, so
                                 * that it may count on those that it had before */
        double bind_seconds;    /* from the first sight of it to the verified state; NAN: not yet */
} InstanceSnapshot;

/* A process that a policy names and that is ignored. */
typedef struct IgnoredSnapshot {
        pid_t pid;
        const char *exe;
        const char *unit; /* NULL: none */
        const char *policy;
        const char *reason; /* a sentence */
} IgnoredSnapshot;

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
typedef struct UnitSnapshot {
        const char *name;
        const char *policy; /* of the processes that it will have; NULL: not known */
        const char *state;  /* one word: see tidbnumad(8), STATES */
        const char *reason; /* a sentence; "" when all is well */
        Reason code;        /* REASON_NONE: no failure, or none that was classified */
        NodeSet nodes;      /* those of the CPUs on which it is prepared to start */
        const IdSet *cpus;  /* AllowedCPUs= as systemd has it now; NULL: not read yet */
        const IdSet *mems;  /* AllowedMemoryNodes= likewise; empty = all */
} UnitSnapshot;

/* Counters of a policy that outlive its instances. */
typedef struct PolicySnapshot {
        const char *name;
        Histogram bind_latency; /* from the start of an instance to the verified CPUs */
        uint64_t bind_attempts;
        uint64_t bind_failures[N_REASONS];
        uint64_t drift_repairs[N_DRIFTS];
        uint64_t memory_widenings, migrated_bytes, failed_pages; /* of all its instances, ever */
        uint64_t accesses[N_LOCALITIES];                         /* likewise */
} PolicySnapshot;

/* Jobs of workers that were given up, by kind. */
typedef struct JobTimeouts {
        const char *job;
        uint64_t n;
} JobTimeouts;

typedef struct EventSnapshot {
        const char *source; /* "connector", "scan" */
        uint64_t received;
        uint64_t lost;    /* times that the kernel reported lost events (ENOBUFS) */
        uint64_t rescans; /* full scans because of a loss */
} EventSnapshot;

/* Whether accesses to memory are counted. */
typedef struct AccessSnapshot {
        bool wanted; /* false: not requested, and nothing is known */
        bool available;
        const char *reason;         /* a sentence, why it is not; "" */
        const char *source;         /* metric labels, see AccessEvents */
        const char *coverage;       /* NULL, both: it is not available */
        bool counted[N_LOCALITIES]; /* which of them there is an event for */
} AccessSnapshot;

/* The daemon itself, for the process_* metrics. */
typedef struct ProcessSnapshot {
        pid_t pid;
        double cpu_seconds; /* user and system time so far */
        uint64_t resident_bytes;
        uint64_t open_fds;
        double start_seconds; /* since the epoch */
} ProcessSnapshot;

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

typedef struct IrqDeviceSnapshot {
        const char *name;
        const char *kind; /* "net" */
        const char *pci;  /* NULL: none */
        int32_t node;     /* -1: not known */
        const char *reason_id, *reason;
        const CpuSet *cpus; /* where its vectors are to be; empty: where they are */
        uint64_t vectors[N_IRQ_STATES];
} IrqDeviceSnapshot;

typedef struct IrqLandedSnapshot {
        const char *device, *instance;
        uint64_t count;
} IrqLandedSnapshot;

/* Interrupts, and irqbalance. */
typedef struct IrqSnapshot {
        bool known; /* false: not read, and everything is omitted */
        const IrqDeviceSnapshot *devices;
        size_t n_devices;
        const IrqLandedSnapshot *landed;
        size_t n_landed;
        uint64_t n_writes, n_repairs; /* settings that were written; of these, put back */
        uint64_t undo_settings;       /* that could be given back */
        bool host_releasing;          /* `release host` was asked for, and is not complete */
        pid_t irqbalance_pid;         /* 0: it does not run */
        bool irqbalance_sent;
        const CpuSet *irqbalance_cpus; /* banned for irqbalance, its own bans included */
        size_t n_irqbalance_irqs;
} IrqSnapshot;

/* An instance or a unit that is being given back what it had. */
typedef struct ReleaseSnapshot {
        const char *name;
        const char *unit;    /* NULL: none */
        const char *reason;  /* why it is released */
        const char *failure; /* of the last attempt; NULL: none has failed */
        Reason failure_code;
} ReleaseSnapshot;

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
typedef struct NodeSnapshot {
        bool memory_known, cpu_known, events_known;
        uint64_t total_bytes, free_bytes, file_bytes /* without shmem */, anon_bytes;
        double cpu_seconds[N_MODES];
        uint64_t events[N_NODE_EVENTS]; /* pages */
} NodeSnapshot;

typedef struct Snapshot {
        const char *version;         /* of tidbnumad */
        const char *hwloc_version;   /* "2.9.0" */
        const char *systemd_version; /* of libsystemd at build time */
        double realtime_seconds;     /* when it was taken, since the epoch */
        bool ready;                  /* the first scan is complete */
        bool enforcing;              /* false: dry run, observe mode, or a sysroot */
        const char *backend;         /* of the host; an instance may have a weaker one */
        const char *backend_reason;  /* why it is not a stronger one, where the host seems to have
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
        NodeSet reserved_nodes;            /* by host.reserve.nodes, for the network */
        CpuSet reserved_cpus;              /* by host.reserve.cpus */
        const NodeSnapshot *nodes;         /* n_nodes of the topology, by index; NULL: not read */
        const InstanceSnapshot *instances; /* ascending by name */
        size_t n_instances;
        uint64_t n_unlisted;       /* instances that there are beside these */
        const UnitSnapshot *units; /* ascending by name */
        size_t n_units;
        const IgnoredSnapshot *ignored_processes;
        size_t n_ignored_processes;
        uint64_t ignored[N_IGNORED_REASONS]; /* processes, at the last reading of each */
        const ReleaseSnapshot *releases;     /* under way */
        size_t n_releases;
        bool undo_known;       /* false: nothing is ever changed, and the three are left out */
        uint64_t undo_records; /* what could be given back */
        uint64_t n_released, n_release_failures;
        uint64_t n_revoked;             /* preparations of units that were taken back */
        const PolicySnapshot *policies; /* in file order */
        size_t n_policies;
        const JobTimeouts *job_timeouts;
        size_t n_job_timeouts;
        const EventSnapshot *events;
        size_t n_events;
        IrqSnapshot irq;
        AccessSnapshot access;
        ProcessSnapshot self;
        bool self_known; /* false: `self` was not read and is left out */
} Snapshot;
