/* The step that comes next: what goes before all, scopes, CPUs, preferred and bound memory. */
#include "step-situation.h"

SITUATION_TEST(watch_goes_before_all, MEMORY_BIND) {
        s->placement.nodes = node_set("");
        s->placement.reason = "no nodes";
        s->in.can_enforce = false;
        s->binding.alone = false;
        assert_step(s, STEP_WATCH, "no nodes");
}

SITUATION_TEST(refuses, MEMORY_BIND) {
        s->in.can_enforce = false;
        s->in.cannot = "no backend";
        s->in.cannot_code = REASON_CONTROLLER_MISSING;
        s->binding.alone = false;
        s->binding.cpuset = false;
        assert_step(s, STEP_REFUSE, "no backend");
        s->in.can_enforce = true;
        s->in.no_scope = "because";
        s->in.no_scope_code = REASON_SHARED_UNIT;
        assert_step(s, STEP_REFUSE, "because");
}

/* Before anything else, and only where it has no unit to itself. */
SITUATION_TEST(scope_comes_first, MEMORY_BIND) {
        assert_false(step_needs_scope(&s->in));
        s->in.no_scope = "because"; /* it needs none */
        assert_step(s, STEP_DONE, "");
        s->in.no_scope = NULL;
        s->in.outside_unit = true;
        s->binding.cpuset = false;
        assert_step(s, STEP_SCOPE, "");
        s->in.scope_moves = STEP_WRITES_MAX - 1;
        assert_step(s, STEP_SCOPE, "");
        s->in.scope_moves = STEP_WRITES_MAX;
        assert_step(s, STEP_REFUSE, "did not stay there");
        s->in.no_scope = "because";
        s->in.no_scope_code = REASON_SHARED_UNIT;
        assert_step(s, STEP_REFUSE, "because");
        s->in.outside_unit = false;
        s->in.in_scope = true;
        s->binding.alone = false; /* what is in its scope is its own */
        assert_step(s, STEP_SET_CPUS, "");
        s->in.in_scope = false;
        s->in.no_scope = NULL;
        s->in.scope_moves = 0;
        assert_step(s, STEP_SCOPE, "");
        for (int backend = BACKEND_CGROUP1; backend <= BACKEND_AFFINITY; backend++) {
                s->in.backend = (BackendKind)backend;
                s->in.outside_unit = true;
                assert_false(step_needs_scope(&s->in));
        }
}

/* Its memory is counted nowhere: passes of the mover say what is outside. */
static void init_scope(Situation *s, MemoryMode memory) {
        init(s, memory);
        s->in.in_scope = true;
        s->in.memory_known = false;
        s->in.fits = false;
        s->binding.mems = node_set("0-3");
}

TEST(bind_in_scope) {
        Situation s;

        init_scope(&s, MEMORY_BIND);
        assert_step(&s, STEP_PULL, "");
        s.in.passes = 1;
        s.in.pass_found_bytes = s.in.pass_moved_bytes = 100;
        assert_false(step_was_pulled(&s.in)); /* it ended early: there may be more */
        assert_step(&s, STEP_PULL, "");
        s.in.pass_whole = true;
        assert_true(step_was_pulled(&s.in));
        s.in.pass_found_bytes = 101;
        assert_false(step_was_pulled(&s.in));
        s.in.passes = STEP_PASSES_MAX - 1;
        assert_step(&s, STEP_PULL, "");
        s.in.passes = STEP_PASSES_MAX;
        assert_step(&s, STEP_PARTLY, "pinned");
        s.in.pass_whole = false;
        assert_step(&s, STEP_PARTLY, "does not fit");
        s.in.passes = 1;
        s.in.pass_moved_bytes = 0;
        assert_step(&s, STEP_PARTLY, "does not fit");
        s.in.passes = 0; /* what passes are counted for is over; what they said is not */
        s.in.pulled = true;
        assert_mems(&s, STEP_NARROW, "1");
        s.binding.mems = node_set("0");
        assert_mems(&s, STEP_WIDEN, "0-1");
        s.binding.mems = node_set("0-3");
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_REFUSE, "AllowedMemoryNodes=");
        s.binding.mems = node_set("1");
        assert_step(&s, STEP_DONE, "");
        s.in.pulled = false; /* narrowed by another program: a pass reads where its memory is */
        assert_step(&s, STEP_PULL, "");
        s.in.we_narrowed = true; /* by an earlier daemon, as its undo record says: after a pull */
        assert_step(&s, STEP_DONE, "");
        init_scope(&s, MEMORY_BIND);
        s.in.extra = node_set("2");
        assert_step(&s, STEP_WIDENED, "nearly full");
}

/* Groups that the service has made itself, and that leave it less. */
SITUATION_TEST(inner_groups, MEMORY_BIND) {
        s->binding.inner_cpus = cpu_set("4-5");
        s->binding.inner_mems = node_set("1");
        (void)snprintf(s->binding.inner_group, sizeof(s->binding.inner_group), "/a");
        assert_step(s, STEP_PARTLY, "below its unit");
        s->binding.n_threads_off_cpus = 2; /* which follows from it */
        assert_step(s, STEP_PARTLY, "below its unit");
        s->binding.n_threads_off_cpus = 0;
        s->binding.inner_cpus = cpu_set("4-7");
        assert_step(s, STEP_DONE, "");
        s->in.outside_bytes = 100;
        s->binding.inner_cpus = cpu_set("4-5"); /* memory that can be moved is */
        assert_step(s, STEP_PULL, "");
        s->binding.mems = node_set("0-3");
        s->binding.inner_mems = node_set("0,2-3"); /* not to a node that the group does not have */
        assert_step(s, STEP_PARTLY, "below its unit");
        s->binding.inner_mems = node_set("0-1");
        assert_step(s, STEP_PULL, "");
        s->binding.inner_mems = node_set("0");
        s->placement.memory = MEMORY_NONE;
        s->binding.inner_cpus = cpu_set("4-7");
        assert_step(s, STEP_DONE, "");
        s->binding.cpus = cpu_set("0-7"); /* the unit's own CPUs come first */
        assert_step(s, STEP_SET_CPUS, "");
}

TEST(preferred_in_scope) {
        Situation s;

        init_scope(&s, MEMORY_PREFERRED);
        assert_step(&s, STEP_PULL, "");
        s.in.pulled = true;
        assert_step(&s, STEP_DONE, "");
        s.in.pulled = false;
        s.in.passes = STEP_PASSES_MAX;
        assert_step(&s, STEP_PARTLY, "does not fit");
        for (int memory = MEMORY_PREFERRED; memory <= MEMORY_BIND; memory++) {
                init_scope(&s, (MemoryMode)memory);
                s.placement.migrate = MIGRATE_NONE;
                assert_step(&s, STEP_PARTLY, "is not counted");
        }
        init_scope(&s, MEMORY_NONE);
        assert_step(&s, STEP_DONE, "");
}

SITUATION_TEST(cpus_come_first, MEMORY_BIND) {
        s->binding.mems = node_set("0-3");
        s->in.outside_bytes = 100;
        s->in.passes = 1;
        s->binding.cpus = cpu_set("4-6");
        assert_step(s, STEP_SET_CPUS, "");
        s->binding.cpus = cpu_set("4-8");
        assert_step(s, STEP_SET_CPUS, "");
        s->binding.cpus = cpu_set("4-7");
        s->binding.cpuset = false; /* the same CPUs by chance, nothing holds them */
        assert_step(s, STEP_SET_CPUS, "");
        s->in.cpu_writes = STEP_WRITES_MAX - 1;
        assert_step(s, STEP_SET_CPUS, "");
        s->in.cpu_writes = STEP_WRITES_MAX;
        assert_step(s, STEP_REFUSE, "AllowedCPUs=");
        s->binding.cpuset =
                true; /* they are in place: how often they were written does not matter */
        assert_step(s, STEP_NARROW, "");
}

SITUATION_TEST(memory_none, MEMORY_NONE) {
        s->in.outside_bytes = 100;
        s->in.memory_known = false;
        s->in.fits = false;
        assert_step(s, STEP_DONE, "");
        s->in.we_narrowed = true; /* an earlier policy of bind is not left behind */
        assert_step(s, STEP_DONE, "");
        s->binding.mems = node_set("1");
        assert_mems(s, STEP_WIDEN, "0-3");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_step(s, STEP_PARTLY, "could not be widened");
}

SITUATION_TEST(threads_with_cpus_of_their_own, MEMORY_BIND) {
        s->binding.n_threads_off_cpus = 1;
        assert_step(s, STEP_PARTLY, "fewer CPUs");
        /* They do not keep the memory from coming over. */
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, "");
        init(s, MEMORY_NONE);
        s->binding.n_threads_off_cpus = 1;
        assert_step(s, STEP_PARTLY, "fewer CPUs");
}

SITUATION_TEST(unknown_memory_mode, MEMORY_BIND) {
        s->placement.memory = (MemoryMode)77;
        assert_step(s, STEP_REFUSE, "unknown");
}

SITUATION_TEST(preferred, MEMORY_PREFERRED) {
        assert_step(s, STEP_DONE, "");
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, "");
}

/* On a host without the memory controller: passes tell, as of one in a scope. */
SITUATION_TEST(preferred_that_nobody_counts, MEMORY_PREFERRED) {
        s->in.memory_known = s->in.fits = false;
        assert_step(s, STEP_PULL, "");
        s->placement.migrate = MIGRATE_KERNEL; /* it could not be told what to move */
        assert_step(s, STEP_PULL, "");
        s->in.passes = 1;
        s->in.pass_found_bytes = s->in.pass_moved_bytes = 1;
        assert_step(s, STEP_PULL, "");
        s->in.passes = STEP_PASSES_MAX;
        assert_step(s, STEP_PARTLY, "does not fit");
        s->in.pulled = true;
        assert_step(s, STEP_DONE, "");
        s->in.pulled = false;
        s->placement.migrate = MIGRATE_NONE;
        assert_step(s, STEP_PARTLY, "is not counted");
}

/* A slice that leaves the unit fewer nodes than there are: it has what it may have. */
TEST(open_below_a_slice) {
        static const MemoryMode modes[] = { MEMORY_PREFERRED, MEMORY_NONE };

        for (size_t i = 0; i < 2; i++) {
                Situation s;

                init(&s, modes[i]);
                s.in.we_narrowed = true;
                s.binding.mems_above = node_set("0-1");
                s.binding.mems = node_set("1");
                assert_mems(&s, STEP_WIDEN, "0-3");
                assert_false(step_mems_in_force(&s.in));
                s.binding.mems = node_set("0-1");
                assert_step(&s, STEP_DONE, "");
                assert_true(step_mems_in_force(&s.in));
                s.in.all_nodes = node_set("1-3"); /* the unit's own leave it less */
                assert_mems(&s, STEP_WIDEN, "1-3");
                s.binding.mems = node_set("1");
                assert_step(&s, STEP_DONE, "");
                s.in.backend = BACKEND_CGROUP1; /* whose group above follows */
                assert_mems(&s, STEP_WIDEN, "1-3");
        }
}

/* A slice that was narrowed after the unit was bound: that is the reason at once, in each round,
 * and nothing is written for it or counted as a repair. */
SITUATION_TEST(below_a_slice_that_was_narrowed, MEMORY_BIND) {
        s->binding.cpus = cpu_set("4-5");
        s->binding.cpus_above = cpu_set("0-5");
        assert_step(s, STEP_SET_CPUS, ""); /* not tried yet: some of its CPUs are better than all */
        s->in.cpus_applied = true;
        assert_step(s, STEP_REFUSE, "does a slice above the unit allow less?");
        s->binding.cpus_above = cpu_set("4-7"); /* the unit itself was narrowed */
        assert_step(s, STEP_SET_CPUS, "");
        s->binding.cpus_above = cpu_set("");
        assert_step(s, STEP_SET_CPUS, "");
        s->binding.cpus = cpu_set("4-7");
        s->binding.mems = s->binding.mems_above = node_set("0,2");
        assert_mems(s, STEP_WIDEN, "0-2"); /* not tried yet */
        s->in.we_narrowed = true;
        assert_step(s, STEP_REFUSE, "does a slice above the unit allow less?");
        s->binding.mems_above = node_set("0-3");
        assert_mems(s, STEP_WIDEN, "0-2");
}

SITUATION_TEST(preferred_opens_what_a_bind_narrowed, MEMORY_PREFERRED) {
        s->binding.mems = node_set("0");
        /* The admin's, not ours to touch; and pages cannot be moved to where it may not be. */
        assert_step(s, STEP_PARTLY, "may not use memory of its nodes");
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PARTLY, "may not use memory of its nodes");
        s->binding.mems = node_set("0-1");
        assert_step(s, STEP_PULL, "");
        s->in.outside_bytes = 0;
        assert_step(s, STEP_DONE, "");
        s->in.we_narrowed = true;
        assert_mems(s, STEP_WIDEN, "0-3");
        s->in.mem_writes = STEP_WRITES_MAX - 1;
        assert_mems(s, STEP_WIDEN, "0-3");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_step(s, STEP_PARTLY, "could not be widened");
        s->binding.mems = node_set("0-3");
        assert_step(s, STEP_DONE, "");
}

SITUATION_TEST(preferred_never_sweeps, MEMORY_PREFERRED) {
        s->in.outside_bytes = 100;
        s->in.passes = 1;
        s->in.settles = STEP_SETTLES_MAX;
        assert_step(s, STEP_PARTLY, "did not move some");
}
