/* The module of the registry: the processes of the machine, and the instances that they form. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/change/mover.h"
#include "tidbnumad/change/undo.h"
#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/limit.h"
#include "tidbnumad/plan/pace.h"
#include "tidbnumad/plan/placement.h"
#include "tidbnumad/plan/step.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/worker/worker.h"
#include "tidbnumad/world/instances.h"
#include "tidbnumad/world/processes.h"
#include "tidbnumad/world/sampling.h"

/* The processes of the machine, and which of them a scan need not read again.
 *
 * One getdents64(2) of /proc shows the inode number of the folder of each process. The kernel gives
 * the folder this number at its first lookup, and removes the folder with its process:
 * the same PID with the same inode number is the same process. The kernel may drop a folder from
 * its cache when memory is short. It then has another number, and the process is read once more. */

typedef struct ScanEntry {
        pid_t pid;
        bool passed; /* no policy names its executable, and no exec was reported since */
        bool failed; /* its executable could not be read when the list was gone through last */
        uint64_t inode;
} ScanEntry;

typedef struct ScanList {
        ScanEntry *entries; /* ascending by pid; owned */
        size_t n_entries, allocated;
        size_t n_unread; /* number of those that were not passed when the list was read */
} ScanList;

void scan_list_done(ScanList *list);

/* Reads the processes that there are. Those that were passed still are. On error the list stays as
 * it was. */
int scan_list_read(ScanList *list, const Sysroot *sysroot);

/* Does a policy name its executable? 0 passes the process. A negative errno passes it the second
 * time in succession: a kernel thread has no executable, but a failure may also be of one moment.
 */
void scan_entry_note(ScanEntry *entry, int may_match);

/* The process has executed a program: the next scan reads it. */
void scan_list_forget(ScanList *list, pid_t pid);

/* The next scan reads all of them. */
void scan_list_forget_all(ScanList *list);

/* One instance: the processes of one unit that match a policy, and the state that each module keeps
 * of it. */

#define INSTANCE_NEVER UINT64_MAX

/* Progress towards the placement; reset whenever the instance or its policy changes. */
typedef struct Progress {
        union {
                struct StepProgress;
                StepProgress steps;
        };
        Retry calls;          /* of the backend */
        unsigned loop_passes; /* that the present step has taken so far */
} Progress;

/* Drift of its CPUs or of its memory nodes. */
typedef struct Drift {
        bool in_force;      /* as of the last reconcile; tidbnumad wrote nothing since */
        unsigned n_repairs; /* within the minute that ends at `end_usec` */
        uint64_t end_usec;
        uint64_t last_usec; /* when the last one was counted */
} Drift;

/* State of the full-node guard; see guard.h. */
typedef struct InstanceGuard {
        bool watched; /* its memory nodes were narrowed by tidbnumad, as of the last reconcile */
        bool reads_limit;           /* its memory limit is read with the nodes, likewise */
        NodeSet extra;              /* nodes that the guard added to its own; empty: none */
        bool extra_pending;         /* the backend has not yet confirmed them */
        bool for_pool;              /* they were added for their reserved huge pages */
        uint64_t n_free_huge;       /* on the nodes that it may use, when last read */
        bool widened;               /* it was widened, and is not narrow again yet */
        bool foreseen;              /* before its nodes were full, and they never were since */
        Reason why;                 /* see guard_reason(); as of the last reading */
        bool logged;                /* that its nodes fill up, and nothing can be done */
        NodeSet blocked;            /* nodes that its cgroup does not allow */
        uint64_t rested_since_usec; /* see guard_has_rested() */
        uint64_t n_widenings;
} InstanceGuard;

/* A migration of memory, from the first pass until the instance reaches a final step; see
 * binding/binding.h. */
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
        HugeNeed most;      /* of its whole life, with nothing touched: what its next start needs */
        NodeSet nodes;      /* of its place, when that was read */
        uint64_t read_usec; /* monotonic; 0: never */
        uint64_t n_member_changes, n_reserved; /* as they were then */
} InstanceHuge;

/* The module of sampling: where its memory is located. */
typedef struct InstanceSampling {
        bool sampled; /* not counted but sampled */
        double remote_ratio, sampled_ratio, sampled_halfwidth;
        NodeSet sampled_nodes; /* the two ratios are of memory outside these nodes */
        bool not_drawn_logged; /* the journal has the reason why it cannot be sampled */
        Steady steady;
        InstanceHuge huge;
        struct Drawing *drawing; /* a sample that is under way; NULL: none; owned */
        InstanceAccess access;
} InstanceSampling;

#define INSTANCE_SAMPLING_NONE                                                                     \
        (InstanceSampling) {                                                                       \
                .remote_ratio = NAN, .sampled_ratio = NAN                                          \
        }

/* The module of undo: the record of its values before any change. */
typedef struct InstanceUndo {
        UndoRecord *record; /* borrowed; NULL: nothing of it was ever changed */
        char *name;    /* name that backends and the record use, as `name` changes when the port
                          becomes known; owned */
        bool released; /* on request of the operator */
} InstanceUndo;

/* Where the planner wants an instance, or a unit before it starts. Written by the module of
 * placing.
 */
typedef struct Assignment {
        bool known; /* a plan contains it */
        bool again; /* its policy changed: its present place does not count in the next plan */
        Placement placement;
        PlacementBasis basis;
        PlacementRefusal refusal;
        uint32_t warnings;    /* PlacementWarning */
        NodeSet device_nodes; /* nodes of the disks under its data directory */
        uint64_t limit_bytes; /* see limit_wanted_bytes() */
        uint64_t cpus_used_due_usec, cpus_used_changes; /* when to read `cpus_used` again */
        bool allowed_known; /* `allowed_cpus` and the others were read */
        char *refused; /* why it has no place, with what limits it; NULL: it has one, or the group
                        * is not known; owned; of a unit always NULL */
} Assignment;

/* MemoryMax= of its unit; see limit_follow(). */
typedef struct InstanceMemoryLimit {
        LimitState state;
        uint64_t wanted_bytes; /* by the plan, when it was last followed; 0: none */
        bool memory_known;
        LimitMemory memory;         /* as of the last reconcile or reading */
        ProcessId born;             /* the oldest process, of which `born_bytes` is known */
        uint64_t born_bytes;        /* the limit of ours that was set when it started; 0: none */
        bool lifted;                /* by the guard */
        uint64_t rested_since_usec; /* see guard_has_rested() */
        GuardNode *recent;          /* readings of the group; NULL: not watched; owned */
        uint64_t recent_bytes;      /* the limit by which they were made */
        uint64_t held_bytes;        /* at the last of them; 0: there is none */
        BackendCall call;           /* a read or a write of the property; in flight with a slot */
        uint64_t setting_bytes;     /* by that write; UINT64_MAX: what it had before */
        Retry retry;
        bool lift_failed; /* logged */
} InstanceMemoryLimit;

/* How memory is being moved. */
typedef enum MoveKind {
        MOVE_PULL,   /* by the mover, page by page */
        MOVE_KERNEL, /* by migrate_pages(2), a node at once; then as above */
        MOVE_SWEEP,  /* what the mover cannot see */
} MoveKind;

/* Written by the module of binding: the progress of an instance towards its place. */
typedef struct InstanceBinding {
        Placement placement;        /* the placement that is being applied */
        BindMeans means;            /* the means, see plan/step.h */
        uint64_t method_since_usec; /* monotonic time since when other means are preferable; 0: they
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

        Progress progress;
        Step step;   /* the last decision */
        Step logged; /* the last final step, as it was logged */
        uint64_t rest_until_usec, rest_outside_bytes;
        InstanceState state; /* changed by binding_enter() alone */
        char *failure;       /* what went wrong in the last attempt; NULL; owned */
        Reason failure_code;
        BackendCall call;                 /* to the backend; in flight if it has a slot */
        const struct Binder *binder;      /* who gets the answer of `call`, or of the limit's */
        StepKind call_kind;               /* purpose of the last call */
        NodeSet call_mems;                /* nodes that the last call requested */
        uint64_t others_noted_until_usec; /* it waits for the records of others so long; 0: not */
        uint64_t effect_deadline_usec; /* until then, an answered call may still take effect in the
                                          kernel */
        bool we_narrowed;
        const char *own_refuses; /* why the admin's settings of the unit leave nothing of the
                                    placement; NULL: they do not */
        InstanceMemoryLimit limit;
        Drift cpus_drift, mems_drift;
        NodeSet all_nodes;    /* with memory, as of the last reconcile */
        int drift_watches[2]; /* inotify watches of its cpuset files; -1: none */
        InstanceGuard guard;

        MoveKind by;           /* of INSTANCE_MOVING, as all of these: the pass that is under way */
        uint64_t pass_ticks;   /* when it began, as start times in /proc/PID/stat */
        size_t mover_process;  /* the process that the mover walks, and the request to the worker
                                * for it */
        pid_t mover_pid;       /* of that process, while others come and go */
        WorkerMove walk;       /* `pass` identifies the walk of this process */
        MoverCounters counted; /* by the pass */
        bool missed;           /* a live process could not be read */
        unsigned execs;        /* programs that the current process has executed during the pass */
        bool at_worker;        /* a worker has the next piece; `due_usec` is when to poll it */
        uint64_t join_deadline_usec; /* cgroup1: a worker has until then to put it into its group,
                                      * and the call is to be repeated; 0: it is complete */
        size_t sweep_node, sweep_process; /* whose pages migrate_pages(2) moves */
        uint32_t sweep_to;                /* with MOVE_KERNEL: where to */
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

/* The work that waits for an instance, by its reason. Whoever notices the reason queues the work
 * with instance_queue(); the next pass of the loop does it, once for all reasons (pass.c). Nobody
 * wakes an instance otherwise. */
typedef enum Work {
        WORK_JOINED = 1 << 0,   /* a process has joined */
        WORK_LEFT = 1 << 1,     /* a process has left */
        WORK_POLICY = 1 << 2,   /* its policy changed, or the port on which its place depends */
        WORK_RENAMED = 1 << 3,  /* its port became known */
        WORK_STORAGE = 1 << 4,  /* the disks under its data directory were read */
        WORK_PLACE = 1 << 5,    /* the plan gives it another place, or can give it one now */
        WORK_ADMIN = 1 << 6,    /* what the admin has set on its unit changed */
        WORK_REQUEST = 1 << 7,  /* what the operator requests changed: a pause, a release, a stop */
        WORK_RECORD = 1 << 8,   /* its undo record is being released, is gone, or was found late */
        WORK_RELOADED = 1 << 9, /* systemd has read its unit files again */
        WORK_FIRST = 1 << 10,   /* of binding: before all others, as a process has joined */
} Work;

/* What manager_dispatch() takes; the rest waits for its module. */
#define WORK_DISPATCHED (~(uint32_t)WORK_FIRST)

/* The first fields are written by the registry, each sub-structure by the module that it is named
 * after. Of the facts, sampling writes what it holds of memory, placing what limits it and the CPUs
 * that it has used, and binding `cpus_applied` of its members. */
typedef struct Instance {
        INSTANCE_FACTS;
        bool storage_known;         /* the disks were read; there may be none */
        bool memory_policy_awaited; /* from a worker */
        unsigned n_described; /* number of reads of ports and data directory since a process joined
                               */
        uint64_t describe_due_usec;
        bool describe_waits; /* for a worker's answer; `describe_due_usec` is when to ask again */
        size_t policy_index;
        bool mixed;               /* it has processes of several policies, and that was logged */
        uid_t uid;                /* user of its first process, when it was found */
        uint64_t first_seen_usec; /* monotonic */

        uint64_t n_member_changes;   /* number of processes that joined or left */
        struct Instance *next_ended; /* see registry_take_ended() */
        uint32_t work;               /* Work, by instance_queue() */

        InstanceSampling sampling;
        InstanceUndo undo;
        Assignment planned; /* its place in the plan */
        InstanceBinding binding;
} Instance;

/* The new instance has no name until registry_add(). */
int instance_new(const Process *first, uint64_t now_usec, Instance **ret);
Instance *instance_free(Instance *instance);

/* Takes over `process` and `handle`, which are empty afterwards. -ENOMEM: the caller keeps them. */
int instance_add_process(Instance *instance, Process *process, ProcHandle *handle);

void instance_remove_process(Instance *instance, size_t index);

/* The nodes outside of which its memory counts as remote: those of its place, else those on which
 * its threads ran last. */
const NodeSet *instance_nodes(const Instance *instance);

/* Queues work for the instance. */
void instance_queue(Instance *instance, uint32_t work);

/* The part of this work that was queued; it is not any more, and the caller does it. */
uint32_t instance_take(Instance *instance, uint32_t work);

/* The backend that binds it: the host's, or a weaker one of its own. NULL: none. */
const BackendOps *instance_ops(const Instance *instance, const Backend *host);
BackendKind instance_backend(const Instance *instance, const Backend *host);

/* Is it a system service? */
bool instance_is_service(const Instance *instance);

/* Processes that match a policy by executable and unit, but are ignored: another user's, or a
 * container's. Kept so that status can report why. */

typedef struct IgnoredProcess {
        Process process;
        MatchVerdict verdict;
        ProcHandle handle;
        const char *policy; /* the policy's name: watch_rematch() empties the list for new ones */
        char *reason;
} IgnoredProcess;

typedef struct IgnoredList {
        IgnoredProcess *processes; /* owned */
        size_t n_processes, allocated;
        struct Counted *counted; /* without a descriptor; ascending by pid; owned */
        size_t n_counted, counted_allocated;
        uint64_t round; /* number of the scan's round */
} IgnoredList;

void ignored_done(IgnoredList *ignored);

/* Takes over `process` and `handle`, which are empty afterwards. `verdict` is why the process does
 * not belong to `policy`. On error the caller keeps both. -ENOMEM; -ENOSPC: the list is full. */
int ignored_add(IgnoredList *ignored, Process *process, ProcHandle *handle, const Policy *policy,
                MatchVerdict verdict);

/* Counts a process that is not listed: the list is full, or its policy has max_instances already. A
 * process is counted once, however often it is seen. 0 or -ENOMEM. */
int ignored_add_counted(IgnoredList *ignored, pid_t pid, MatchVerdict verdict);

/* Notes that a round of the scan begins. No descriptor reports the end of a process that is only
 * counted: it is removed after a whole round that has not seen it. */
void ignored_begin_round(IgnoredList *ignored);

/* Number of processes with this verdict, listed or only counted. */
size_t ignored_count(const IgnoredList *ignored, MatchVerdict verdict);

/* Is this process listed, with the same executable, user and unit? */
bool ignored_has(const IgnoredList *ignored, const Process *process);

/* Is a process of this unit listed? Not root's: it may become the user of its policy. */
bool ignored_has_unit(const IgnoredList *ignored, const char *unit);

/* Returns whether it was there. */
bool ignored_forget(IgnoredList *ignored, pid_t pid);

/* Removes the processes that have ended. */
void ignored_prune(IgnoredList *ignored);

/* All instances, by name, and their processes. */

/* 3,000 starts at once cause some 10,000 events of 200 bytes each with the kernel's overhead, while
 * the loop is busy for a second. */
#define REGISTRY_RECEIVE_BUFFER_BYTES ((size_t)8 << 20)

/* A scan finds processes that the events missed, and a loss of events is followed by one at once;
 * without the connector scans find all of them. */
#define REGISTRY_SCAN_INTERVAL_USEC (UINT64_C(40) * 1000 * 1000)
#define REGISTRY_POLL_INTERVAL_USEC (UINT64_C(2) * 1000 * 1000)

/* With the connector, only each so many rounds of the scan read all processes; the rounds between
 * skip those that no policy named and that executed nothing since. */
#define REGISTRY_WHOLE_ROUNDS 8u

/* Interval of full scans after a loss of events: during a storm of events more frequent scans would
 * cause the next loss. */
#define REGISTRY_RESCAN_INTERVAL_USEC (UINT64_C(250) * 1000)

/* A process and its instance. */
typedef struct RegistryEntry {
        pid_t pid;
        int pidfd;
        Instance *instance;
} RegistryEntry;

/* The instances, and what keeps the list complete. */
typedef struct Registry {
        Host *host; /* borrowed */
        const Undo
                *records; /* borrowed; they contain the unit that a process in a scope came from */
        Instance **instances; /* ascending by name; owned */
        size_t n_instances, instances_allocated;
        RegistryEntry *entries; /* all of their processes, ascending by pid; owned */
        size_t n_entries, entries_allocated;
        Instance *ended; /* instances that have ended, linked by `next_ended`, until the next pass;
                            owned */
        InstanceCounts counts; /* instances and processes by policy and user, for the limits */
        IgnoredList ignored;

        int connector_fd; /* -EBADF: no connector, processes are found by polling */
        sd_event_source *connector_source, *rescan_timer;
        uint64_t rescan_usec;   /* time of the last scan that rescan_timer began */
        bool rescan_whole;      /* the next one reads all processes */
        bool fork_filter_stale; /* the kernel does not report the forks of some members yet */
        bool fork_filter_all;

        sd_event_source *scan_timer, *describe_timer;
        sd_event_source *ends_timer; /* NULL: pidfds report ends */
        ScanList scan;               /* the round of the slow scan that is under way */
        size_t scan_next;
        bool scan_at_once;    /* that round is to be completed without a pause, in several passes */
        unsigned scan_rounds; /* number of rounds since the last one that read all processes */

        uint64_t since_ticks; /* the daemon's start, as start times in /proc/PID/stat */
        CpuSet *start_cpus;   /* by policy; empty: it gives none at an exec; owned */
        size_t n_start_cpus;

        EventInfo connector_events, scan_events; /* as they are published */
        uint64_t n_considered;                   /* processes that were identified or forgotten */
        bool identify_failed, workers_missing;   /* logged once */
} Registry;

/* Goes through all instances by name; none may be added, renamed or removed meanwhile. */
#define REGISTRY_FOREACH(i, registry)                                                              \
        for (Instance **i##_at = (registry)->instances, *i;                                        \
             (size_t)(i##_at - (registry)->instances) < (registry)->n_instances && (i = *i##_at);  \
             i##_at++)

/* The subject of a message about an instance, and further fields of the message. */
#define INSTANCE_FIELDS(i, ...)                                                                    \
        (JournalFields) {                                                                          \
                .instance = (i)->name, .policy = (i)->policy->name, __VA_ARGS__                    \
        }

/* Without instances; the daemon starts now. Both are borrowed. */
void registry_init(Registry *registry, Host *host, const Undo *records);

/* The instances were freed. */
void registry_done(Registry *registry);

/* The instance that the process belongs to, or NULL. */
Instance *registry_find_owner(const Registry *registry, const Process *process);

/* The instance of that name, or NULL. */
const Instance *registry_find_name(const Registry *registry, const char *name);

/* Is there an instance of that unit? */
bool registry_has_unit(const Registry *registry, const char *unit);

/* The instance that contains this pid, and its index there, unless `ret_index` is NULL; NULL: none.
 * Whether the number still is the same process must be checked with its handle. */
Instance *registry_find_pid(const Registry *registry, pid_t pid, size_t *ret_index);

/* Adds a new member of an instance to the index. 0 or -ENOMEM. */
int registry_enter(Registry *registry, Instance *instance, const Member *member);

/* Names the instance and takes it over. It must have a process, as the name may contain a pid. If
 * the name is in use, a longer one is used and that is logged. -ENOMEM: the caller keeps it. */
int registry_add(Registry *registry, Instance *instance);

/* Renames it, as its port has become known. */
int registry_rename(Registry *registry, Instance *instance);

/* Does the same user have many instances? These must not delay another user's instance. */
bool registry_is_crowd(const Registry *registry, const Instance *instance);

/* Removes one process. When it was the last one, the instance ends and is returned by
 * registry_take_ended(). */
void registry_remove_process(Registry *registry, Instance *instance, size_t index);

/* Returns an instance without processes that has ended since the last pass, which the caller then
 * owns; NULL: none. */
Instance *registry_take_ended(Registry *registry);

/* Scans again in a moment: all processes, `whole`, because one of them could not be identified in
 * time; else those that no scan has passed, because one has ended that may have left others. */
void registry_scan_soon(Registry *registry, bool whole);

/* Instances that have no unit to themselves, and their scopes (change/scope.h). */

/* Gives a process that was found in a scope of tidbnumad the unit from which it came, as the undo
 * record has it, because policies name that unit. */
void scope_resolve(const Registry *registry, Process *process);

/* Reads the control groups of the processes of an instance that is not a service, which change when
 * they are moved to a scope. */
void scope_follow(const Registry *registry, Instance *instance);

/* The scope that contains at least one of its processes; NULL: none. */
const char *scope_of(const Instance *instance);

/* Receives the kernel's process events, and scans for processes that no event reported. */

/* Subscribes to process events, and makes a first scan. If the kernel refuses, that is logged once
 * and processes are found by polling. */
int watch_start(Registry *registry);

/* Matches every known process again after a change of policies, then scans. */
int watch_rematch(Registry *registry);

/* The processes whose forks the kernel reports: the members of instances. A worker that never
 * execs, as haproxy's, is found by its parent; forks of other processes would only wake the daemon.
 */

/* Updates the kernel's filter if a process has joined since, and identifies the children that new
 * members already have. This takes longer than binding, so binding is done first. */
void fork_filter_update(Registry *registry);

/* Identifies one process, and finds the instance that it belongs to. */

/* Considers a process again when what a worker was asked about it is answered. */
void identify_start(Registry *registry);

/* Could a policy name it, by its executable alone? Negative: the link cannot be read. */
int identify_may_match(Registry *registry, pid_t pid);

enum { IDENTIFY_ENDED = 1 };

/* Reads the process and adds it to an instance or to the ignored processes, or removes it from
 * both. Allocates nothing for a process that no policy names. 0, or IDENTIFY_ENDED: there is no
 * such process; else only errors such as -ENOMEM. */
int identify_consider(Registry *registry, pid_t pid);

/* The same of one whose exec was just reported: it gets its CPUs at once, see start.h. */
int identify_exec(Registry *registry, pid_t pid);

/* Reads the command line, only if a policy for the executable matches by it. The command line is in
 * the process's own memory, so the process can write anything there. If it cannot be read, no such
 * policy matches. Negative: it may be read later, and is considered again then. */
int identify_read_args(Registry *registry, Process *process, const ProcHandle *handle);

/* Reads what an instance reveals once it runs: its listening ports and its data directory. Both
 * become known some time after its start, and reading them costs a walk over its open files, so
 * they are read only a few times, at growing intervals. */

int describe_start(Registry *registry);

/* Starts reading them again, after a process joined the instance or its policy changed. */
void describe_again(Registry *registry, Instance *instance, uint64_t now_usec);

/* Reads the data directory and its disks at once, for an instance whose place depends on them.
 * -EAGAIN, -EBUSY: not now. */
int describe_storage(const Registry *registry, Instance *instance);

/* Reads its memory policy, on which its place depends as well. Likewise. */
int describe_memory_policy(const Registry *registry, Instance *instance);

/* Reads all instances at once, before they are placed for the first time. 0 or -ENOMEM. */
int describe_all(Registry *registry);
