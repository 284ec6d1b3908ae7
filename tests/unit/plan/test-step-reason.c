/* Each problem has the right code, memory nodes that another program changes again and again are
 * left to it, and step_mems_in_force() is true while they are as the daemon set them. */
#include "step-situation.h"

/* Bound to node 1 of 0-3 by its CPUs; all nodes are open. */
static void init_open(Situation *s, BackendKind backend, MemoryMode memory) {
        init(s, memory);
        s->in.backend = backend;
        s->in.cpus_applied = true;
        s->binding.mems = node_set("0-3");
}

#define OPEN_TEST(test, backend, memory)                                                           \
        TEST_AFTER(test, Situation, s, init_open(s, backend, memory), test_no_done)

static void assert_code(const Situation *s, StepKind kind, Reason code) {
        const Step step = step_next(&s->in);

        assert_int_equal(step.kind, kind);
        assert_string_equal(reason_to_string(step.code), reason_to_string(code));
}

OPEN_TEST(no_place, BACKEND_SYSTEMD, MEMORY_BIND) {
        s->placement.nodes = node_set("");
        assert_code(s, STEP_WATCH, REASON_NONE);
        s->placement.reason = "too few";
        assert_code(s, STEP_WATCH, REASON_NO_PLACE);
}

OPEN_TEST(refusals, BACKEND_SYSTEMD, MEMORY_BIND) {
        s->binding.alone = false;
        s->in.no_scope = "no";
        s->in.no_scope_code = REASON_NO_UNIT;
        assert_code(s, STEP_REFUSE, REASON_NO_UNIT);
        s->in.no_scope = NULL;
        assert_code(s, STEP_SCOPE, REASON_NONE);
        s->in.scope_moves = STEP_WRITES_MAX;
        assert_code(s, STEP_REFUSE, REASON_CONTESTED);
        s->in.can_enforce = false;
        s->in.cannot = "no";
        s->in.cannot_code = REASON_OWN_LIMITS;
        assert_code(s, STEP_REFUSE, REASON_OWN_LIMITS);
        init_open(s, BACKEND_SYSTEMD, MEMORY_BIND);
        s->in.memory_known = false;
        assert_code(s, STEP_REFUSE, REASON_MEMORY_UNREADABLE);
        s->placement.memory = (MemoryMode)77;
        assert_code(s, STEP_REFUSE, REASON_OTHER);
}

/* In a scope what it had before is not counted: what passes find is all that is known. */
OPEN_TEST(scope, BACKEND_SYSTEMD, MEMORY_BIND) {
        s->in.in_scope = true;
        s->in.memory_known = s->in.fits = false;
        s->placement.migrate = MIGRATE_NONE;
        assert_code(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE);
        s->placement.migrate = MIGRATE_GENTLE;
        assert_code(s, STEP_PULL, REASON_NONE);
        s->in.passes = STEP_PASSES_MAX;
        assert_code(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.pass_whole = true;
        assert_code(s, STEP_PARTLY, REASON_PINNED_PAGES);
        s->in.pulled = true;
        assert_code(s, STEP_NARROW, REASON_NONE);
}

OPEN_TEST(inner_group, BACKEND_SYSTEMD, MEMORY_BIND) {
        s->binding.mems = node_set("1");
        assert_code(s, STEP_DONE, REASON_NONE);
        (void)strcpy(s->binding.inner_group, "/a");
        s->binding.inner_cpus = cpu_set("4");
        s->binding.inner_mems = node_set("0");
        assert_code(s, STEP_PARTLY, REASON_INNER_GROUP);
}

/* What was written has no effect. */
TEST(too_tight) {
        static const BackendKind kinds[] = { BACKEND_SYSTEMD, BACKEND_CGROUP1, BACKEND_AFFINITY };
        Situation s;

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                init_open(&s, kinds[i], MEMORY_BIND);
                s.binding.cpus = cpu_set("4");
                s.binding.n_threads_outside = 1;
                s.in.cpu_writes = STEP_WRITES_MAX;
                assert_code(&s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT);
        }
        for (size_t i = 0; i < 2; i++) {
                init_open(&s, kinds[i], MEMORY_BIND);
                s.in.mem_writes = STEP_WRITES_MAX;
                assert_code(&s, STEP_REFUSE, REASON_SLICE_TOO_TIGHT);
                s.in.extra = node_set("2");
                s.binding.mems = node_set("1");
                assert_code(&s, STEP_PARTLY, REASON_NODE_FULL);
        }
        init_open(&s, BACKEND_SYSTEMD, MEMORY_PREFERRED);
        s.binding.mems = node_set("0");
        assert_code(&s, STEP_PARTLY, REASON_SLICE_TOO_TIGHT);
        s.in.we_narrowed = true;
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_code(&s, STEP_PARTLY, REASON_SLICE_TOO_TIGHT);
}

OPEN_TEST(memory, BACKEND_SYSTEMD, MEMORY_PREFERRED) {
        s->in.outside_bytes = 5000;
        s->in.passes = STEP_PASSES_MAX;
        s->in.settles = STEP_SETTLES_MAX;
        assert_code(s, STEP_PARTLY, REASON_PINNED_PAGES);
        s->in.fits = false;
        assert_code(s, STEP_PARTLY, REASON_NO_ROOM);
        s->in.passes = 0;
        assert_code(s, STEP_PARTLY, REASON_NO_ROOM);
        s->placement.memory = MEMORY_BIND;
        assert_code(s, STEP_PARTLY, REASON_NO_ROOM);
        s->placement.memory = MEMORY_PREFERRED;
        s->placement.migrate = MIGRATE_NONE;
        assert_code(s, STEP_PARTLY, REASON_NOT_MOVED);
        init_open(s, BACKEND_CGROUP1, MEMORY_PREFERRED);
        s->in.memory_known = false;
        assert_code(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE);
        s->placement.memory = MEMORY_BIND;
        assert_code(s, STEP_PARTLY, REASON_MEMORY_UNREADABLE);
        init_open(s, BACKEND_AFFINITY, MEMORY_BIND);
        assert_code(s, STEP_PARTLY, REASON_NOT_STRICT);
        init_open(s, BACKEND_SYSTEMD, MEMORY_BIND);
        s->in.extra = node_set("2");
        s->binding.mems = node_set("1-2");
        assert_code(s, STEP_WIDENED, REASON_NODE_FULL);
        s->in.extra_pending = true;
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_code(s, STEP_WIDENED, REASON_NODE_FULL);
}

OPEN_TEST(own_cpus, BACKEND_SYSTEMD, MEMORY_NONE) {
        s->binding.n_threads_off_cpus = 1;
        assert_code(s, STEP_PARTLY, REASON_OWN_CPUS);
        s->in.start = START_SCRIPT;
        assert_code(s, STEP_PARTLY, REASON_OWN_CPUS);
        s->in.start = START_AFFINITY;
        assert_code(s, STEP_PARTLY, REASON_UNIT_AFFINITY);
        s->in.start = START_NUMA;
        assert_code(s, STEP_PARTLY, REASON_UNIT_AFFINITY);
        s->in.start = START_NUMACTL;
        assert_code(s, STEP_PARTLY, REASON_START_AFFINITY);
        s->in.start = START_TASKSET;
        assert_code(s, STEP_PARTLY, REASON_START_AFFINITY);
        s->binding.n_threads_off_cpus = 0;
        assert_code(s, STEP_DONE, REASON_NONE);
}

/* Like CPUs, contested memory nodes are left alone; a value that is in place is not contested. */
OPEN_TEST(contest, BACKEND_SYSTEMD, MEMORY_BIND) {
        s->in.mem_repairs = STEP_REPAIRS_MAX - 1;
        assert_code(s, STEP_NARROW, REASON_NONE);
        s->in.mem_repairs++;
        assert_code(s, STEP_PARTLY, REASON_CONTESTED);
        s->binding.mems = node_set("0");
        assert_code(s, STEP_PARTLY, REASON_CONTESTED); /* nor are they widened first */
        s->binding.mems = node_set("1");
        assert_code(s, STEP_DONE, REASON_NONE);
        s->in.extra = node_set("2"); /* the guard is not hindered by it */
        assert_code(s, STEP_WIDEN, REASON_NONE);
        init_open(s, BACKEND_CGROUP1, MEMORY_PREFERRED);
        s->binding.mems = node_set("0-2");
        s->in.mem_repairs = STEP_REPAIRS_MAX;
        assert_code(s, STEP_PARTLY, REASON_CONTESTED);
        s->binding.cpus = cpu_set("4");
        s->in.repairs = STEP_REPAIRS_MAX;
        assert_code(s, STEP_PARTLY, REASON_CONTESTED);
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
