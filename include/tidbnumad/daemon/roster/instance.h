/* One instance: the processes of one unit that one policy names, and how far its binding is. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/enforce/mover.h"
#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/observe/members.h"
#include "tidbnumad/plan/ladder.h"
#include "tidbnumad/plan/pace.h"
#include "tidbnumad/plan/placement.h"
#include "tidbnumad/plan/step.h"
#include "tidbnumad/sample/access.h"
#include "tidbnumad/sys/proc.h"

#define INSTANCE_NEVER UINT64_MAX

/* How far the way to its placement is; begins anew whenever the instance or its policy changes. */
typedef struct Progress {
        unsigned cpu_writes, mem_writes;
        unsigned call_failures;
        unsigned scope_moves;
        unsigned passes, sweeps, settles;
        bool pass_whole; /* the last pass saw all of its memory */
        uint64_t pass_found_bytes, pass_moved_bytes;
} Progress;

/* Of its CPUs or its memory nodes; see drift.h. */
typedef struct Drift {
        bool stood;         /* at the last look, and nothing of ours has changed it since */
        unsigned n_repairs; /* of what had stood, until `end_usec` */
        uint64_t end_usec;
} Drift;

/* What the full-node guard knows of it; see guard.h. */
typedef struct InstanceGuard {
        bool watched;               /* it is narrow by our doing, as of the last look */
        NodeSet extra;              /* memory nodes that it has beside its own; empty: none */
        bool extra_pending;         /* the backend has not yet confirmed them */
        bool widened;               /* it was, and is not narrow again yet */
        bool logged;                /* that its nodes fill, and nothing is done about it */
        NodeSet barred;             /* nodes that its cgroup does not allow */
        uint64_t rested_since_usec; /* see guard_has_rested() */
        uint64_t n_widenings;
} InstanceGuard;

/* Memory on its way, from the first pass until the instance comes to an end; see move-progress.h.
 */
typedef struct Migration {
        bool under_way;
        bool logged; /* by a line in the journal */
        uint64_t begun_usec;
        uint64_t moved_bytes;
        Pace pace;
        bool pressure_known;
        uint64_t window_usec; /* since when `waited_usec` counts */
        uint64_t waited_usec; /* of the control group's tasks until then */
} Migration;

/* What hardware counters have counted of it. */
typedef struct InstanceAccess {
        AccessCounters counters;
        bool known;  /* some of its threads are, or were, counted */
        bool logged; /* the journal already has a line about threads that are not counted */
        uint64_t counts[N_LOCALITIES];
        double ratio, coverage; /* of the last round */
} InstanceAccess;

/* Draws in a row that showed the same, and what they were of; see sample_is_due(). */
typedef struct Steady {
        unsigned n_draws;
        double ratio, halfwidth; /* of the first of them */
        uint64_t due_usec;       /* monotonic: when it is drawn again */
        uint64_t n_member_changes, migrated_bytes;
} Steady;

/* The room of sampling: where its memory is located. */
typedef struct InstanceSampling {
        NodeMemory *by_node;  /* n_nodes of the topology; NULL: not counted yet; owned */
        bool memory_known;    /* counted: `by_node` is exact */
        uint64_t limit_bytes; /* of its control group; 0: none, or not its own */
        bool sampled;         /* not counted, but drawn: see sample.h */
        double remote_ratio, sampled_ratio, sampled_halfwidth;
        NodeSet sampled_nodes; /* outside of which the two count */
        bool not_drawn_logged; /* why, until it is again */
        Steady steady;
        struct Drawing *drawing; /* under way, see sample.h; NULL; owned */
        InstanceAccess access;
} InstanceSampling;

#define INSTANCE_SAMPLING_NONE                                                                     \
        (InstanceSampling) {                                                                       \
                .remote_ratio = NAN, .sampled_ratio = NAN                                          \
        }

/* The room of undo: the record of its values before any change. */
typedef struct InstanceUndo {
        UndoRecord *record; /* borrowed; NULL: nothing of it was ever changed */
        char *name;         /* as backends and its record know it: `name` changes when its port
                               becomes known; owned */
        BackendNote note;   /* in flight */
        bool released;      /* by enforcement.release */
        bool reset;         /* its record is being given back, or is gone: binding starts anew */
} InstanceUndo;

/* The room of placing, of an instance or of a unit that is planned before it starts. */
typedef struct Assignment {
        bool known;   /* it was planned */
        bool changed; /* and not yet acted upon */
        bool again;   /* its rules have changed: where it is does not count */
        Placement placement;
        PlacementBasis basis;
        PlacementRefusal refusal;
        uint32_t warnings;    /* PlacementWarning */
        NodeSet device_nodes; /* of the disks under its data directory */
        bool allowed_known;
        NodeSet allowed_nodes; /* of its parent cgroup; empty: everything */
        CpuSet allowed_cpus;
} Assignment;

/* Whom the answer of a call is for. */
typedef struct Answer {
        const struct Binder *binder;
        struct Instance *instance;
} Answer;

/* What is on one node, and where it goes. */
typedef struct NodeMove {
        uint32_t from, to;
} NodeMove;

/* See move-kernel.h. */
typedef struct KernelMoves {
        NodeMove *list; /* NULL: none is under way; owned */
        size_t n, next; /* `next` counts each process of each */
} KernelMoves;

/* The room of binding: how far it is on the way to its place. */
typedef struct InstanceBinding {
        Placement placement;        /* what is being carried out */
        Ladder ladder;              /* by which means; see ladder.h */
        uint64_t ladder_since_usec; /* monotonic: another one holds since then; 0: none does */
        bool observed_known;
        Binding observed;              /* by the kernel's files, at the last look */
        bool threads_known;            /* what it says of the threads still counts: the next look
                                        * leaves them out */
        uint64_t outside_bytes;        /* anonymous; goes down while it is being moved */
        uint64_t mapped_outside_bytes; /* of files and shared memory */
        uint64_t mapped_left_bytes;    /* what a pass left of these, for others map them too */
        bool passed;                   /* a pass ended since the last sample */
        bool fits;                     /* its nodes have room for all that is outside */
        bool pulled; /* of one whose memory is not counted: a pass left nothing outside its nodes */
        bool fresh;  /* a process has come since the last look */

        Progress progress;
        Step step;   /* the last decision */
        Step logged; /* the last one that was an end, as the log has it */
        uint64_t rest_until_usec, rest_outside_bytes;
        InstanceState state; /* of the last decision */
        char *failure;       /* what went wrong in the last attempt; NULL; owned */
        Reason failure_code;
        sd_bus_slot *call;             /* in flight */
        Answer answer;                 /* of that */
        StepKind call_kind;            /* what it, or the last one, was for */
        NodeSet call_mems;             /* of one for memory nodes */
        uint64_t effect_deadline_usec; /* until then a call that was answered may still take effect
                                        */
        bool we_narrowed;
        const char *own_refuses; /* what the admin has set on its unit leaves nothing: why; NULL */
        Drift cpus_drift, mems_drift;
        int drift_watches[2]; /* of the files of its cpuset; -1: none */
        InstanceGuard guard;

        Mover mover;
        bool moving; /* a pass is under way */
        size_t mover_process;
        bool missed;        /* a process that is there could not be looked into */
        unsigned execs;     /* of the process that the pass is at */
        KernelMoves kernel; /* the kernel's own way, before the pass */
        uint64_t pass;      /* of the process that the pass is at, for the worker */
        bool at_worker;     /* `due_usec` is when to ask again what became of it */
        bool sweeping;      /* it is a sweep, of the two that follow */
        size_t sweep_node, sweep_process;
        Rate rate;
        uint64_t pull_peak_bytes_per_sec; /* the highest since the guard read the nodes last */
        Migration migration;

        uint64_t due_usec;   /* monotonic; INSTANCE_NEVER: wait for an event */
        double bind_seconds; /* NAN until bound for the first time */
        bool latency_noted;  /* of its CPUs, or it never will be */
        uint64_t bind_attempts, bind_failures, migrated_bytes, failed_pages;
} InstanceBinding;

#define INSTANCE_BINDING_NONE                                                                      \
        (InstanceBinding) {                                                                        \
                .step = { .reason = "" }, .due_usec = INSTANCE_NEVER, .bind_seconds = NAN,         \
                .drift_watches = { -1, -1 }, .mover = MOVER_NONE                                   \
        }

/* What has happened to an instance since the last turn. The roster appends, the turn hands it on to
 * the rooms above. */
typedef enum InstanceNews {
        NEWS_JOINED = 1 << 0,  /* a process has come */
        NEWS_LEFT = 1 << 1,    /* a process has left, and others remain */
        NEWS_RULES = 1 << 2,   /* its policy, or the port that its place depends on */
        NEWS_RENAMED = 1 << 3, /* its port became known */
        NEWS_STORAGE = 1 << 4, /* the disks under its data directory were looked for */
} InstanceNews;

/* Its first fields are the roster's; then one sub-structure a room. Each is written by its room
 * alone. */
typedef struct Instance {
        char *name;      /* metric label; owned */
        char *unit;      /* NULL: none; owned */
        char *exe;       /* of its oldest process; owned */
        uint16_t *ports; /* TCP ports that it listens on, ascending, once known; owned */
        size_t n_ports;
        char *data_dir;        /* NULL: none, or not known; owned */
        NodeSet storage_nodes; /* of the disks under it */
        unsigned n_described;  /* times that the two were looked for since a process came */
        uint64_t describe_due_usec;
        const Policy *policy;
        size_t policy_index;
        uid_t uid;                /* of its first process, when it was found */
        uint64_t first_seen_usec; /* monotonic */

        Member *members; /* ascending by pid; `cpus_applied` is written by binding; owned */
        size_t n_members, members_allocated;
        uint64_t n_member_changes;   /* a process came or went */
        struct Instance *next_ended; /* see roster_take_ended() */
        uint32_t news;               /* InstanceNews */

        InstanceSampling sampling;
        InstanceUndo undo;
        Assignment planned; /* where it belongs */
        InstanceBinding binding;
} Instance;

/* Still without a name: the roster gives it one. */
int instance_new(const Process *first, uint64_t now_usec, Instance **ret);
Instance *instance_free(Instance *instance);

/* The identity that processes of one instance share: their system service, or the scope of ours
 * that they are in, or else the process alone. */
bool instance_owns(const Instance *instance, const Process *process);

/* Takes over both (they are empty afterwards). -ENOMEM: they stay with the caller. */
int instance_add_process(Instance *instance, Process *process, ProcHandle *handle);

/* -1: not one of its processes. */
ssize_t instance_find(const Instance *instance, pid_t pid);
void instance_remove_process(Instance *instance, size_t index);

/* By what it is called. It needs a process. */
InstanceIdentity instance_identity(const Instance *instance);

/* Its processes, as the observer is given them. */
Members instance_members(const Instance *instance, const Sysroot *sysroot);

/* What binds it: the backend of the host, or a weaker one of its own. NULL: nothing can. */
const BackendOps *instance_ops(const Instance *instance, const Backend *host);
BackendKind instance_backend(const Instance *instance, const Backend *host);

/* Does it run as a system service, which then is the instance? */
bool instance_is_service(const Instance *instance);
