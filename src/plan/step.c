/* The next step that brings an instance to its placement. */
#include "tidbnumad/plan/step.h"

static Step step(StepKind kind, const char *reason) {
        return (Step){ .kind = kind, .reason = reason };
}

static Step step_to(StepKind kind, const NodeSet *mems) {
        return (Step){ .kind = kind, .mems = *mems, .reason = "" };
}

/* Threads that are narrower than the cpuset are not a reason to write it again: the kernel (6.2 and
 * later) keeps what a thread asked for itself, and wider than the cpuset none can be. */
bool step_cpus_stand(BackendKind backend, const Binding *binding, const Placement *placement) {
        if (backend == BACKEND_AFFINITY)
                return binding->n_threads_outside == 0;
        return binding->cpuset && id_set_equal(&binding->cpus, &placement->cpus);
}

static bool acts_on_processes(const StepInput *in) {
        return in->backend == BACKEND_CGROUP1 || in->backend == BACKEND_AFFINITY;
}

bool step_begins_blind(const StepInput *in) {
        return acts_on_processes(in) && in->can_enforce && !in->cpus_given &&
               !id_set_is_empty(&in->placement->nodes);
}

static bool is_exhausted(const StepInput *in) {
        return in->passes >= STEP_PASSES_MAX || (in->passes > 0 && in->pass_moved_bytes == 0);
}

static const char no_room[] =
        "its nodes have no room for all of its memory; free some, or give it more nodes";

/* One more pass, or what to say when passes do not help any more. */
static Step pull_or_settle(const StepInput *in, bool may_sweep) {
        if (in->placement->migrate == MIGRATE_NONE)
                return step(STEP_PARTLY,
                            "what was allocated before stays where it is (migrate: none)");
        if (!is_exhausted(in))
                return in->fits || in->has_room ? step(STEP_PULL, "") : step(STEP_PARTLY, no_room);
        /* Counters lag: wait for them before anything heavy is done, and after it. */
        if (in->settles < STEP_SETTLES_MAX)
                return step(STEP_SETTLE, "");
        if (!in->fits && !in->has_room)
                return step(STEP_PARTLY, no_room);
        /* A sweep cannot be made gentle: no more than a second's worth of the allowed rate. */
        if (may_sweep && in->fits && in->sweeps < STEP_SWEEPS_MAX &&
            in->outside_bytes <= in->placement->rate_bytes_per_sec)
                return step(STEP_SWEEP, "");
        return step(STEP_PARTLY, "the kernel did not move all of its pages; they may be pinned or "
                                 "shared with a process outside");
}

/* A node without memory is in no effective set, whatever is written. */
static NodeSet home_of(const StepInput *in) {
        NodeSet nodes = in->placement->nodes;

        id_set_keep_only(&nodes, &in->all_nodes);
        return nodes;
}

/* Narrow by an earlier policy of bind: open again. Narrow by the admin: not ours to touch. What
 * cgroup1 has is a directory of our own, in which nobody else narrows. */
static bool is_to_be_opened(const StepInput *in) {
        bool ours = in->we_narrowed || in->backend == BACKEND_CGROUP1;

        return ours && in->backend != BACKEND_AFFINITY &&
               !id_set_equal(&in->binding->mems, &in->all_nodes);
}

static Step step_open(const StepInput *in) {
        if (in->mem_writes >= STEP_WRITES_MAX)
                return step(STEP_PARTLY, "its memory nodes could not be opened again");
        return step_to(STEP_WIDEN, &in->all_nodes);
}

static const char memory_unknown[] =
        "its memory cannot be read (it has no memory cgroup of its own), so nothing is moved and "
        "whether a strict binding fits is not known: CPUs only";

static Step step_preferred(const StepInput *in) {
        const NodeSet nodes = home_of(in);

        if (is_to_be_opened(in))
                return step_open(in);
        if (!id_set_is_subset(&nodes, &in->binding->mems))
                return step(STEP_PARTLY,
                            "it may not use memory of its nodes: the unit's own "
                            "AllowedMemoryNodes=, that of a slice above, or its cpuset leaves "
                            "them out");
        if (!in->memory_known && acts_on_processes(in))
                return step(STEP_PARTLY, memory_unknown);
        if (!in->memory_known || in->outside_bytes == 0)
                return step(STEP_DONE, "");
        return pull_or_settle(in, false);
}

static Step step_bind(const StepInput *in) {
        const NodeSet nodes = home_of(in);
        bool pulled =
                in->placement->migrate == MIGRATE_NONE || in->outside_bytes == 0 || in->passes > 0;

        if (id_set_equal(&in->binding->mems, &nodes)) {
                if (in->memory_known && in->outside_bytes > 0)
                        return pull_or_settle(in, true);
                return step(STEP_DONE, "");
        }
        if (!in->memory_known && acts_on_processes(in))
                return is_to_be_opened(in) ? step_open(in) : step(STEP_PARTLY, memory_unknown);
        if (!in->memory_known)
                return step(STEP_REFUSE,
                            "its memory cannot be read (no memory controller for its unit), "
                            "so whether a strict binding fits is not known: CPUs only");
        if (in->mem_writes >= STEP_WRITES_MAX)
                return step(STEP_REFUSE,
                            in->backend == BACKEND_CGROUP1
                                    ? "cpuset.mems was written and had no effect"
                                    : "AllowedMemoryNodes= was set and had no effect; does a slice "
                                      "above the unit allow less?");
        if (!id_set_is_subset(&nodes, &in->binding->mems)) {
                NodeSet both = in->binding->mems;

                id_set_add_all(&both, &nodes);
                return step_to(STEP_WIDEN, &both);
        }
        if (!in->fits) {
                /* As preferred as it can be: a part is better than nothing. */
                if (in->has_room && in->placement->migrate == MIGRATE_GENTLE && !is_exhausted(in))
                        return step(STEP_PULL, "");
                return step(STEP_PARTLY, "its nodes have no room for all of its memory: preferred, "
                                         "not bound, until there is");
        }
        if (!pulled)
                return step(STEP_PULL, "");
        return step_to(STEP_NARROW, &nodes);
}

/* There is nothing that would hold the memory there: the nearest thing is done, and told. */
static Step step_bind_by_affinity(const StepInput *in) {
        Step next = step_preferred(in);

        if (next.kind == STEP_DONE)
                return step(STEP_PARTLY, "memory: bind is carried out as preferred, for the "
                                         "backend affinity cannot hold memory to nodes");
        return next;
}

static Step step_memory(const StepInput *in) {
        switch (in->placement->memory) {
        case MEMORY_NONE:
                return is_to_be_opened(in) ? step_open(in) : step(STEP_DONE, "");
        case MEMORY_PREFERRED:
                return step_preferred(in);
        case MEMORY_BIND:
                return in->backend == BACKEND_AFFINITY ? step_bind_by_affinity(in) : step_bind(in);
        }
        return step(STEP_REFUSE, "unknown memory mode");
}

static const char *no_effect(BackendKind backend) {
        switch (backend) {
        case BACKEND_CGROUP1:
                return "it was moved to a cpuset of its own, and did not stay there; does another "
                       "manager move it?";
        case BACKEND_AFFINITY:
                return "the CPUs of its threads were set and had no effect; does its cpuset "
                       "cgroup allow less?";
        case BACKEND_AUTO:
        case BACKEND_SYSTEMD:
                break;
        }
        return "AllowedCPUs= was set and had no effect; does a slice above the unit allow less?";
}

static Step step_cpus(const StepInput *in) {
        if (in->cpu_writes >= STEP_WRITES_MAX)
                return step(STEP_REFUSE, no_effect(in->backend));
        if (in->repairs >= STEP_REPAIRS_MAX)
                return step(STEP_PARTLY, "something else changes its CPUs again and again: left "
                                         "to it for a minute");
        return step(STEP_SET_CPUS, "");
}

/* Of affinity, what a thread was before it is first set does not count. */
static bool are_cpus_done(const StepInput *in) {
        return step_cpus_stand(in->backend, in->binding, in->placement) &&
               (in->cpus_given || in->backend != BACKEND_AFFINITY ||
                in->binding->n_threads_off_cpus == 0);
}

Step step_next(const StepInput *in) {
        Step next;

        if (id_set_is_empty(&in->placement->nodes))
                return step(STEP_WATCH, in->placement->reason);
        if (!in->can_enforce)
                return step(STEP_REFUSE, in->cannot);
        if (!in->binding->alone && !acts_on_processes(in))
                return step(STEP_REFUSE, "other processes that it did not start share its unit; "
                                         "run it in a unit of its own");
        if (!are_cpus_done(in))
                return step_cpus(in);
        next = step_memory(in);
        if (next.kind == STEP_DONE && in->binding->n_threads_off_cpus > 0)
                return step(STEP_PARTLY, "some of its threads keep CPUs of their own choice "
                                         "(taskset, sched_setaffinity)");
        return next;
}
