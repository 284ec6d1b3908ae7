/* The step that comes next: what a binding waits for, and what is left of it. */
#include "step-situation.h"

SITUATION_TEST(bind_is_done, MEMORY_BIND) {
        assert_step(s, STEP_DONE, "");
        s->in.mem_writes = STEP_WRITES_MAX;
        s->in.fits = false;
        assert_step(s, STEP_DONE, "");
}

/* Narrow already, and not by us: older memory may still be anywhere. */
SITUATION_TEST(bind_is_done_when_uncounted_memory_was_looked_at, MEMORY_BIND) {
        s->in.memory_known = false;
        assert_step(s, STEP_PULL, "");
        s->in.pulled = true;
        assert_step(s, STEP_DONE, "");
        s->in.pulled = false;
        s->in.all_nodes = node_set("1"); /* nowhere else */
        assert_step(s, STEP_DONE, "");
        init(s, MEMORY_BIND);
        s->in.memory_known = false;
        s->placement.migrate = MIGRATE_NONE;
        assert_step(s, STEP_PARTLY, "not moved");
}

/* What narrowing would move all at once is moved gently before. */
SITUATION_TEST(bind_pulls_files_that_narrowing_would_take_along, MEMORY_BIND) {
        s->binding.mems = node_set("0-1");
        assert_mems(s, STEP_NARROW, "1");
        s->in.files_follow = true;
        assert_step(s, STEP_PULL, "");
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
        assert_step(s, STEP_PULL, "");
        s->in.passes = 1;
        s->in.pass_moved_bytes = 1;
        assert_mems(s, STEP_NARROW, "1");
        s->in.outside_bytes = 1001; /* more than a second's worth, which narrowing might move */
        assert_step(s, STEP_PULL, "");
        s->in.passes = STEP_PASSES_MAX;
        assert_mems(s, STEP_NARROW, "1");
        s->in.passes = 1;
        s->in.pass_moved_bytes = 0; /* another pass would not get at it either */
        assert_mems(s, STEP_NARROW, "1");
        s->in.fits = false;
        assert_step(s, STEP_PARTLY, "does not fit");
        s->in.passes = 0;
        assert_step(s, STEP_PARTLY, "does not fit");
        s->in.fits = true;
        s->placement.migrate = MIGRATE_NONE; /* nothing is pulled */
        assert_mems(s, STEP_NARROW, "1");
        s->in.mem_writes = STEP_WRITES_MAX - 1;
        assert_mems(s, STEP_NARROW, "1");
        s->in.mem_writes = STEP_WRITES_MAX;
        assert_step(s, STEP_REFUSE, "AllowedMemoryNodes=");
}

/* migrate: kernel asks once for everything, where all of it fits. */
SITUATION_TEST(kernel_moves_once, MEMORY_PREFERRED) {
        s->placement.migrate = MIGRATE_KERNEL;
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, "");
        s->in.fits = false;
        s->in.has_room = true;
        assert_step(s, STEP_PARTLY, "does not fit");
        s->in.fits = true;
        s->in.passes = 1;
        s->in.pass_found_bytes = s->in.pass_moved_bytes = 100;
        assert_step(s, STEP_SETTLE, "");
        init(s, MEMORY_BIND);
        s->binding.mems = node_set("0-3");
        s->placement.migrate = MIGRATE_KERNEL;
        s->in.outside_bytes = 100;
        assert_step(s, STEP_PULL, "");
        s->in.passes = 1;
        assert_mems(s, STEP_NARROW, "1");
        s->in.fits = false;
        s->in.has_room = true;
        s->in.passes = 0;
        assert_step(s, STEP_PARTLY, "does not fit on its nodes");
}

/* Files and shared memory get one pass, and nothing waits for them. */
TEST(what_follows) {
        static const MemoryMode modes[] = { MEMORY_PREFERRED, MEMORY_BIND };

        for (unsigned i = 0; i < 2; i++) {
                Situation s;

                init(&s, modes[i]);
                s.in.file_pull_wanted = s.in.has_room = true;
                assert_step(&s, STEP_PULL, "");
                s.in.passes = 1;
                assert_step(&s, STEP_DONE, "");
                s.in.passes = 0;
                s.in.has_room = false;
                assert_step(&s, STEP_DONE, "");
                s.in.has_room = true;
                s.placement.migrate = MIGRATE_NONE;
                assert_step(&s, STEP_DONE, "");
                s.placement.migrate = MIGRATE_KERNEL;
                assert_step(&s, STEP_DONE, "");
                s.placement.migrate = MIGRATE_GENTLE;
                s.in.memory_known = false;
                s.in.pulled = true;
                assert_step(&s, STEP_DONE, "");
        }
}

/* What does not fit as a whole is pulled as far as there is room, and never narrowed. */
SITUATION_TEST(bind_with_room_for_a_part, MEMORY_BIND) {
        s->binding.mems = node_set("0-3");
        s->in.outside_bytes = 100;
        s->in.fits = false;
        s->in.has_room = true;
        assert_step(s, STEP_PULL, "");
        s->in.passes = 1;
        assert_step(s, STEP_PARTLY, "does not fit on its nodes");
        s->in.pass_moved_bytes = 1;
        assert_step(s, STEP_PULL, "");
        s->in.passes = STEP_PASSES_MAX;
        assert_step(s, STEP_PARTLY, "does not fit on its nodes");
        s->in.passes = 0;
        s->placement.migrate = MIGRATE_NONE;
        assert_step(s, STEP_PARTLY, "does not fit on its nodes");
}

/* cpuset.mems.effective never holds a node without memory: waiting for it would never end. */
SITUATION_TEST(node_without_memory, MEMORY_BIND) {
        s->in.all_nodes = node_set("0-2"); /* 3 has none */
        s->placement.nodes = node_set("1,3");
        assert_step(s, STEP_DONE, "");
        s->binding.mems = node_set("0-2");
        assert_mems(s, STEP_NARROW, "1");
        s->binding.mems = node_set("0");
        assert_mems(s, STEP_WIDEN, "0-1");
        init(s, MEMORY_PREFERRED);
        s->in.all_nodes = s->binding.mems = node_set("0-2");
        s->placement.nodes = node_set("1,3");
        assert_step(s, STEP_DONE, "");
        s->in.we_narrowed = true;
        assert_step(s, STEP_DONE, "");
}

SITUATION_TEST(bind_wants_to_know_the_memory, MEMORY_BIND) {
        s->binding.mems = node_set("0-3");
        s->in.memory_known = false;
        assert_step(s, STEP_REFUSE, "is not counted");
        s->binding.mems = node_set("0");
        assert_step(s, STEP_REFUSE, "is not counted");
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
        assert_step(s, STEP_REFUSE, "AllowedMemoryNodes=");
}

/* Narrow, and pages are still outside. */
static void narrow_with_rest(Situation *s) {
        init(s, MEMORY_BIND);
        s->in.outside_bytes = 1000;
        s->in.mem_writes = STEP_WRITES_MAX; /* nothing more is to be written */
}

#define REST_TEST(test) TEST_WITH(test, Situation, s, narrow_with_rest, test_no_done)

REST_TEST(rest_is_pulled) {
        assert_step(s, STEP_PULL, "");
        s->in.fits = false;
        assert_step(s, STEP_PARTLY, "does not fit on its nodes");
        s->in.has_room = true; /* a part is better than nothing */
        assert_step(s, STEP_PULL, "");
        s->in.fits = true;
        s->in.passes = STEP_PASSES_MAX - 1;
        s->in.pass_moved_bytes = 1;
        assert_step(s, STEP_PULL, "");
        s->placement.migrate = MIGRATE_NONE;
        assert_step(s, STEP_PARTLY, "migrate: none");
}

REST_TEST(rest_settles) {
        s->in.passes = STEP_PASSES_MAX;
        s->in.pass_moved_bytes = 1;
        assert_step(s, STEP_SETTLE, "");
        s->in.passes = 1;
        s->in.pass_moved_bytes = 0; /* no pass will find more */
        assert_step(s, STEP_SETTLE, "");
        s->in.settles = STEP_SETTLES_MAX - 1;
        assert_step(s, STEP_SETTLE, "");
        s->in.fits = false; /* nothing is moved now: room is of no matter */
        assert_step(s, STEP_SETTLE, "");
        s->in.passes = 0; /* a pass that was never made proves nothing */
        s->in.fits = true;
        assert_step(s, STEP_PULL, "");
}

REST_TEST(rest_is_swept) {
        s->in.passes = 1;
        s->in.settles = STEP_SETTLES_MAX;
        assert_step(s, STEP_SWEEP, ""); /* exactly a second's worth */
        s->in.outside_bytes = 1001;
        assert_step(s, STEP_PARTLY, "did not move some");
        s->in.outside_bytes = 1000;
        s->in.sweeps = STEP_SWEEPS_MAX - 1;
        assert_step(s, STEP_SWEEP, "");
        s->in.fits = false;
        assert_step(s, STEP_PARTLY, "does not fit on its nodes");
        s->in.fits = true;
        s->in.sweeps = STEP_SWEEPS_MAX;
        assert_step(s, STEP_PARTLY, "did not move some");
}

/* A touch of a reserved page that only other nodes have would end it: everything but the narrowing
 * is done. */
SITUATION_TEST(bind_waits_for_the_pools_of_its_nodes, MEMORY_BIND) {
        s->binding.mems = node_set("0-3");
        s->in.huge_short = true;
        s->in.outside_bytes = 5000;
        assert_step(s, STEP_PULL, "");
        s->in.outside_bytes = 0;
        assert_step(s, STEP_PARTLY, "reserved huge pages");
        assert_int_equal(step_next(&s->in).code, REASON_HUGE_POOL);
        s->in.backend = BACKEND_CGROUP1;
        assert_step(s, STEP_PARTLY, "reserved huge pages");
        s->in.in_scope = s->in.pulled = true;
        s->in.backend = BACKEND_SYSTEMD;
        assert_step(s, STEP_PARTLY, "reserved huge pages");
        s->in.in_scope = s->in.pulled = false;
        s->in.huge_short = false;
        s->in.huge_awaited = true;
        assert_step(s, STEP_SETTLE, "");
        s->in.huge_awaited = false;
        assert_mems(s, STEP_NARROW, "1");
        s->in.huge_short = true; /* narrow already: the guard's matter */
        s->binding.mems = node_set("1");
        assert_step(s, STEP_DONE, "");
}

SITUATION_TEST(bind_stays_widened_for_the_pools, MEMORY_BIND) {
        s->binding.mems = s->in.extra = node_set("1-2");
        assert_step(s, STEP_WIDENED, "nearly full");
        s->in.extra_for_pool = true;
        assert_step(s, STEP_WIDENED, "huge pages");
        assert_int_equal(step_next(&s->in).code, REASON_HUGE_POOL);
        s->in.extra_pending = true;
        assert_mems(s, STEP_WIDEN, "1-2");
}
