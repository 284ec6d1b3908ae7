/* The step that comes next: with backends that cannot do all, and on nodes that were widened. */
#include "step-situation.h"

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
        assert_step(s, STEP_DONE, "");
        s->binding.n_threads_off_cpus = 2; /* narrower: its own choice, once it got all */
        assert_step(s, STEP_PARTLY, "fewer CPUs");
        s->in.cpus_applied = false;
        assert_step(s, STEP_SET_CPUS, "");
        s->in.cpus_applied = true;
        s->binding.n_threads_outside = 1;
        assert_step(s, STEP_SET_CPUS, "");
        s->in.cpu_writes = STEP_WRITES_MAX;
        assert_step(s, STEP_REFUSE, "cpuset cgroup");
}

BACKEND_TEST(contest_is_yielded, BACKEND_AFFINITY, MEMORY_NONE) {
        s->binding.n_threads_off_cpus = s->binding.n_threads_outside = 1;
        s->in.repairs = STEP_REPAIRS_MAX - 1;
        assert_step(s, STEP_SET_CPUS, "");
        s->in.repairs = STEP_REPAIRS_MAX;
        assert_step(s, STEP_PARTLY, "keeps changing");
        s->binding.n_threads_off_cpus = s->binding.n_threads_outside = 0;
        assert_step(s, STEP_DONE, "");
}

BACKEND_TEST(affinity_memory, BACKEND_AFFINITY, MEMORY_BIND) {
        assert_step(s, STEP_PARTLY, "treated as preferred");
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, "");
        s->in.memory_known = false; /* it shares its cgroup: every page is read */
        assert_step(s, STEP_PULL, "");
        s->in.pulled = true;
        assert_step(s, STEP_PARTLY, "treated as preferred");
        s->placement.memory = MEMORY_PREFERRED;
        assert_step(s, STEP_DONE, "");
        s->in.pulled = false;
        s->placement.migrate = MIGRATE_NONE;
        assert_step(s, STEP_PARTLY, "not counted");
        s->placement.migrate = MIGRATE_GENTLE;
        s->in.memory_known = true;
        s->in.outside_bytes = 0;
        assert_step(s, STEP_DONE, "");
        s->in.we_narrowed = true; /* by another backend, before */
        s->binding.mems = node_set("1");
        assert_step(s, STEP_DONE, "");
        s->binding.mems = node_set("0");
        assert_step(s, STEP_PARTLY, "may not use memory of its nodes");
}

BACKEND_TEST(cgroup1, BACKEND_CGROUP1, MEMORY_BIND) {
        assert_step(s, STEP_DONE, "");
        s->binding.cpuset = false; /* not in its directory */
        assert_step(s, STEP_SET_CPUS, "");
        s->in.cpu_writes = STEP_WRITES_MAX;
        assert_step(s, STEP_REFUSE, "another manager");
        init_by(s, BACKEND_CGROUP1, MEMORY_BIND);
        s->in.memory_known = false; /* narrow, and its memory is not known */
        assert_step(s, STEP_PARTLY, "its memory nodes are set");
        s->in.all_nodes = node_set("1"); /* nowhere else */
        assert_step(s, STEP_DONE, "");
        init_by(s, BACKEND_CGROUP1, MEMORY_BIND);
        s->binding.mems = node_set("0-3");
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, "");
        s->in.passes = 1;
        assert_mems(s, STEP_NARROW, "1");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_step(s, STEP_REFUSE, "cpuset.mems");
        s->in.mem_writes = 0;
        s->in.memory_known = false;
        assert_step(s, STEP_PARTLY, "only its CPUs are bound");
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
        assert_step(s, STEP_WIDENED, "nearly full");
        s->binding.mems = node_set("0-3"); /* more than that is well too */
        assert_step(s, STEP_WIDENED, "nearly full");
        s->binding.mems = node_set("1-2"); /* what it has is not taken away */
        assert_mems(s, STEP_WIDEN, "1-3");
        s->in.mem_writes = STEP_WRITES_MAX - 1;
        assert_mems(s, STEP_WIDEN, "1-3");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_step(s, STEP_PARTLY, "could not get another node");
        s->binding.mems = node_set("1,3");
        s->in.extra_pending = true;
        assert_step(s, STEP_WIDENED, "allows it more nodes");
}

/* There is no room for it: no memory is pulled, however much is outside, and no node is taken away.
 */
SITUATION_TEST(widened_moves_nothing, MEMORY_BIND) {
        s->in.extra = node_set("3");
        s->binding.mems = node_set("1,3");
        s->in.outside_bytes = 1;
        assert_step(s, STEP_WIDENED, "nearly full");
        s->in.has_room = true;
        assert_step(s, STEP_WIDENED, "nearly full");
        s->in.memory_known = false;
        assert_step(s, STEP_WIDENED, "nearly full");
        s->binding.cpus = cpu_set("4"); /* the CPUs are kept in order all the same */
        assert_step(s, STEP_SET_CPUS, "");
}

/* The way back: the pull, and then the narrowing. */
SITUATION_TEST(after_widened, MEMORY_BIND) {
        s->binding.mems = node_set("1,3");
        s->in.outside_bytes = 100;
        s->in.has_room = true;
        assert_step(s, STEP_PULL, "");
        s->in.passes = 1;
        s->in.pass_moved_bytes = 100;
        s->in.outside_bytes = 0;
        assert_mems(s, STEP_NARROW, "1");
        s->in.outside_bytes = 50;
        s->in.fits = s->in.has_room = false;
        assert_step(s, STEP_PARTLY, "does not fit");
}

/* Only a strict binding is widened. */
SITUATION_TEST(widened_is_of_bind, MEMORY_PREFERRED) {
        s->in.extra = node_set("3");
        assert_step(s, STEP_DONE, "");
        init(s, MEMORY_NONE);
        s->in.extra = node_set("3");
        assert_step(s, STEP_DONE, "");
}
