/* One instance: the processes of one unit that match one policy, and the state that each room keeps
 * of it. */
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
#include "tidbnumad/model/huge-pages.h"
#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/ladder.h"
#include "tidbnumad/plan/pace.h"
#include "tidbnumad/plan/placement.h"
#include "tidbnumad/plan/step.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/worker/job.h"
#include "tidbnumad/world/access.h"
#include "tidbnumad/world/members.h"

#define INSTANCE_NEVER UINT64_MAX

/* Progress towards the placement; reset whenever the instance or its policy changes. */
typedef struct Progress {
        unsigned cpu_writes, mem_writes;
        unsigned call_failures;
        unsigned turns; /* of the loop, that the present step has taken so far */
        unsigned scope_moves;
        unsigned passes, sweeps, settles;
        bool pass_whole; /* the last pass saw all of its memory */
        uint64_t pass_found_bytes, pass_moved_bytes;
} Progress;

/* Drift of its CPUs or of its memory nodes; see drift.h. */
typedef struct Drift {
        bool in_force;      /* as of the last reconcile; tidbnumad wrote nothing since */
        unsigned n_repairs; /* within the minute that ends at `end_usec` */
        uint64_t end_usec;
        uint64_t last_usec; /* when the last one was counted */
} Drift;

/* State of the full-node guard; see guard.h. */
typedef struct InstanceGuard {
        bool watched;  /* its memory nodes were narrowed by tidbnumad, as of the last reconcile */
        NodeSet extra; /* nodes that the guard added to its own; empty: none */
        bool extra_pending;         /* the backend has not yet confirmed them */
        bool for_pool;              /* they were added for their reserved huge pages */
        uint64_t n_free_huge;       /* on the nodes that it may use, when last read */
        bool widened;               /* it was widened, and is not narrow again yet */
        bool foreseen;              /* before its nodes were full, and they never were since */
        Reason why;                 /* see guard_reason(); as of the last reading */
        bool logged;                /* that its nodes fill up, and nothing can be done */
        NodeSet barred;             /* nodes that its cgroup does not allow */
        uint64_t rested_since_usec; /* see guard_has_rested() */
        uint64_t n_widenings;
} InstanceGuard;

/* A migration of memory, from the first pass until the instance reaches a final step; see
 * move-progress.h. */
typedef struct Migration {
        bool under_way;
        bool logged; /* its beginning is in the journal */
        uint64_t begun_usec;
        uint64_t begun_bytes; /* on other nodes, when it began */
        uint64_t moved_bytes; /* by the daemon */
        Pace pace;
        bool pressure_known;
        uint64_t window_usec; /* when `waited_usec` was read */
        uint64_t waited_usec; /* time that the group's tasks had waited by then */
} Migration;

/* Memory accesses as hardware counters have counted them. */
typedef struct InstanceAccess {
        AccessCounters counters;
        bool known;  /* some of its threads are counted, or were */
        bool logged; /* the journal already has a line about threads that are not counted */
        uint64_t counts[N_LOCALITIES];
        double ratio, coverage; /* of the last round */
} InstanceAccess;

/* Samples in a row with the same result, and their state; see sample_is_due(). */
typedef struct Steady {
        unsigned n_draws;
        double ratio, halfwidth; /* result of the first sample */
        uint64_t due_usec;       /* monotonic time of the next sample */
        uint64_t n_member_changes, migrated_bytes;
} Steady;

/* Reserved huge pages that it has mapped; see sample_huge(). */
typedef struct InstanceHuge {
        HugeNeed need;
        HugeNeed most;      /* of its whole life, with nothing touched: what its next start needs */
        bool known;         /* `need` was read; else it is what it may be at most */
        NodeSet nodes;      /* of its place, when that was read */
        uint64_t read_usec; /* monotonic; 0: never */
        uint64_t n_member_changes, n_reserved; /* as they were then */
} InstanceHuge;

/* The room of sampling: where its memory is located. */
typedef struct InstanceSampling {
        NodeMemory *by_node;  /* n_nodes of the topology; NULL: not counted yet; owned */
        bool memory_known;    /* `by_node` was counted by the kernel, so it is exact */
        uint64_t limit_bytes; /* memory limit of its control group; 0: none, or the group is shared
                               */
        bool sampled;         /* not counted but sampled, see sample.h */
        double remote_ratio, sampled_ratio, sampled_halfwidth;
        NodeSet sampled_nodes; /* the two ratios are of memory outside these nodes */
        bool not_drawn_logged; /* the journal has the reason why it cannot be sampled */
        Steady steady;
        InstanceHuge huge;
        struct Drawing *drawing; /* a sample that is under way, see sample.h; NULL: none; owned */
        InstanceAccess access;
} InstanceSampling;

#define INSTANCE_SAMPLING_NONE                                                                     \
        (InstanceSampling) {                                                                       \
                .remote_ratio = NAN, .sampled_ratio = NAN                                          \
        }

/* The room of undo: the record of its values before any change. */
typedef struct InstanceUndo {
        UndoRecord *record; /* borrowed; NULL: nothing of it was ever changed */
        char *name;       /* name that backends and the record use, as `name` changes when the port
                             becomes known; owned */
        BackendNote note; /* a read of the present values that is in flight */
        bool released;    /* on request of the operator */
        bool again;       /* what the admin has set on its unit has changed */
        bool reset; /* its record is being released or is gone: binding starts from the beginning */
} InstanceUndo;

/* A sentence, a group, and two lists. */
enum { REFUSED_MAX = 640 };

/* Where the planner wants an instance, or a unit before it starts. Written by the room of placing.
 */
typedef struct Assignment {
        bool known;   /* a plan contains it */
        bool changed; /* the place changed, and binding has not applied that yet */
        bool again;   /* its policy changed: its present place does not count in the next plan */
        Placement placement;
        PlacementBasis basis;
        PlacementRefusal refusal;
        uint32_t warnings;    /* PlacementWarning */
        NodeSet device_nodes; /* nodes of the disks under its data directory */
        uint32_t cpus_used;   /* see members_read_cpus_used() */
        uint64_t cpus_used_due_usec, cpus_used_changes; /* when to read it again */
        bool allowed_known;
        NodeSet allowed_nodes; /* memory nodes that its parent cgroup allows; empty: all */
        CpuSet allowed_cpus;
        char allowed_by[MEMBERS_GROUP_MAX]; /* the group that allows no more; "": not known */
        char refused[REFUSED_MAX]; /* why it has no place, with what limits it; "": it has one */
} Assignment;

/* The instance to which the answer of a call belongs. */
typedef struct Answer {
        const struct Binder *binder;
        struct Instance *instance;
} Answer;

/* The memory on one node, and the node to which it is moved. */
typedef struct NodeMove {
        uint32_t from, to;
} NodeMove;

/* The calls of `migrate: kernel`. */
typedef struct KernelMoves {
        NodeMove *list; /* NULL: none is under way; owned */
        size_t n, next; /* `next` counts each process of each */
} KernelMoves;

/* Written by the room of binding: the progress of an instance towards its place. */
typedef struct InstanceBinding {
        Placement placement;        /* the placement that is being applied */
        Ladder ladder;              /* the means, see ladder.h */
        uint64_t ladder_since_usec; /* monotonic time since when other means are preferable; 0: they
                                       are not */
        bool observed_known;
        Binding observed;       /* state in the kernel's files, at the last reconcile */
        bool threads_known;     /* what `observed` contains of the threads is still valid: the next
                                   reconcile does not read them */
        uint64_t outside_bytes; /* anonymous memory outside the nodes; decreases while it is being
                                   moved */
        uint64_t mapped_outside_bytes; /* files and shared memory outside the nodes */
        uint64_t mapped_left_bytes;    /* part of it that a pass left because other processes map it
                                          too */
        bool passed;                   /* a pass has ended since the last sample */
        bool mems_written; /* by us, in its lifetime: the kernel remembers such a write */
        bool fits;         /* its nodes have room for all memory outside */
        bool pulled; /* its memory is not counted, and a pass left nothing outside its nodes */
        bool asked;  /* to be brought to its place by a request, also while the daemon is paused */
        bool fresh;  /* a process has joined since the last reconcile */

        Progress progress;
        Step step;   /* the last decision */
        Step logged; /* the last final step, as it was logged */
        uint64_t rest_until_usec, rest_outside_bytes;
        InstanceState state; /* state by the last decision */
        char *failure;       /* what went wrong in the last attempt; NULL; owned */
        Reason failure_code;
        BackendCall call;              /* to the backend; in flight if it has a slot */
        Answer answer;                 /* who gets the answer of `call` */
        StepKind call_kind;            /* purpose of the last call */
        NodeSet call_mems;             /* nodes that the last call requested */
        uint64_t effect_deadline_usec; /* until then, an answered call may still take effect in the
                                          kernel */
        bool we_narrowed;
        const char *own_refuses; /* why the admin's settings of the unit leave nothing of the
                                    placement; NULL: they do not */
        Drift cpus_drift, mems_drift;
        int drift_watches[2]; /* inotify watches of its cpuset files; -1: none */
        InstanceGuard guard;

        bool moving;           /* a pass is under way */
        size_t mover_process;  /* the process that the mover walks, and the request to the worker
                                * for it */
        WorkerMove walk;       /* `pass` identifies the walk of this process */
        MoverCounters counted; /* by the pass */
        bool missed;           /* a live process could not be read */
        unsigned execs;        /* programs that the current process has executed during the pass */
        KernelMoves kernel;    /* calls of migrate_pages(2), made before the pass */
        bool at_worker;        /* a worker has the next piece; `due_usec` is when to poll it */
        bool sweeping; /* the pass is a sweep; `sweep_node` and `sweep_process` are its position */
        size_t sweep_node, sweep_process;
        Rate rate;
        uint64_t pull_peak_bytes_per_sec; /* the highest since the guard read the nodes last */
        Migration migration;

        uint64_t due_usec;   /* monotonic; INSTANCE_NEVER: wait for an event */
        double bind_seconds; /* NAN until bound for the first time */
        bool latency_noted;  /* the latency of its CPUs was recorded, or never will be */
        pid_t late_pid; /* its first process, if that had run for a while when this daemon set its
                         * CPUs for the first time; 0: it had not, or that is not known */
        uint64_t bind_attempts, bind_failures, migrated_bytes, failed_pages;
} InstanceBinding;

#define INSTANCE_BINDING_NONE                                                                      \
        (InstanceBinding) {                                                                        \
                .step = { .reason = "" }, .due_usec = INSTANCE_NEVER, .bind_seconds = NAN,         \
                .drift_watches = {                                                                 \
                        -1,                                                                        \
                        -1                                                                         \
                }                                                                                  \
        }

/* What has happened to an instance since the last turn. The roster appends it, and the turn hands
 * it to the rooms above. */
typedef enum InstanceNews {
        NEWS_JOINED = 1 << 0,  /* a process has joined */
        NEWS_LEFT = 1 << 1,    /* a process has left, and others remain */
        NEWS_RULES = 1 << 2,   /* its policy changed, or the port on which its place depends */
        NEWS_RENAMED = 1 << 3, /* its port became known */
        NEWS_STORAGE = 1 << 4, /* the disks under its data directory were read */
} InstanceNews;

/* The first fields are written by the roster, each sub-structure by the room that it is named
 * after. */
typedef struct Instance {
        char *name;      /* metric label; owned */
        char *unit;      /* NULL: none; owned */
        char *exe;       /* of its oldest process; owned */
        uint16_t *ports; /* TCP ports that it listens on, ascending, once known; owned */
        size_t n_ports;
        char *data_dir;        /* NULL: none, or not known; owned */
        char *storage;         /* the disks under `data_dir`, as a text; owned */
        NodeSet storage_nodes; /* their nodes */
        bool storage_known;    /* these were read; there may be none */
        unsigned n_described;  /* number of reads of ports and data directory since a process joined
                                */
        uint64_t describe_due_usec;
        const Policy *policy;
        size_t policy_index;
        uid_t uid;                /* user of its first process, when it was found */
        uint64_t first_seen_usec; /* monotonic */

        Member *members; /* ascending by pid; `cpus_applied` is written by binding; owned */
        size_t n_members, members_allocated;
        uint64_t n_member_changes;   /* number of processes that joined or left */
        struct Instance *next_ended; /* see roster_take_ended() */
        uint32_t news;               /* InstanceNews */

        InstanceSampling sampling;
        InstanceUndo undo;
        Assignment planned; /* its place in the plan */
        InstanceBinding binding;
} Instance;

/* The new instance has no name until roster_add(). */
int instance_new(const Process *first, uint64_t now_usec, Instance **ret);
Instance *instance_free(Instance *instance);

/* Does the process belong to the instance: the same system service, or the same scope of tidbnumad,
 * or else the same process? */
bool instance_owns(const Instance *instance, const Process *process);

/* Takes over `process` and `handle`, which are empty afterwards. -ENOMEM: the caller keeps them. */
int instance_add_process(Instance *instance, Process *process, ProcHandle *handle);

/* -1: not one of its processes. */
ssize_t instance_find(const Instance *instance, pid_t pid);
void instance_remove_process(Instance *instance, size_t index);

/* The values that its name is made of. The instance must have a process. */
InstanceIdentity instance_identity(const Instance *instance);

/* The nodes outside of which its memory counts as remote: those of its place, else those on which
 * its threads ran last. */
const NodeSet *instance_nodes(const Instance *instance);

/* Its processes in the form that observe takes. */
Members instance_members(const Instance *instance, const Sysroot *sysroot);

/* The backend that binds it: the host's, or a weaker one of its own. NULL: none. */
const BackendOps *instance_ops(const Instance *instance, const Backend *host);
BackendKind instance_backend(const Instance *instance, const Backend *host);

/* Is it a system service? */
bool instance_is_service(const Instance *instance);
