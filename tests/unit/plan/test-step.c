/* The step that comes next, branch by branch, and whole ways against a kernel that is played. */
#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "step-kernel.h"
#include "step-situation.h"
#include "tidbnumad/plan/step.h"

/* --- the step that comes next: what goes before all, scopes, CPUs, preferred and bound memory ---
 */

SITUATION_TEST(watch_goes_before_all, MEMORY_BIND) {
        s->placement.nodes = node_set("");
        assert_step(s, STEP_WATCH, REASON_NONE);
        s->placement.reason = "no nodes";
        s->in.can_enforce = false;
        s->binding.alone = false;
        assert_says(s, STEP_WATCH, REASON_NO_PLACE, "no nodes");
}

SITUATION_TEST(refuses, MEMORY_BIND) {
        s->in.can_enforce = false;
        s->in.cannot = "no backend";
        s->in.cannot_code = REASON_CONTROLLER_MISSING;
        s->binding.alone = false;
        s->binding.cpuset = false;
        assert_says(s, STEP_REFUSE, REASON_CONTROLLER_MISSING, "no backend");
        s->in.can_enforce = true;
        s->in.no_scope = "because";
        s->in.no_scope_code = REASON_SHARED_UNIT;
        assert_says(s, STEP_REFUSE, REASON_SHARED_UNIT, "because");
}

/* Before anything else, and only where it has no unit to itself. */
SITUATION_TEST(scope_comes_first, MEMORY_BIND) {
        assert_false(step_needs_scope(&s->in));
        s->in.no_scope = "because"; /* it needs none */
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.no_scope = NULL;
        s->in.outside_unit = true;
        s->binding.cpuset = false;
        assert_step(s, STEP_SCOPE, REASON_NONE);
        s->in.scope_moves = STEP_WRITES_MAX - 1;
        assert_step(s, STEP_SCOPE, REASON_NONE);
        s->in.scope_moves = STEP_WRITES_MAX;
        assert_says(s, STEP_REFUSE, REASON_CONTESTED, "did not stay there");
        s->in.no_scope = "because";
        s->in.no_scope_code = REASON_SHARED_UNIT;
        assert_says(s, STEP_REFUSE, REASON_SHARED_UNIT, "because");
        s->in.outside_unit = false;
        s->in.in_scope = true;
        s->binding.alone = false; /* what is in its scope is its own */
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->in.in_scope = false;
        s->in.no_scope = NULL;
        s->in.scope_moves = 0;
        assert_step(s, STEP_SCOPE, REASON_NONE);
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
        assert_step(&s, STEP_PULL, REASON_NONE);
        s.in.passes = 1;
        s.in.pass_found_bytes = s.in.pass_moved_bytes = 100;
        assert_false(step_was_pulled(&s.in)); /* it ended early: there may be more */
        assert_step(&s, STEP_PULL, REASON_NONE);
        s.in.pass_whole = true;
        assert_true(step_was_pulled(&s.in));
        s.in.pass_found_bytes = 101;
        assert_false(step_was_pulled(&s.in));
        s.in.passes = STEP_PASSES_MAX - 1;
        assert_step(&s, STEP_PULL, REASON_NONE);
        s.in.passes = STEP_PASSES_MAX;
        assert_step(&s, STEP_PARTLY, REASON_PINNED_PAGES);
        s.in.pass_whole = false;
        assert_step(&s, STEP_PARTLY, REASON_NO_ROOM);
        s.in.passes = 1;
        s.in.pass_moved_bytes = 0;
        assert_step(&s, STEP_PARTLY, REASON_NO_ROOM);
        s.in.passes = 0; /* what passes are counted for is over; what they said is not */
        s.in.pulled = true;
        assert_mems(&s, STEP_NARROW, "1");
        s.binding.mems = node_set("0");
        assert_mems(&s, STEP_WIDEN, "0-1");
        s.binding.mems = node_set("0-3");
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_says(&s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT, "AllowedMemoryNodes=");
        s.binding.mems = node_set("1");
        assert_step(&s, STEP_DONE, REASON_NONE);
        s.in.pulled = false; /* narrowed by another program: a pass reads where its memory is */
        assert_step(&s, STEP_PULL, REASON_NONE);
        s.in.we_narrowed = true; /* by an earlier daemon, as its undo record says: after a pull */
        assert_step(&s, STEP_DONE, REASON_NONE);
        init_scope(&s, MEMORY_BIND);
        s.in.extra = node_set("2");
        assert_says(&s, STEP_WIDENED, REASON_NODE_FULL, "nearly full");
}

/* Groups that the service has made itself, and that leave it less. */
SITUATION_TEST(inner_groups, MEMORY_BIND) {
        s->binding.inner_cpus = cpu_set("4-5");
        s->binding.inner_mems = node_set("1");
        (void)snprintf(s->binding.inner_group, sizeof(s->binding.inner_group), "/a");
        assert_step(s, STEP_PARTLY, REASON_INNER_GROUP);
        s->binding.n_threads_off_cpus = 2; /* which follows from it */
        assert_step(s, STEP_PARTLY, REASON_INNER_GROUP);
        s->binding.n_threads_off_cpus = 0;
        s->binding.inner_cpus = cpu_set("4-7");
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.outside_bytes = 100;
        s->binding.inner_cpus = cpu_set("4-5"); /* memory that can be moved is */
        assert_step(s, STEP_PULL, REASON_NONE);
        s->binding.mems = node_set("0-3");
        s->binding.inner_mems = node_set("0,2-3"); /* not to a node that the group does not have */
        assert_step(s, STEP_PARTLY, REASON_INNER_GROUP);
        s->binding.inner_mems = node_set("0-1");
        assert_step(s, STEP_PULL, REASON_NONE);
        s->binding.inner_mems = node_set("0");
        s->placement.memory = MEMORY_NONE;
        s->binding.inner_cpus = cpu_set("4-7");
        assert_step(s, STEP_DONE, REASON_NONE);
        s->binding.cpus = cpu_set("0-7"); /* the unit's own CPUs come first */
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
}

TEST(preferred_in_scope) {
        Situation s;

        init_scope(&s, MEMORY_PREFERRED);
        assert_step(&s, STEP_PULL, REASON_NONE);
        s.in.pulled = true;
        assert_step(&s, STEP_DONE, REASON_NONE);
        s.in.pulled = false;
        s.in.passes = STEP_PASSES_MAX;
        assert_step(&s, STEP_PARTLY, REASON_NO_ROOM);
        for (int memory = MEMORY_PREFERRED; memory <= MEMORY_BIND; memory++) {
                init_scope(&s, (MemoryMode)memory);
                s.placement.migrate = MIGRATE_NONE;
                assert_says(&s, STEP_PARTLY, REASON_MEMORY_UNREADABLE, "is not counted");
        }
        init_scope(&s, MEMORY_NONE);
        assert_step(&s, STEP_DONE, REASON_NONE);
}

SITUATION_TEST(cpus_come_first, MEMORY_BIND) {
        s->binding.mems = node_set("0-3");
        s->in.outside_bytes = 100;
        s->in.passes = 1;
        s->binding.cpus = cpu_set("4-6");
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->binding.cpus = cpu_set("4-8");
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->binding.cpus = cpu_set("4-7");
        s->binding.cpuset = false; /* the same CPUs by chance, nothing holds them */
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->in.cpu_writes = STEP_WRITES_MAX - 1;
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->in.cpu_writes = STEP_WRITES_MAX;
        assert_says(s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT, "AllowedCPUs=");
        s->binding.cpuset =
                true; /* they are in place: how often they were written does not matter */
        assert_step(s, STEP_NARROW, REASON_NONE);
}

SITUATION_TEST(memory_none, MEMORY_NONE) {
        s->in.outside_bytes = 100;
        s->in.memory_known = false;
        s->in.fits = false;
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.we_narrowed = true; /* an earlier policy of bind is not left behind */
        assert_step(s, STEP_DONE, REASON_NONE);
        s->binding.mems = node_set("1");
        assert_mems(s, STEP_WIDEN, "0-3");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_says(s, STEP_PARTLY, REASON_SLICE_TOO_TIGHT, "could not be widened");
}

/* HAProxy's cpu-map and TiFlash's read pools: each thread has a part, and together they have all.
 */
SITUATION_TEST(threads_that_share_the_cpus_out, MEMORY_BIND) {
        s->binding.n_threads_off_cpus = 4;
        assert_step(s, STEP_DONE, REASON_NONE);
}

SITUATION_TEST(threads_that_leave_cpus_unused, MEMORY_BIND) {
        s->binding.n_threads_off_cpus = 1;
        s->binding.unused_cpus = cpu_set("7");
        assert_step(s, STEP_PARTLY, REASON_OWN_CPUS);
        /* They do not keep the memory from coming over. */
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, REASON_NONE);
        init(s, MEMORY_NONE);
        s->binding.unused_cpus = cpu_set("4-6");
        assert_step(s, STEP_PARTLY, REASON_OWN_CPUS);
}

SITUATION_TEST(unknown_memory_mode, MEMORY_BIND) {
        s->placement.memory = (MemoryMode)77;
        assert_step(s, STEP_REFUSE, REASON_OTHER);
}

SITUATION_TEST(preferred, MEMORY_PREFERRED) {
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, REASON_NONE);
}

/* On a host without the memory controller: passes tell, as of one in a scope. */
SITUATION_TEST(preferred_that_nobody_counts, MEMORY_PREFERRED) {
        s->in.memory_known = s->in.fits = false;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->placement.migrate = MIGRATE_KERNEL; /* it could not be told what to move */
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = 1;
        s->in.pass_found_bytes = s->in.pass_moved_bytes = 1;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = STEP_PASSES_MAX;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.pulled = true;
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.pulled = false;
        s->placement.migrate = MIGRATE_NONE;
        assert_says(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE, "is not counted");
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
                assert_step(&s, STEP_DONE, REASON_NONE);
                assert_true(step_mems_in_force(&s.in));
                s.in.all_nodes = node_set("1-3"); /* the unit's own leave it less */
                assert_mems(&s, STEP_WIDEN, "1-3");
                s.binding.mems = node_set("1");
                assert_step(&s, STEP_DONE, REASON_NONE);
                s.in.backend = BACKEND_CGROUP1; /* whose group above follows */
                assert_mems(&s, STEP_WIDEN, "1-3");
        }
}

/* A slice that was narrowed after the unit was bound: that is the reason at once, in each round,
 * and nothing is written for it or counted as a repair. */
SITUATION_TEST(below_a_slice_that_was_narrowed, MEMORY_BIND) {
        s->binding.cpus = cpu_set("4-5");
        s->binding.cpus_above = cpu_set("0-5");
        assert_step(s, STEP_SET_CPUS,
                    REASON_NONE); /* not tried yet: some of its CPUs are better than all */
        s->in.cpus_applied = true;
        assert_says(s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT,
                    "does a slice above the unit allow less?");
        s->binding.cpus_above = cpu_set("4-7"); /* the unit itself was narrowed */
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->binding.cpus_above = cpu_set("");
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->binding.cpus = cpu_set("4-7");
        s->binding.mems = s->binding.mems_above = node_set("0,2");
        assert_mems(s, STEP_WIDEN, "0-2"); /* not tried yet */
        s->in.we_narrowed = true;
        assert_says(s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT,
                    "does a slice above the unit allow less?");
        s->binding.mems_above = node_set("0-3");
        assert_mems(s, STEP_WIDEN, "0-2");
}

SITUATION_TEST(preferred_opens_what_a_bind_narrowed, MEMORY_PREFERRED) {
        s->binding.mems = node_set("0");
        /* The admin's, not ours to touch; and pages cannot be moved to where it may not be. */
        assert_says(s, STEP_PARTLY, REASON_SLICE_TOO_TIGHT, "may not use memory of its nodes");
        s->in.outside_bytes = 100;
        assert_says(s, STEP_PARTLY, REASON_SLICE_TOO_TIGHT, "may not use memory of its nodes");
        s->binding.mems = node_set("0-1");
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.outside_bytes = 0;
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.we_narrowed = true;
        assert_mems(s, STEP_WIDEN, "0-3");
        s->in.mem_writes = STEP_WRITES_MAX - 1;
        assert_mems(s, STEP_WIDEN, "0-3");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_says(s, STEP_PARTLY, REASON_SLICE_TOO_TIGHT, "could not be widened");
        s->binding.mems = node_set("0-3");
        assert_step(s, STEP_DONE, REASON_NONE);
}

SITUATION_TEST(preferred_never_sweeps, MEMORY_PREFERRED) {
        s->in.outside_bytes = 100;
        s->in.passes = 1;
        s->in.settles = STEP_SETTLES_MAX;
        assert_step(s, STEP_PARTLY, REASON_PINNED_PAGES);
}

/* --- The step that comes next: with backends that cannot do all, and on nodes that were widened
 * --- */

/* As bound by a backend that acts on processes: neighbours in the unit do not matter. */
static void init_by(Situation *s, BackendKind backend, MemoryMode memory) {
        init(s, memory);
        s->in.backend = backend;
        s->in.cpus_applied = true;
        s->binding.alone = false;
        if (backend == BACKEND_AFFINITY) {
                s->binding.cpuset = false;
                s->binding.cpus = cpu_set("0-3");
                s->binding.mems = node_set("0-3");
        }
}

#define BACKEND_TEST(test, backend, memory)                                                        \
        TEST_AFTER(test, Situation, s, init_by(s, backend, memory), test_no_done)

BACKEND_TEST(affinity_cpus, BACKEND_AFFINITY, MEMORY_NONE) {
        assert_step(s, STEP_DONE, REASON_NONE);
        s->binding.n_threads_off_cpus = 2; /* narrower: its own choice, once it got all */
        assert_step(s, STEP_DONE, REASON_NONE);
        s->binding.unused_cpus = cpu_set("5");
        assert_step(s, STEP_PARTLY, REASON_OWN_CPUS);
        s->in.cpus_applied = false;
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->in.cpus_applied = true;
        s->binding.n_threads_outside = 1;
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->in.cpu_writes = STEP_WRITES_MAX;
        assert_says(s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT, "cpuset cgroup");
}

BACKEND_TEST(contest_is_yielded, BACKEND_AFFINITY, MEMORY_NONE) {
        s->binding.n_threads_off_cpus = s->binding.n_threads_outside = 1;
        s->in.repairs = STEP_REPAIRS_MAX - 1;
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->in.repairs = STEP_REPAIRS_MAX;
        assert_says(s, STEP_PARTLY, REASON_CONTESTED, "keeps changing");
        s->binding.n_threads_off_cpus = s->binding.n_threads_outside = 0;
        assert_step(s, STEP_DONE, REASON_NONE);
}

BACKEND_TEST(affinity_memory, BACKEND_AFFINITY, MEMORY_BIND) {
        assert_step(s, STEP_PARTLY, REASON_NOT_STRICT);
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.memory_known = false; /* it shares its cgroup: every page is read */
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.pulled = true;
        assert_step(s, STEP_PARTLY, REASON_NOT_STRICT);
        s->placement.memory = MEMORY_PREFERRED;
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.pulled = false;
        s->placement.migrate = MIGRATE_NONE;
        assert_says(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE, "not counted");
        s->placement.migrate = MIGRATE_GENTLE;
        s->in.memory_known = true;
        s->in.outside_bytes = 0;
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.we_narrowed = true; /* by another backend, before */
        s->binding.mems = node_set("1");
        assert_step(s, STEP_DONE, REASON_NONE);
        s->binding.mems = node_set("0");
        assert_says(s, STEP_PARTLY, REASON_SLICE_TOO_TIGHT, "may not use memory of its nodes");
}

BACKEND_TEST(cgroup1, BACKEND_CGROUP1, MEMORY_BIND) {
        assert_step(s, STEP_DONE, REASON_NONE);
        s->binding.cpuset = false; /* not in its directory */
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
        s->in.cpu_writes = STEP_WRITES_MAX;
        assert_says(s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT, "another manager");
        init_by(s, BACKEND_CGROUP1, MEMORY_BIND);
        s->in.memory_known = false; /* narrow, and its memory is not known */
        assert_says(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE, "its memory nodes are set");
        s->in.all_nodes = node_set("1"); /* nowhere else */
        assert_step(s, STEP_DONE, REASON_NONE);
        init_by(s, BACKEND_CGROUP1, MEMORY_BIND);
        s->binding.mems = node_set("0-3");
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = 1;
        assert_mems(s, STEP_NARROW, "1");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_says(s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT, "cpuset.mems");
        s->in.mem_writes = 0;
        s->in.memory_known = false;
        assert_says(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE, "only its CPUs are bound");
        /* The directory is ours alone: narrow, it is narrow by us. */
        s->binding.mems = node_set("2");
        assert_mems(s, STEP_WIDEN, "0-3");
        s->placement.memory = MEMORY_NONE;
        assert_mems(s, STEP_WIDEN, "0-3");
}

BACKEND_TEST(begins_blind, BACKEND_CGROUP1, MEMORY_BIND) {
        assert_false(step_begins_blind(&s->in));
        s->in.cpus_applied = false;
        assert_true(step_begins_blind(&s->in));
        s->in.backend = BACKEND_AFFINITY;
        assert_true(step_begins_blind(&s->in));
        s->in.can_enforce = false;
        assert_false(step_begins_blind(&s->in));
        s->in.can_enforce = true;
        s->placement.nodes = node_set("");
        assert_false(step_begins_blind(&s->in));
        s->placement.nodes = node_set("1");
        s->in.backend = BACKEND_SYSTEMD; /* its answer takes longer than the reading */
        assert_false(step_begins_blind(&s->in));
}

/* The guard has given it another node, and says so until there is room again. */
SITUATION_TEST(widened, MEMORY_BIND) {
        s->in.extra = node_set("3");
        s->in.extra_pending = true;
        assert_mems(s, STEP_WIDEN, "1,3"); /* another program has taken it back */
        s->binding.mems = node_set("1,3");
        assert_mems(s, STEP_WIDEN, "1,3"); /* the kernel allows it, the unit does not say so yet */
        s->in.extra_pending = false;
        assert_says(s, STEP_WIDENED, REASON_NODE_FULL, "nearly full");
        s->binding.mems = node_set("0-3"); /* more than that is well too */
        assert_says(s, STEP_WIDENED, REASON_NODE_FULL, "nearly full");
        s->binding.mems = node_set("1-2"); /* what it has is not taken away */
        assert_mems(s, STEP_WIDEN, "1-3");
        s->in.mem_writes = STEP_WRITES_MAX - 1;
        assert_mems(s, STEP_WIDEN, "1-3");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_says(s, STEP_PARTLY, REASON_NODE_FULL, "could not get another node");
        s->binding.mems = node_set("1,3");
        s->in.extra_pending = true;
        assert_says(s, STEP_WIDENED, REASON_NODE_FULL, "allows it more nodes");
}

/* There is no room for it: no memory is pulled, however much is outside, and no node is taken away.
 */
SITUATION_TEST(widened_moves_nothing, MEMORY_BIND) {
        s->in.extra = node_set("3");
        s->binding.mems = node_set("1,3");
        s->in.outside_bytes = 1;
        assert_says(s, STEP_WIDENED, REASON_NODE_FULL, "nearly full");
        s->in.has_room = true;
        assert_says(s, STEP_WIDENED, REASON_NODE_FULL, "nearly full");
        s->in.memory_known = false;
        assert_says(s, STEP_WIDENED, REASON_NODE_FULL, "nearly full");
        s->binding.cpus = cpu_set("4"); /* the CPUs are kept in order all the same */
        assert_step(s, STEP_SET_CPUS, REASON_NONE);
}

/* The way back: the pull, and then the narrowing. */
SITUATION_TEST(after_widened, MEMORY_BIND) {
        s->binding.mems = node_set("1,3");
        s->in.outside_bytes = 100;
        s->in.has_room = true;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = 1;
        s->in.pass_moved_bytes = 100;
        s->in.outside_bytes = 0;
        assert_mems(s, STEP_NARROW, "1");
        s->in.outside_bytes = 50;
        s->in.fits = s->in.has_room = false;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
}

/* Only a strict binding is widened. */
SITUATION_TEST(widened_is_of_bind, MEMORY_PREFERRED) {
        s->in.extra = node_set("3");
        assert_step(s, STEP_DONE, REASON_NONE);
        init(s, MEMORY_NONE);
        s->in.extra = node_set("3");
        assert_step(s, STEP_DONE, REASON_NONE);
}

/* --- The step that comes next: what a binding waits for, and what is left of it --- */

SITUATION_TEST(bind_is_done, MEMORY_BIND) {
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.mem_writes = STEP_WRITES_MAX;
        s->in.fits = false;
        assert_step(s, STEP_DONE, REASON_NONE);
}

/* Narrow already, and not by us: older memory may still be anywhere. */
SITUATION_TEST(bind_is_done_when_uncounted_memory_was_looked_at, MEMORY_BIND) {
        s->in.memory_known = false;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.pulled = true;
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.pulled = false;
        s->in.all_nodes = node_set("1"); /* nowhere else */
        assert_step(s, STEP_DONE, REASON_NONE);
        init(s, MEMORY_BIND);
        s->in.memory_known = false;
        s->placement.migrate = MIGRATE_NONE;
        assert_says(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE, "not moved");
}

/* What narrowing would move all at once is moved gently before. */
SITUATION_TEST(bind_pulls_files_that_narrowing_would_take_along, MEMORY_BIND) {
        s->binding.mems = node_set("0-1");
        assert_mems(s, STEP_NARROW, "1");
        s->in.files_follow = true;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = 1; /* what is left, others map as well */
        assert_mems(s, STEP_NARROW, "1");
        s->in.passes = 0;
        s->placement.migrate = MIGRATE_NONE;
        assert_mems(s, STEP_NARROW, "1");
}

SITUATION_TEST(bind_narrows, MEMORY_BIND) {
        s->binding.mems = node_set("0-3");
        assert_mems(s, STEP_NARROW, "1"); /* nothing outside: at once */
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = 1;
        s->in.pass_moved_bytes = 1;
        assert_mems(s, STEP_NARROW, "1");
        s->in.outside_bytes = 1001; /* more than a second's worth, which narrowing might move */
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = STEP_PASSES_MAX;
        assert_mems(s, STEP_NARROW, "1");
        s->in.passes = 1;
        s->in.pass_moved_bytes = 0; /* another pass would not get at it either */
        assert_mems(s, STEP_NARROW, "1");
        s->in.fits = false;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.passes = 0;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.fits = true;
        s->placement.migrate = MIGRATE_NONE; /* nothing is pulled */
        assert_mems(s, STEP_NARROW, "1");
        s->in.mem_writes = STEP_WRITES_MAX - 1;
        assert_mems(s, STEP_NARROW, "1");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_says(s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT, "AllowedMemoryNodes=");
}

/* migrate: kernel asks once for everything, where all of it fits. */
SITUATION_TEST(kernel_moves_once, MEMORY_PREFERRED) {
        s->placement.migrate = MIGRATE_KERNEL;
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.fits = false;
        s->in.has_room = true;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.fits = true;
        s->in.passes = 1;
        s->in.pass_found_bytes = s->in.pass_moved_bytes = 100;
        assert_step(s, STEP_SETTLE, REASON_NONE);
        init(s, MEMORY_BIND);
        s->binding.mems = node_set("0-3");
        s->placement.migrate = MIGRATE_KERNEL;
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = 1;
        assert_mems(s, STEP_NARROW, "1");
        s->in.fits = false;
        s->in.has_room = true;
        s->in.passes = 0;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
}

/* Files and shared memory get one pass, and nothing waits for them. */
TEST(what_follows) {
        static const MemoryMode modes[] = { MEMORY_PREFERRED, MEMORY_BIND };

        for (unsigned i = 0; i < 2; i++) {
                Situation s;

                init(&s, modes[i]);
                s.in.file_pull_wanted = s.in.has_room = true;
                assert_step(&s, STEP_PULL, REASON_NONE);
                s.in.passes = 1;
                assert_step(&s, STEP_DONE, REASON_NONE);
                s.in.passes = 0;
                s.in.has_room = false;
                assert_step(&s, STEP_DONE, REASON_NONE);
                s.in.has_room = true;
                s.placement.migrate = MIGRATE_NONE;
                assert_step(&s, STEP_DONE, REASON_NONE);
                s.placement.migrate = MIGRATE_KERNEL;
                assert_step(&s, STEP_DONE, REASON_NONE);
                s.placement.migrate = MIGRATE_GENTLE;
                s.in.memory_known = false;
                s.in.pulled = true;
                assert_step(&s, STEP_DONE, REASON_NONE);
        }
}

/* What does not fit as a whole is pulled as far as there is room, and never narrowed. */
SITUATION_TEST(bind_with_room_for_a_part, MEMORY_BIND) {
        s->binding.mems = node_set("0-3");
        s->in.outside_bytes = 100;
        s->in.fits = false;
        s->in.has_room = true;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = 1;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.pass_moved_bytes = 1;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.passes = STEP_PASSES_MAX;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.passes = 0;
        s->placement.migrate = MIGRATE_NONE;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
}

/* cpuset.mems.effective never holds a node without memory: waiting for it would never end. */
SITUATION_TEST(node_without_memory, MEMORY_BIND) {
        s->in.all_nodes = node_set("0-2"); /* 3 has none */
        s->placement.nodes = node_set("1,3");
        assert_step(s, STEP_DONE, REASON_NONE);
        s->binding.mems = node_set("0-2");
        assert_mems(s, STEP_NARROW, "1");
        s->binding.mems = node_set("0");
        assert_mems(s, STEP_WIDEN, "0-1");
        init(s, MEMORY_PREFERRED);
        s->in.all_nodes = s->binding.mems = node_set("0-2");
        s->placement.nodes = node_set("1,3");
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.we_narrowed = true;
        assert_step(s, STEP_DONE, REASON_NONE);
}

SITUATION_TEST(bind_wants_to_know_the_memory, MEMORY_BIND) {
        s->binding.mems = node_set("0-3");
        s->in.memory_known = false;
        assert_says(s, STEP_REFUSE, REASON_MEMORY_UNREADABLE, "is not counted");
        s->binding.mems = node_set("0");
        assert_says(s, STEP_REFUSE, REASON_MEMORY_UNREADABLE, "is not counted");
}

SITUATION_TEST(bind_widens_first, MEMORY_BIND) {
        s->binding.mems = node_set("0,2");
        s->in.outside_bytes = 100;
        assert_mems(s, STEP_WIDEN, "0-2");
        s->in.passes = 1; /* made before it was moved here */
        assert_mems(s, STEP_WIDEN, "0-2");
        s->in.fits = false;
        assert_mems(s, STEP_WIDEN, "0-2"); /* wider is never wrong */
        /* A part of its nodes is not enough. */
        s->in.fits = true;
        s->placement.nodes = node_set("1-2");
        s->binding.mems = node_set("2-3");
        assert_mems(s, STEP_WIDEN, "1-3");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_says(s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT, "AllowedMemoryNodes=");
}

/* Narrow, and pages are still outside. */
static void narrow_with_rest(Situation *s) {
        init(s, MEMORY_BIND);
        s->in.outside_bytes = 1000;
        s->in.mem_writes = STEP_WRITES_MAX; /* nothing more is to be written */
}

#define REST_TEST(test) TEST_WITH(test, Situation, s, narrow_with_rest, test_no_done)

REST_TEST(rest_is_pulled) {
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.fits = false;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.has_room = true; /* a part is better than nothing */
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.fits = true;
        s->in.passes = STEP_PASSES_MAX - 1;
        s->in.pass_moved_bytes = 1;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->placement.migrate = MIGRATE_NONE;
        assert_step(s, STEP_PARTLY, REASON_NOT_MOVED);
}

REST_TEST(rest_settles) {
        s->in.passes = STEP_PASSES_MAX;
        s->in.pass_moved_bytes = 1;
        assert_step(s, STEP_SETTLE, REASON_NONE);
        s->in.passes = 1;
        s->in.pass_moved_bytes = 0; /* no pass will find more */
        assert_step(s, STEP_SETTLE, REASON_NONE);
        s->in.settles = STEP_SETTLES_MAX - 1;
        assert_step(s, STEP_SETTLE, REASON_NONE);
        s->in.fits = false; /* nothing is moved now: room is of no matter */
        assert_step(s, STEP_SETTLE, REASON_NONE);
        s->in.passes = 0; /* a pass that was never made proves nothing */
        s->in.fits = true;
        assert_step(s, STEP_PULL, REASON_NONE);
}

REST_TEST(rest_is_swept) {
        s->in.passes = 1;
        s->in.settles = STEP_SETTLES_MAX;
        assert_step(s, STEP_SWEEP, REASON_NONE); /* exactly a second's worth */
        s->in.outside_bytes = 1001;
        assert_step(s, STEP_PARTLY, REASON_PINNED_PAGES);
        s->in.outside_bytes = 1000;
        s->in.sweeps = STEP_SWEEPS_MAX - 1;
        assert_step(s, STEP_SWEEP, REASON_NONE);
        s->in.fits = false;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.fits = true;
        s->in.sweeps = STEP_SWEEPS_MAX;
        assert_step(s, STEP_PARTLY, REASON_PINNED_PAGES);
}

/* A touch of a reserved page that only other nodes have would end it: everything but the narrowing
 * is done. */
SITUATION_TEST(bind_waits_for_the_pools_of_its_nodes, MEMORY_BIND) {
        s->binding.mems = node_set("0-3");
        s->in.huge_short = true;
        s->in.outside_bytes = 5000;
        assert_step(s, STEP_PULL, REASON_NONE);
        s->in.outside_bytes = 0;
        assert_step(s, STEP_PARTLY, REASON_HUGE_POOL);
        s->in.backend = BACKEND_CGROUP1;
        assert_step(s, STEP_PARTLY, REASON_HUGE_POOL);
        s->in.in_scope = s->in.pulled = true;
        s->in.backend = BACKEND_SYSTEMD;
        assert_step(s, STEP_PARTLY, REASON_HUGE_POOL);
        s->in.in_scope = s->in.pulled = false;
        s->in.huge_short = false;
        s->in.huge_awaited = true;
        assert_step(s, STEP_SETTLE, REASON_NONE);
        s->in.huge_awaited = false;
        assert_mems(s, STEP_NARROW, "1");
        s->in.huge_short = true; /* narrow already: the guard's matter */
        s->binding.mems = node_set("1");
        assert_step(s, STEP_DONE, REASON_NONE);
}

SITUATION_TEST(bind_stays_widened_for_the_pools, MEMORY_BIND) {
        s->binding.mems = s->in.extra = node_set("1-2");
        assert_says(s, STEP_WIDENED, REASON_NODE_FULL, "nearly full");
        s->in.extra_for_pool = true;
        assert_step(s, STEP_WIDENED, REASON_HUGE_POOL);
        s->in.extra_pending = true;
        assert_mems(s, STEP_WIDEN, "1-2");
}

/* --- What is left outside and why, memory nodes that another program changes again and again, and
 * step_mems_in_force(), which is true while they are as the daemon set them --- */

/* Bound to node 1 of 0-3 by its CPUs; all nodes are open. */
static void init_open(Situation *s, BackendKind backend, MemoryMode memory) {
        init(s, memory);
        s->in.backend = backend;
        s->in.cpus_applied = true;
        s->binding.mems = node_set("0-3");
}

#define OPEN_TEST(test, backend, memory)                                                           \
        TEST_AFTER(test, Situation, s, init_open(s, backend, memory), test_no_done)

OPEN_TEST(memory, BACKEND_SYSTEMD, MEMORY_PREFERRED) {
        s->in.outside_bytes = 5000;
        s->in.passes = STEP_PASSES_MAX;
        s->in.settles = STEP_SETTLES_MAX;
        assert_step(s, STEP_PARTLY, REASON_PINNED_PAGES);
        s->in.fits = false;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.passes = 0;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->placement.memory = MEMORY_BIND;
        assert_step(s, STEP_PARTLY, REASON_NO_ROOM);
        s->placement.memory = MEMORY_PREFERRED;
        s->placement.migrate = MIGRATE_NONE;
        assert_step(s, STEP_PARTLY, REASON_NOT_MOVED);
        init_open(s, BACKEND_CGROUP1, MEMORY_PREFERRED);
        s->in.memory_known = false;
        assert_step(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE);
        s->placement.memory = MEMORY_BIND;
        assert_step(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE);
}

OPEN_TEST(own_cpus, BACKEND_SYSTEMD, MEMORY_NONE) {
        s->binding.unused_cpus = cpu_set("4");
        assert_step(s, STEP_PARTLY, REASON_OWN_CPUS);
        s->in.start = START_SCRIPT;
        assert_step(s, STEP_PARTLY, REASON_OWN_CPUS);
        s->in.start = START_AFFINITY;
        assert_step(s, STEP_PARTLY, REASON_UNIT_AFFINITY);
        s->in.start = START_NUMA;
        assert_step(s, STEP_PARTLY, REASON_UNIT_AFFINITY);
        s->in.start = START_NUMACTL;
        assert_step(s, STEP_PARTLY, REASON_START_AFFINITY);
        s->in.start = START_TASKSET;
        assert_step(s, STEP_PARTLY, REASON_START_AFFINITY);
        s->binding.unused_cpus = (CpuSet){ 0 };
        assert_step(s, STEP_DONE, REASON_NONE);
}

/* Like CPUs, contested memory nodes are left alone; a value that is in place is not contested. */
OPEN_TEST(contest, BACKEND_SYSTEMD, MEMORY_BIND) {
        s->in.mem_repairs = STEP_REPAIRS_MAX - 1;
        assert_step(s, STEP_NARROW, REASON_NONE);
        s->in.mem_repairs++;
        assert_step(s, STEP_PARTLY, REASON_CONTESTED);
        s->binding.mems = node_set("0");
        assert_step(s, STEP_PARTLY, REASON_CONTESTED); /* nor are they widened first */
        s->binding.mems = node_set("1");
        assert_step(s, STEP_DONE, REASON_NONE);
        s->in.extra = node_set("2"); /* the guard is not hindered by it */
        assert_step(s, STEP_WIDEN, REASON_NONE);
        init_open(s, BACKEND_CGROUP1, MEMORY_PREFERRED);
        s->binding.mems = node_set("0-2");
        s->in.mem_repairs = STEP_REPAIRS_MAX;
        assert_step(s, STEP_PARTLY, REASON_CONTESTED);
        s->binding.cpus = cpu_set("4");
        s->in.repairs = STEP_REPAIRS_MAX;
        assert_step(s, STEP_PARTLY, REASON_CONTESTED);
}

static void assert_mems_in_force(BackendKind backend, MemoryMode memory, bool we_narrowed,
                                 const char *mems, bool expected) {
        Situation s;

        init_open(&s, backend, memory);
        s.in.we_narrowed = we_narrowed;
        s.binding.mems = node_set(mems);
        assert_int_equal(step_mems_in_force(&s.in), expected);
        s.in.extra = node_set("3");
        assert_false(step_mems_in_force(&s.in));
        s.in.extra = node_set("");
        s.placement.nodes = node_set("");
        assert_false(step_mems_in_force(&s.in));
}

TEST(mems_stand) {
        assert_mems_in_force(BACKEND_SYSTEMD, MEMORY_BIND, false, "1", true);
        assert_mems_in_force(BACKEND_SYSTEMD, MEMORY_BIND, false, "0-1", false);
        assert_mems_in_force(BACKEND_CGROUP1, MEMORY_BIND, false, "1", true);
        assert_mems_in_force(BACKEND_AFFINITY, MEMORY_BIND, true, "1", false);
        assert_mems_in_force(BACKEND_SYSTEMD, MEMORY_PREFERRED, false, "0-3", false);
        assert_mems_in_force(BACKEND_SYSTEMD, MEMORY_PREFERRED, true, "0-3", true);
        assert_mems_in_force(BACKEND_SYSTEMD, MEMORY_PREFERRED, true, "0-2", false);
        assert_mems_in_force(BACKEND_CGROUP1, MEMORY_NONE, false, "0-3", true);
        assert_mems_in_force(BACKEND_AFFINITY, MEMORY_PREFERRED, true, "0-3", false);
}

/* --- By which means an instance is bound --- */

#define SERVICE .is_service = true, .alone = true

/* `why` is a part of the sentence; NULL: there is none. What could not be started again with the
 * values of its place may not have them on its unit. */
TEST(means) {
        static const struct {
                const char *what;
                BindMethodInput in;
                BindMethod method;
                const char *why;
                Reason code;
                bool needs_scope;
        } rows[] = {
                { "a service of its own", { .host = BACKEND_SYSTEMD, SERVICE }, METHOD_UNIT },
                { "the same of a dump", { .host = BACKEND_AUTO, SERVICE }, METHOD_UNIT },
                { "one that could not be started again",
                  { .host = BACKEND_SYSTEMD, SERVICE, .start = "numactl" },
                  METHOD_AFFINITY,
                  "numactl",
                  REASON_START_LIMITS },
                { "the same in a scope",
                  { .host = BACKEND_SYSTEMD, SERVICE, .start = "numactl", .in_scope = true },
                  METHOD_SCOPE },
                { "the same on cgroup v1",
                  { .host = BACKEND_CGROUP1, SERVICE, .start = "numactl" },
                  METHOD_DIRECTORY },
                { "the same without a unit to itself",
                  { .host = BACKEND_SYSTEMD, .is_service = true, .start = "numactl" },
                  METHOD_SCOPE,
                  .needs_scope = true },
                { "one that shares its unit",
                  { .host = BACKEND_SYSTEMD,
                    .is_service = true,
                    .no_scope = "share its unit",
                    .no_scope_code = REASON_SHARED_UNIT },
                  METHOD_AFFINITY,
                  "share its unit",
                  REASON_SHARED_UNIT,
                  true },
                { "no service",
                  { .host = BACKEND_SYSTEMD, .alone = true },
                  METHOD_SCOPE,
                  .needs_scope = true },
                { "no service, of a dump",
                  { .host = BACKEND_AUTO, .alone = true },
                  METHOD_SCOPE,
                  .needs_scope = true },
                { "one whose scope would loosen its limits",
                  { .host = BACKEND_SYSTEMD,
                    .alone = true,
                    .no_scope = "TasksMax=",
                    .no_scope_code = REASON_UNIT_LIMITS },
                  METHOD_AFFINITY,
                  "TasksMax=",
                  REASON_UNIT_LIMITS,
                  true },
                { "moved before the limits came",
                  { .host = BACKEND_SYSTEMD,
                    .alone = true,
                    .in_scope = true,
                    .no_scope = "TasksMax=",
                    .no_scope_code = REASON_UNIT_LIMITS },
                  METHOD_SCOPE },
                { "moved out of its scope again and again", /* the step refuses, and why */
                  { .host = BACKEND_SYSTEMD,
                    .no_scope = "something else has moved it",
                    .no_scope_code = REASON_CONTESTED },
                  METHOD_SCOPE,
                  .needs_scope = true },
                { "a host with nothing else", { .host = BACKEND_AFFINITY }, METHOD_AFFINITY },
                { "a host that only seems to have more",
                  { .host = BACKEND_AFFINITY, .weaker = "cannot be written" },
                  METHOD_AFFINITY,
                  "cannot be written" },
                { "the policy asks for affinity",
                  { .host = BACKEND_SYSTEMD, .policy = POLICY_BACKEND_AFFINITY },
                  METHOD_AFFINITY,
                  "backend: affinity" },
                { "the same on cgroup v1",
                  { .host = BACKEND_CGROUP1, SERVICE, .policy = POLICY_BACKEND_AFFINITY },
                  METHOD_AFFINITY,
                  "backend: affinity" },
                { "the same where that is all there is",
                  { .host = BACKEND_AFFINITY, SERVICE, .policy = POLICY_BACKEND_AFFINITY },
                  METHOD_AFFINITY },
                { "cgroup v1", { .host = BACKEND_CGROUP1 }, METHOD_DIRECTORY },
                { "a container on cgroup v1",
                  { .host = BACKEND_CGROUP1, .in_container = true },
                  METHOD_AFFINITY,
                  "container",
                  REASON_SHARED_UNIT },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                const BindMeans means = bind_means_choose(&rows[k].in);

                if (means.method != rows[k].method || means.code != rows[k].code ||
                    !means.why != !rows[k].why ||
                    (rows[k].why && !strstr(means.why, rows[k].why)) ||
                    bind_method_needs_scope(&rows[k].in) != rows[k].needs_scope)
                        fail_msg("%s: %s, %s: %s", rows[k].what,
                                 bind_method_to_string(means.method), reason_to_string(means.code),
                                 means.why ? means.why : "");
        }
}

TEST(words) {
        static const char *const words[] = { "", "unit", "scope", "cgroup1", "affinity" };

        for (BindMethod method = METHOD_NONE; method <= METHOD_AFFINITY; method++)
                assert_string_equal(bind_method_to_string(method), words[method]);
}

/* --- step after step on kernels that apply each change: it ends, and all is in its place --- */

static uint64_t really_outside(const Kernel *k) {
        return outside(k, k->pages) + outside(k, k->marked) + outside(k, k->pinned);
}

/* As the daemon does when the instance changes. */
static void forget_progress(Kernel *k) {
        bool we_narrowed = k->in.we_narrowed;

        k->in = (StepInput){ .we_narrowed = we_narrowed };
        k->passes_on_the_way = 0;
}

static void assert_ends_done(Kernel *k) {
        Step step = run(k);

        if (step.kind != STEP_DONE)
                fail_msg("ends as %d: %s", (int)step.kind, step.reason);
        if (k->placement.memory != MEMORY_NONE)
                assert_int_equal(really_outside(k), 0);
}

static void unmark(Kernel *k) {
        for (unsigned i = 0; i < k->n_nodes; i++) {
                k->pages[i] += k->marked[i];
                k->marked[i] = 0;
        }
}

static void run_cooperative(MemoryMode memory) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 2654435761u + 1;
                Kernel k;

                init_cooperative(&k, &seed, memory);
                assert_ends_done(&k);
        }
}

TEST(bind_ends_bound) {
        run_cooperative(MEMORY_BIND);
}

TEST(preferred_ends_with_all_pulled) {
        run_cooperative(MEMORY_PREFERRED);
}

TEST(none_ends_with_cpus) {
        run_cooperative(MEMORY_NONE);
}

/* A policy that changes takes the instance from any bound state to the next. */
TEST(bound_elsewhere_afterwards) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 2246822519u + 7;
                Kernel k;

                init_cooperative(&k, &seed, MEMORY_BIND);
                assert_ends_done(&k);
                k.in.we_narrowed = true; /* also where it was so already */
                k.placement.nodes = some_nodes(&seed, k.n_nodes);
                k.placement.cpus = cpus_of(&k.placement.nodes);
                k.placement.memory = (MemoryMode)(i % 3);
                if (k.placement.memory == MEMORY_PREFERRED)
                        unmark(&k); /* it never sweeps */
                forget_progress(&k);
                assert_ends_done(&k);
                if (k.placement.memory != MEMORY_BIND)
                        assert_true(id_set_equal(&k.binding.mems, &k.in.all_nodes));
        }
}

/* Too little room, then enough: not bound while there is none, bound afterwards. */
TEST(bound_as_room_appears) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 3266489917u + 3;
                NodeSet before;
                Kernel k;

                init_cooperative(&k, &seed, MEMORY_BIND);
                k.room = really_outside(&k) / 2;
                before = k.binding.mems;
                if (really_outside(&k) > 0 && !id_set_equal(&k.binding.mems, &k.placement.nodes)) {
                        assert_int_equal(run(&k).kind, STEP_PARTLY);
                        assert_true(id_set_is_subset(&before, &k.binding.mems));
                }
                k.room = UINT64_MAX;
                forget_progress(&k);
                assert_ends_done(&k);
        }
}

/* Bound, widened because its nodes are full, and bound again when there is room. */
TEST(widened_and_back) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 374761393u + 11;
                NodeSet wide;
                Kernel k;

                init_cooperative(&k, &seed, MEMORY_BIND);
                assert_ends_done(&k);
                forget_progress(&k);
                k.in.extra = some_nodes(&seed, k.n_nodes);
                id_set_subtract(&k.in.extra, &k.placement.nodes);
                k.in.extra_pending = one_in(&seed, 2);
                if (id_set_is_empty(&k.in.extra))
                        continue; /* it has all nodes already */
                wide = k.placement.nodes;
                id_set_union(&wide, &k.in.extra);
                if (one_in(&seed, 2)) /* by the guard itself; else by the step */
                        k.binding.mems = wide;
                k.room = 0;
                assert_int_equal(run(&k).kind, STEP_WIDENED);
                assert_true(id_set_equal(&k.binding.mems, &wide));
                k.pages[id_set_next(&k.in.extra, 0)] += 4096 * next_number(&seed, 100000);
                k.reads_until_shown = 0;
                assert_int_equal(run(&k).kind, STEP_WIDENED);
                k.room = UINT64_MAX;
                forget_progress(&k);
                assert_ends_done(&k);
                assert_true(id_set_equal(&k.binding.mems, &k.placement.nodes));
        }
}

/* From a session of others to a scope of its own, whose memory is counted nowhere. */
TEST(scope_ends_bound) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 2654435789u + 13;
                Kernel k;

                init_cooperative(&k, &seed, (MemoryMode)(i % 3));
                k.binding.mems = all_nodes(k.n_nodes);
                k.in.we_narrowed = false;
                k.deaf_scope_moves = next_number(&seed, STEP_WRITES_MAX);
                k.in.outside_unit = true;
                unmark(&k); /* a pass did not see it, so it is unknown */
                assert_ends_done(&k);
                assert_true(k.in.in_scope);
        }
}

/* No room for all of it: it is not narrowed. */
TEST(scope_without_room) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 2654435789u + 17;
                Kernel k;

                init_cooperative(&k, &seed, MEMORY_BIND);
                k.binding.mems = all_nodes(k.n_nodes);
                k.in.we_narrowed = false;
                k.in.outside_unit = true;
                unmark(&k);
                k.room = really_outside(&k) / 2;
                if (k.room == 0)
                        continue;
                assert_int_equal(run(&k).kind, STEP_PARTLY);
                assert_true(id_set_equal(&k.binding.mems, &k.in.all_nodes));
        }
}

/* --- Step after step on kernels that do not apply each change: it ends all the same --- */

/* And one that does not, in one way or several. */
static void make_stubborn(Kernel *k, uint32_t *seed) {
        if (one_in(seed, 8))
                k->memory_controller = false;
        if (one_in(seed, 4))
                k->binding.alone = false;
        if (one_in(seed, 2))
                k->in.no_scope = "no";
        k->deaf_scope_moves = one_in(seed, 4) ? 100 : 0;
        if (one_in(seed, 8))
                id_set_add(&k->binding.unused_cpus, 0);
        if (one_in(seed, 4))
                k->slice_cpus = true;
        if (one_in(seed, 4))
                k->slice_mems = some_nodes(seed, k->n_nodes);
        if (one_in(seed, 4))
                k->deaf_mem_writes = 100;
        if (one_in(seed, 4))
                k->moved_percent = next_number(seed, 2);
        if (one_in(seed, 3))
                k->room = next_number(seed, 1000000000);
        if (one_in(seed, 4))
                k->lag = 1000;
        if (one_in(seed, 4))
                k->placement.migrate = MIGRATE_NONE;
        for (unsigned i = 0; i < k->n_nodes; i++)
                if (one_in(seed, 4))
                        k->pinned[i] = 4096 * next_number(seed, 100);
        id_set_intersect(&k->binding.mems, &k->slice_mems);
        if (id_set_is_empty(&k->binding.mems))
                k->binding.mems = k->slice_mems;
        show(k);
}

/* Whatever it meets, it comes to an end and does nothing dangerous on the way. */
TEST(stubborn_kernels) {
        unsigned ends[STEP_PARTLY + 1] = { 0 };

        for (uint32_t i = 0; i < 3 * SITUATIONS; i++) {
                uint32_t seed = i * 668265263u + 5;
                MemoryMode memory = (MemoryMode)(i % 3);
                Kernel k;

                init_cooperative(&k, &seed, memory);
                make_stubborn(&k, &seed);
                ends[run(&k).kind]++;
        }
        /* The generator makes what this is about. */
        assert_true(ends[STEP_DONE] > 100 && ends[STEP_REFUSE] > 100 && ends[STEP_PARTLY] > 100);
}
