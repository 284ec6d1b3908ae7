/* By which means an instance is bound, and which step is next on its way. */
#include "tidbnumad/plan/step.h"
#include "tidbnumad/base/cleanup.h"

static const char *const bind_method_strings[] = {
        [METHOD_NONE] = "",
        [METHOD_UNIT] = "unit",
        [METHOD_SCOPE] = "scope",
        [METHOD_DIRECTORY] = "cgroup1",
        [METHOD_AFFINITY] = "affinity",
};
DEFINE_STRING_TABLE(bind_method_to_string, BindMethod, bind_method_strings)

bool bind_method_stays_in_group(BindMethod method, const Policy *policy) {
        return policy->backend == POLICY_BACKEND_AFFINITY || method == METHOD_AFFINITY;
}

bool bind_method_binds_memory(BindMethod method, const Policy *policy) {
        return policy->memory == MEMORY_BIND && !bind_method_stays_in_group(method, policy);
}

BindMethodInput bind_method_input_of(const InstanceFacts *f, bool alone, BackendKind host,
                                     const char *weaker) {
        return (BindMethodInput){ .host = host,
                                  .weaker = weaker,
                                  .policy = f->policy->backend,
                                  .is_service = unit_is_service(f->unit),
                                  .alone = alone,
                                  .in_container = facts_in_container(f),
                                  .in_scope = facts_in_scope(f) };
}

bool bind_method_needs_scope(const BindMethodInput *in) {
        return in->policy != POLICY_BACKEND_AFFINITY &&
               (in->host == BACKEND_AUTO || in->host == BACKEND_SYSTEMD) && !in->in_scope &&
               !(in->is_service && in->alone);
}

static BindMeans means_affinity(const char *why, Reason code) {
        return (BindMeans){ .method = METHOD_AFFINITY, .why = why, .code = code };
}

BindMeans bind_means_choose(const BindMethodInput *in) {
        if (in->host == BACKEND_AFFINITY)
                return means_affinity(in->weaker, REASON_NONE);
        if (in->policy == POLICY_BACKEND_AFFINITY)
                return means_affinity("its policy sets `backend: affinity`", REASON_NONE);
        if (in->host == BACKEND_CGROUP1 && in->in_container)
                return means_affinity("it runs in a container, whose manager created its cgroup",
                                      REASON_SHARED_UNIT);
        if (in->host == BACKEND_CGROUP1)
                return (BindMeans){ .method = METHOD_DIRECTORY };
        if (in->start && !bind_method_needs_scope(in) && !in->in_scope)
                return means_affinity(in->start, REASON_START_LIMITS);
        if (!bind_method_needs_scope(in))
                return (BindMeans){ .method = in->in_scope ? METHOD_SCOPE : METHOD_UNIT };
        if (in->no_scope && in->no_scope_code != REASON_CONTESTED)
                return means_affinity(in->no_scope, in->no_scope_code);
        return (BindMeans){ .method = METHOD_SCOPE };
}

/* No reason. */
static Step step(StepKind kind) {
        return (Step){ .kind = kind, .reason = "" };
}

static Step step_for(StepKind kind, Reason code, const char *reason) {
        return (Step){ .kind = kind, .code = code, .reason = reason };
}

static Step step_to(StepKind kind, const NodeSet *mems) {
        return (Step){ .kind = kind, .mems = *mems, .reason = "" };
}

/* Threads narrower than the cpuset are not a reason to write it again: the kernel (6.2 and later)
 * keeps the CPUs that a thread has chosen itself, and no thread can be wider. */
bool step_cpus_in_force(BackendKind backend, const Binding *binding, const Placement *placement) {
        if (backend == BACKEND_AFFINITY)
                return binding->n_threads_outside == 0;
        return binding->cpuset && id_set_equal(&binding->cpus, &placement->cpus);
}

static bool acts_on_processes(const StepInput *in) {
        return in->backend == BACKEND_CGROUP1 || in->backend == BACKEND_AFFINITY;
}

bool step_begins_blind(const StepInput *in) {
        return acts_on_processes(in) && in->can_enforce && !in->cpus_applied &&
               !id_set_is_empty(&in->placement->nodes);
}

/* A unit gets nothing that its slice leaves out, however often its properties are set. */
static bool is_kept_out(const StepInput *in, IdView wanted, IdView above) {
        return !acts_on_processes(in) && id_view_next(above, 0) >= 0 &&
               !id_view_is_subset(wanted, above);
}

/* One pass for what is worth it and is not needed for anything. */
static bool files_are_to_follow(const StepInput *in) {
        return in->file_pull_wanted && in->memory_known && in->outside_bytes == 0 && in->has_room &&
               in->passes == 0 && in->placement->migrate == MIGRATE_GENTLE;
}

bool step_needs_scope(const StepInput *in) {
        return !acts_on_processes(in) &&
               (in->outside_unit || (!in->binding->alone && !in->in_scope));
}

bool step_was_pulled(const StepInput *in) {
        return in->passes > 0 && in->pass_whole && in->pass_moved_bytes >= in->pass_found_bytes;
}

bool step_moves_at_once(MigrateMode migrate, bool memory_known) {
        return migrate == MIGRATE_KERNEL && memory_known;
}

static bool passes_are_exhausted(const StepInput *in) {
        /* The kernel was requested to move everything at once. */
        if (step_moves_at_once(in->placement->migrate, in->memory_known))
                return in->passes > 0;
        return in->passes >= STEP_PASSES_MAX || (in->passes > 0 && in->pass_moved_bytes == 0);
}

static const char no_room[] =
        "its memory does not fit on its nodes; free memory there, or give it more nodes";

/* One more pass, or the reason when passes do not help any more. */
static Step pull_or_settle(const StepInput *in, bool may_sweep) {
        if (in->placement->migrate == MIGRATE_NONE)
                return step_for(STEP_PARTLY, REASON_NOT_MOVED,
                                "its existing memory is not moved (migrate: none)");
        if (!passes_are_exhausted(in))
                return in->fits || (in->has_room && in->placement->migrate != MIGRATE_KERNEL)
                               ? step(STEP_PULL)
                               : step_for(STEP_PARTLY, REASON_NO_ROOM, no_room);
        /* Counters lag: wait for them before anything heavy is done, and after it. */
        if (in->settles < STEP_SETTLES_MAX)
                return step(STEP_SETTLE);
        if (!in->fits && !in->has_room)
                return step_for(STEP_PARTLY, REASON_NO_ROOM, no_room);
        /* A sweep cannot be made gentle: no more than a second's worth of the allowed rate. */
        if (may_sweep && in->fits && in->sweeps < STEP_SWEEPS_MAX &&
            in->outside_bytes <= in->placement->rate_bytes_per_sec)
                return step(STEP_SWEEP);
        return step_for(STEP_PARTLY, REASON_PINNED_PAGES,
                        "the kernel did not move some pages; they may be pinned, or shared with a "
                        "process outside the instance");
}

/* The kernel never includes a node without memory in an effective set. */
static NodeSet home_of(const StepInput *in) {
        return id_set_and(&in->placement->nodes, &in->all_nodes);
}

/* Narrow by an earlier policy of bind: open again. Narrow by the admin: not ours to touch.
 * cgroup1 has a directory of our own, which nothing else narrows. */
static bool mems_are_ours(const StepInput *in) {
        return in->backend == BACKEND_CGROUP1 ||
               (in->we_narrowed && in->backend != BACKEND_AFFINITY);
}

/* Within what a slice above allows. (In cgroup1 the group above is ours, too, and gets all with
 * the next write.) */
static bool mems_are_open(const StepInput *in) {
        NodeSet open = in->all_nodes;

        if (in->backend != BACKEND_CGROUP1)
                id_set_limit(&open, &in->binding->mems_above);
        return id_set_equal(&in->binding->mems, &open);
}

static bool mems_are_to_be_opened(const StepInput *in) {
        return mems_are_ours(in) && !mems_are_open(in);
}

bool step_mems_in_force(const StepInput *in) {
        const NodeSet home = home_of(in);

        if (in->backend == BACKEND_AFFINITY || id_set_is_empty(&home) ||
            !id_set_is_empty(&in->extra))
                return false;
        if (in->placement->memory == MEMORY_BIND)
                return id_set_equal(&in->binding->mems, &home);
        return mems_are_ours(in) && mems_are_open(in);
}

static Step write_mems(const StepInput *in, StepKind kind, const NodeSet *mems) {
        if (in->mem_repairs >= STEP_REPAIRS_MAX)
                return step_for(STEP_PARTLY, REASON_CONTESTED,
                                "something else keeps changing its memory nodes; backing off for "
                                "one minute");
        return step_to(kind, mems);
}

static Step step_open(const StepInput *in) {
        if (in->mem_writes >= STEP_WRITES_MAX)
                return step_for(STEP_PARTLY, REASON_SLICE_TOO_TIGHT,
                                "its memory nodes could not be widened again");
        return write_mems(in, STEP_WIDEN, &in->all_nodes);
}

static const char memory_unknown[] =
        "its memory is not counted (no memory cgroup of its own), so only its CPUs are bound: no "
        "memory is moved, and whether it fits on its nodes is unknown";

/* On cgroup v1, unlike with systemd, the program that narrowed its memory nodes may not have moved
 * its memory. */
static const char memory_uncounted[] = "its memory nodes are set, but its memory is not counted "
                                       "(no memory cgroup of its own), so none is moved";

/* Nothing can be outside then. */
static bool place_is_everywhere(const StepInput *in) {
        return id_set_is_subset(&in->all_nodes, &in->placement->nodes);
}

/* Memory from before the process came to its scope is not counted, and on a host without the memory
 * controller no memory is: the mover queries every page, and its result is the only count. DONE:
 * once nothing was left outside. */
static Step step_pull_uncounted(const StepInput *in) {
        if (in->pulled)
                return step(STEP_DONE);
        if (in->placement->migrate == MIGRATE_NONE)
                return step_for(STEP_PARTLY, REASON_MEMORY_UNREADABLE,
                                "its memory is not counted (it has no memory cgroup of its own, or "
                                "was moved to its own scope) and is not moved (migrate: none)");
        if (!passes_are_exhausted(in))
                return step(STEP_PULL);
        return in->pass_whole ? step_for(STEP_PARTLY, REASON_PINNED_PAGES,
                                         "the kernel did not move some pages; they may be pinned")
                              : step_for(STEP_PARTLY, REASON_NO_ROOM, no_room);
}

static Step step_preferred(const StepInput *in) {
        const NodeSet nodes = home_of(in);

        if (mems_are_to_be_opened(in))
                return step_open(in);
        if (!id_set_is_subset(&nodes, &in->binding->mems))
                return step_for(STEP_PARTLY, REASON_SLICE_TOO_TIGHT,
                                "it may not use memory of its nodes: AllowedMemoryNodes= of the "
                                "unit or of a slice above, or its cpuset, excludes them");
        if (!in->memory_known && in->backend == BACKEND_CGROUP1)
                return step_for(STEP_PARTLY, REASON_MEMORY_UNREADABLE, memory_unknown);
        if (in->in_scope || !in->memory_known)
                return step_pull_uncounted(in);
        if (files_are_to_follow(in))
                return step(STEP_PULL);
        if (in->outside_bytes == 0)
                return step(STEP_DONE);
        return pull_or_settle(in, false);
}

/* While the instance is widened, no memory is pulled, because there is no room. Afterwards the
 * steps are the same as if it had never been narrowed: the gentle pull, and then the narrowing. */
static Step step_widened(const StepInput *in) {
        const NodeSet *mems = &in->binding->mems;
        NodeSet wide = home_of(in);
        bool is_wide;

        id_set_union(&wide, &in->extra);
        is_wide = id_set_is_subset(&wide, mems);
        if (is_wide && in->extra_for_pool && !in->extra_pending)
                return step_for(STEP_WIDENED, REASON_HUGE_POOL,
                                "its nodes have fewer free huge pages than it has reserved: it may "
                                "use other nodes until they have had enough for a minute");
        if (is_wide && !in->extra_pending)
                return step_for(STEP_WIDENED, REASON_NODE_FULL,
                                "its nodes are nearly full: it may use other nodes until there has "
                                "been room for a minute");
        if (in->mem_writes >= STEP_WRITES_MAX)
                return is_wide ? step_for(STEP_WIDENED, REASON_NODE_FULL,
                                          "its nodes are nearly full: the kernel allows it more "
                                          "nodes than the unit's AllowedMemoryNodes=")
                               : step_for(STEP_PARTLY, REASON_NODE_FULL,
                                          "its nodes are nearly full, and it could not get another "
                                          "node: free memory on its nodes");
        id_set_union(&wide, mems);
        return step_to(STEP_WIDEN, &wide);
}

static Step step_bind(const StepInput *in) {
        const NodeSet nodes = home_of(in);
        /* Narrowing may move the rest at once (a cpuset that was narrow before moves pages when it
         * is written): at most the memory of one second at the policy's rate, or pages that the
         * mover cannot move. */
        const bool pulled =
                in->placement->migrate == MIGRATE_NONE ||
                (in->passes == 0 ? in->outside_bytes == 0 && !in->files_follow
                                 : passes_are_exhausted(in) ||
                                           in->outside_bytes <= in->placement->rate_bytes_per_sec);

        if (!id_set_is_empty(&in->extra))
                return step_widened(in);
        if (id_set_equal(&in->binding->mems, &nodes)) {
                if (in->memory_known && in->outside_bytes > 0)
                        return pull_or_settle(in, true);
                if (!in->memory_known && acts_on_processes(in) && !place_is_everywhere(in))
                        return step_for(STEP_PARTLY, REASON_MEMORY_UNREADABLE, memory_uncounted);
                /* Narrowed by somebody else: memory that was allocated before is where it was. */
                if (!in->memory_known && !in->we_narrowed && !place_is_everywhere(in))
                        return step_pull_uncounted(in);
                return step(files_are_to_follow(in) ? STEP_PULL : STEP_DONE);
        }
        if (!in->memory_known && acts_on_processes(in))
                return mems_are_to_be_opened(in)
                               ? step_open(in)
                               : step_for(STEP_PARTLY, REASON_MEMORY_UNREADABLE, memory_unknown);
        if (!in->memory_known && !in->in_scope)
                return step_for(STEP_REFUSE, REASON_MEMORY_UNREADABLE,
                                "its memory is not counted (no memory controller for its unit), so "
                                "only its CPUs are bound: whether it fits on its nodes is unknown");
        if (in->mem_writes >= STEP_WRITES_MAX ||
            (in->we_narrowed &&
             is_kept_out(in, ID_VIEW(&nodes), ID_VIEW(&in->binding->mems_above))))
                return step_for(STEP_REFUSE, REASON_SLICE_TOO_TIGHT,
                                in->backend == BACKEND_CGROUP1
                                        ? "cpuset.mems was written and had no effect"
                                        : "AllowedMemoryNodes= was set and had no effect; does a "
                                          "slice above the unit allow less?");
        if (!id_set_is_subset(&nodes, &in->binding->mems)) {
                const NodeSet both = id_set_or(&in->binding->mems, &nodes);

                return write_mems(in, STEP_WIDEN, &both);
        }
        if (in->in_scope && !in->pulled)
                return step_pull_uncounted(in);
        if (!in->fits && !in->in_scope) {
                /* As preferred as it can be: a part is better than nothing. */
                if (in->has_room && in->placement->migrate == MIGRATE_GENTLE &&
                    !passes_are_exhausted(in))
                        return step(STEP_PULL);
                return step_for(STEP_PARTLY, REASON_NO_ROOM,
                                "its memory does not fit on its nodes: preferred instead of bound "
                                "until it does");
        }
        if (!pulled && !in->in_scope)
                return step(STEP_PULL);
        /* The touch of a page that only other nodes have would end the process. */
        if (in->huge_short)
                return step_for(
                        STEP_PARTLY, REASON_HUGE_POOL,
                        "its nodes have fewer free huge pages than it has reserved huge pages to "
                        "touch: preferred instead of bound until they have enough");
        if (in->huge_awaited)
                return step(STEP_SETTLE);
        return write_mems(in, STEP_NARROW, &nodes);
}

static const char *const cpus_without_effect[] = {
        [BACKEND_AUTO] = "AllowedCPUs= was set and had no effect; does a slice above the unit "
                         "allow less?",
        [BACKEND_SYSTEMD] = "AllowedCPUs= was set and had no effect; does a slice above the unit "
                            "allow less?",
        [BACKEND_CGROUP1] = "it was moved to its own cpuset and did not stay there; does another "
                            "manager move it?",
        [BACKEND_AFFINITY] = "the CPUs of its threads were set and had no effect; does its cpuset "
                             "cgroup allow less?",
};

static const char inner_group[] =
        "a cgroup that it created below its unit allows its processes other CPUs or memory nodes: "
        "widen cpuset.cpus and cpuset.mems of this cgroup";

Step step_next(const StepInput *in) {
        const Binding *binding = in->binding;
        Step next = step_for(STEP_REFUSE, REASON_OTHER, "unknown memory mode");
        NodeSet nodes;

        if (id_set_is_empty(&in->placement->nodes))
                return step_for(STEP_WATCH, *in->placement->reason ? REASON_NO_PLACE : REASON_NONE,
                                in->placement->reason);
        if (!in->can_enforce)
                return step_for(STEP_REFUSE, in->cannot_code, in->cannot);
        if (step_needs_scope(in) && in->no_scope)
                return step_for(STEP_REFUSE, in->no_scope_code, in->no_scope);
        if (step_needs_scope(in) && in->scope_moves >= STEP_WRITES_MAX)
                return step_for(STEP_REFUSE, REASON_CONTESTED,
                                "it was moved to its own scope and did not stay there; does "
                                "another manager move it?");
        if (step_needs_scope(in))
                return step(STEP_SCOPE);
        /* Of affinity, what a thread was before it is first set does not count. */
        if (!step_cpus_in_force(in->backend, binding, in->placement) ||
            (!in->cpus_applied && in->backend == BACKEND_AFFINITY &&
             binding->n_threads_off_cpus > 0)) {
                if (in->cpu_writes >= STEP_WRITES_MAX ||
                    (in->cpus_applied &&
                     is_kept_out(in, ID_VIEW(&in->placement->cpus), ID_VIEW(&binding->cpus_above))))
                        return step_for(STEP_REFUSE, REASON_SLICE_TOO_TIGHT,
                                        cpus_without_effect[in->backend]);
                if (in->repairs >= STEP_REPAIRS_MAX)
                        return step_for(STEP_PARTLY, REASON_CONTESTED,
                                        "something else keeps changing its CPUs; backing off for "
                                        "one minute");
                return step(STEP_SET_CPUS);
        }
        /* Nothing can be moved to where that group does not let it be. */
        nodes = home_of(in);
        id_set_intersect(&nodes, &binding->mems);
        if (binding->inner_group[0] != '\0' && in->placement->memory != MEMORY_NONE &&
            !id_set_is_subset(&nodes, &binding->inner_mems))
                return step_for(STEP_PARTLY, REASON_INNER_GROUP, inner_group);
        switch (in->placement->memory) {
        case MEMORY_NONE:
                next = mems_are_to_be_opened(in) ? step_open(in) : step(STEP_DONE);
                break;
        case MEMORY_PREFERRED:
                next = step_preferred(in);
                break;
        case MEMORY_BIND:
                if (in->backend != BACKEND_AFFINITY) {
                        next = step_bind(in);
                        break;
                }
                /* Nothing can hold the memory there: the nearest thing is done, and reported. */
                next = step_preferred(in);
                if (next.kind == STEP_DONE)
                        return step_for(STEP_PARTLY, REASON_NOT_STRICT,
                                        "memory: bind is treated as preferred, because the backend "
                                        "affinity cannot bind memory");
                break;
        }
        if (next.kind == STEP_DONE && binding->inner_group[0] != '\0' &&
            !id_set_equal(&binding->inner_cpus, &binding->cpus))
                return step_for(STEP_PARTLY, REASON_INNER_GROUP, inner_group);
        if (next.kind == STEP_DONE && !id_set_is_empty(&binding->unused_cpus)) {
                const Reason code = in->start == START_AFFINITY || in->start == START_NUMA
                                            ? REASON_UNIT_AFFINITY
                                    : in->start == START_NUMACTL || in->start == START_TASKSET
                                            ? REASON_START_AFFINITY
                                            : REASON_OWN_CPUS;

                return step_for(STEP_PARTLY, code, reason_to_sentence(code));
        }
        return next;
}

bool step_is_final(StepKind kind) {
        return kind == STEP_WATCH || kind == STEP_REFUSE || kind == STEP_DONE ||
               kind == STEP_WIDENED || kind == STEP_PARTLY;
}
