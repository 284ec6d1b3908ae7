/* The next step that brings an instance to its placement, from what the kernel shows now.
 *
 * Pure and without state of its own: called again after every step and whenever something may have
 * changed, it leads from any state to the placement. The order is: CPUs, gentle pull, narrowing of
 * the memory nodes last, sweep, verification. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/instance.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/reason.h"
#include "tidbnumad/plan/start-limits.h"

typedef enum StepKind {
        STEP_WATCH,    /* nothing to enforce */
        STEP_REFUSE,   /* must not, or cannot: `reason` */
        STEP_SCOPE,    /* into a scope of its own, so that nothing else is bound with it */
        STEP_SET_CPUS, /* its CPUs := placement.cpus */
        STEP_WIDEN,    /* its memory nodes := `mems`, so that the pull may reach its nodes */
        STEP_PULL,     /* one pass of the mover */
        STEP_NARROW,   /* its memory nodes := `mems` */
        STEP_SWEEP,    /* what the mover cannot see: migrate_pages, node by node */
        STEP_SETTLE,   /* wait for the kernel's counters, then read them again */
        STEP_DONE,     /* bound */
        STEP_WIDENED,  /* bound to its nodes and to others beside them, for its own are nearly full
                        */
        STEP_PARTLY,   /* partially; `reason` names the rest */
} StepKind;

typedef struct Step {
        StepKind kind;
        NodeSet mems;
        Reason code;        /* of what kind `reason` is; REASON_NONE with "" */
        const char *reason; /* a constant sentence, or "" */
} Step;

/* Passes of the mover, after which the pages that are still outside stay there: each pass has tried
 * every page. */
#define STEP_PASSES_MAX 5u

/* Readings, some seconds apart, at which memory.numa_stat may still disagree with a pass that found
 * nothing: the kernel folds its per-CPU counters every 2 s (FLUSH_TIME in mm/memcontrol.c). */
#define STEP_SETTLES_MAX 4u

/* Sweeps of what the passes left, after the narrowing. */
#define STEP_SWEEPS_MAX 2u

/* Writes that had no effect, after which the instance is refused until something changes. */
#define STEP_WRITES_MAX 3u

/* CPUs or memory nodes that something else has changed are restored so often within a minute;
 * then the daemon backs off for a while, and logs it. */
#define STEP_REPAIRS_MAX 3u

/* What was done since the instance, its placement or its memory changed. */
typedef struct StepProgress {
        unsigned scope_moves;
        unsigned cpu_writes;
        unsigned mem_writes;
        unsigned passes; /* complete passes since the last narrowing, or since the start */
        uint64_t pass_found_bytes; /* what the last pass found outside */
        uint64_t pass_moved_bytes;
        bool pass_whole; /* it saw all of the memory */
        unsigned sweeps;
        unsigned settles;
} StepProgress;

typedef struct StepInput {
        const Placement *placement;
        const Binding *binding;
        BackendKind backend;    /* BACKEND_AUTO, of a dump: as systemd */
        NodeSet all_nodes;      /* the nodes that have memory: others never appear in
                                 * cpuset.mems.effective */
        bool can_enforce;       /* there is a backend for it */
        const char *cannot;     /* why not, where it cannot */
        Reason cannot_code;     /* of what kind that is */
        bool cpus_applied;      /* each of its processes got these CPUs once */
        StartSource start;      /* what of its start leaves out some of the placement's CPUs */
        unsigned repairs;       /* repairs of CPUs within the last minute */
        unsigned mem_repairs;   /* of memory nodes, likewise */
        bool outside_unit;      /* it runs in no service and in no scope of ours */
        bool in_scope;          /* it runs in a scope of ours, which contains only this instance;
                                 * memory from before the scope is counted elsewhere */
        const char *no_scope;   /* why it cannot get one, where it needs one; NULL: it can */
        Reason no_scope_code;   /* of what kind that is */
        bool pulled;            /* of one whose memory is not counted: step_was_pulled() was true
                                 * once */
        bool memory_known;      /* `outside_bytes` was read */
        uint64_t outside_bytes; /* anonymous bytes outside the nodes */
        bool file_pull_wanted;  /* files or shared memory are outside that no pass has seen there:
                                 * they are pulled along, and nothing depends on it */
        bool files_follow;      /* narrowing would move pages of files as well, and more than a few
                                 * are outside */
        bool fits;              /* fit_check() of what is outside */
        bool has_room;          /* at least for a part of it */
        bool huge_short;        /* its nodes have too few reserved huge pages, see
                                 * huge_pools_lack() */
        bool huge_awaited;   /* it has just started, and other nodes have such pages, which it may
                              * be about to map */
        bool we_narrowed;    /* the memory nodes are narrow by our own doing */
        NodeSet extra;       /* memory nodes that it is to have beside its own, for these are
                              * nearly full: the guard's, see plan/guard.h */
        bool extra_for_pool; /* it got them for their reserved huge pages */
        bool extra_pending;  /* the kernel has them, the backend's manager not yet */
        union {
                struct StepProgress;
                StepProgress progress;
        };
} StepInput;

Step step_next(const StepInput *input);

/* Does the instance need a scope because it shares its unit with other processes? Reads `binding`,
 * `backend` and where the instance runs only. */
bool step_needs_scope(const StepInput *input);

/* Has the last pass of the mover read all memory of the instance, and left nothing outside? Used if
 * the memory is not counted. */
bool step_was_pulled(const StepInput *input);

/* Does the kernel move the memory, all at once? For this, the bytes of each pair of nodes must be
 * known: if the memory is not counted, the mover queries every page instead. */
bool step_moves_at_once(MigrateMode migrate, bool memory_known);

/* Must the CPUs be set before anything is read? This is the case for new processes, with a backend
 * that sets CPUs at once: no thread must run elsewhere while its memory is read. Reads `placement`,
 * `backend`, `can_enforce` and `cpus_applied` only. */
bool step_begins_blind(const StepInput *input);

/* Are the CPUs in force, so that nothing is to be set? Of the backends with a cpuset: it has
 * them (threads may be narrower). Of affinity: no thread may run elsewhere. */
bool step_cpus_in_force(BackendKind backend, const Binding *binding, const Placement *placement);

/* Are the memory nodes in force as we set them? Never where they are not ours: with affinity,
 * and where systemd did not narrow them. Not while the guard keeps others open beside them. */
bool step_mems_in_force(const StepInput *input);

/* Nothing follows such a step until something changes. */
bool step_is_final(StepKind kind);

/* By which means one instance is bound: the first that holds for it. Its unit's properties; a scope
 * of its own; affinity, which needs nothing but the process. On cgroup v1 a directory of its own
 * takes the place of the first two.
 *
 * A weaker means is always better than none: it never loosens a limit that the process has, and
 * never touches a neighbour.
 */

typedef enum BindMethod {
        METHOD_NONE,      /* not chosen yet, or nothing can be enforced on this host */
        METHOD_UNIT,      /* the properties of its unit */
        METHOD_SCOPE,     /* those of a scope into which its processes are moved */
        METHOD_DIRECTORY, /* a directory of its own in the cpuset hierarchy of cgroup v1 */
        METHOD_AFFINITY,  /* the CPUs of each thread; memory is moved, and not bound */
} BindMethod;

const char *
bind_method_to_string(BindMethod method); /* "unit", "scope", "cgroup1", "affinity"; "" for none */

/* Can it have no more than its own group has, which nobody widens then? */
bool bind_method_stays_in_group(BindMethod method, const Policy *policy);

/* Does the kernel fit its own memory policy to its place, by the memory nodes of a cpuset? */
bool bind_method_binds_memory(BindMethod method, const Policy *policy);

typedef struct BindMeans {
        BindMethod method;
        const char *why; /* a constant sentence why it is affinity, where the host has, or seems to
                          * have, a stronger backend; else NULL */
        Reason code;     /* the code of that reason; REASON_NONE: the policy requests this
                          * backend */
} BindMeans;

typedef struct BindMethodInput {
        BackendKind host;   /* what the host has; BACKEND_AUTO, of a dump: as systemd */
        const char *weaker; /* why that is not a stronger one, where the host seems to have it;
                             * NULL: it has not */
        PolicyBackend policy;
        bool in_container; /* one of its processes is */
        bool is_service;   /* it is a system service */
        bool alone;        /* no unrelated process shares the unit */
        const char *start; /* why its unit could not be started again with the values of its place;
                            * NULL: it could */
        bool in_scope;     /* its processes are in a scope of ours */
        const char *no_scope; /* why it can have no scope, where it needs one; NULL: it can */
        Reason no_scope_code;
} BindMethodInput;

/* Of an instance on a host that has this backend, without what its next start and a scope for it
 * depend on: the daemon alone knows the first, and each asks for the second in its own way. */
BindMethodInput bind_method_input_of(const InstanceFacts *facts, bool alone, BackendKind host,
                                     const char *weaker);

/* Has it no unit to itself, so that `no_scope` counts? */
bool bind_method_needs_scope(const BindMethodInput *input);

/* A scope that something else keeps emptying is still a scope: plan/step.h reports that. */
BindMeans bind_means_choose(const BindMethodInput *input);
