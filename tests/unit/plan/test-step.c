/* The next step, branch by branch. A situation begins as one in which everything stands and is
 * changed where the case differs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/id-sets.h"
#include "tidbnumad/plan/step.h"

typedef struct Situation {
        Placement placement;
        Binding binding;
        StepInput in;
} Situation;

/* Bound to node 1 of 0-3, with nothing outside. */
static void init(Situation *s, MemoryMode memory) {
        *s = (Situation){
                .placement = { .nodes = ids("1"),
                               .cpus = ids("4-7"),
                               .memory = memory,
                               .rate_bytes_per_sec = 1000,
                               .reason = "" },
                .binding = { .cpuset = true,
                             .cpus = ids("4-7"),
                             .mems = ids(memory == MEMORY_BIND ? "1" : "0-3"),
                             .n_threads = 10,
                             .alone = true },
        };
        s->in = (StepInput){
                .placement = &s->placement,
                .binding = &s->binding,
                .all_nodes = ids("0-3"),
                .can_enforce = true,
                .memory_known = true,
                .fits = true,
        };
}

static void assert_step(const Situation *s, StepKind kind, const char *in_reason) {
        Step step = step_next(&s->in);

        assert_int_equal(step.kind, kind);
        assert_non_null(step.reason);
        if (*in_reason == '\0')
                assert_string_equal(step.reason, "");
        else if (!strstr(step.reason, in_reason))
                fail_msg("'%s' does not say '%s'", step.reason, in_reason);
}

static void assert_mems(const Situation *s, StepKind kind, const char *mems) {
        Step step = step_next(&s->in);

        assert_int_equal(step.kind, kind);
        assert_ids(step.mems, mems);
        assert_string_equal(step.reason, "");
}

static void test_watch_goes_before_all(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.placement.nodes = ids("");
        s.placement.reason = "no nodes";
        s.in.can_enforce = false;
        s.binding.alone = false;
        assert_step(&s, STEP_WATCH, "no nodes");
}

static void test_refuses(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.in.can_enforce = false;
        s.in.cannot = "no backend";
        s.binding.alone = false;
        s.binding.cpuset = false;
        assert_step(&s, STEP_REFUSE, "no backend");
        s.in.can_enforce = true;
        assert_step(&s, STEP_REFUSE, "share its unit");
}

static void test_cpus_come_first(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.binding.mems = ids("0-3");
        s.in.outside_bytes = 100;
        s.in.passes = 1;
        s.binding.cpus = ids("4-6");
        assert_step(&s, STEP_SET_CPUS, "");
        s.binding.cpus = ids("4-8");
        assert_step(&s, STEP_SET_CPUS, "");
        s.binding.cpus = ids("4-7");
        s.binding.cpuset = false; /* the same CPUs by chance, nothing holds them */
        assert_step(&s, STEP_SET_CPUS, "");
        s.in.cpu_writes = STEP_WRITES_MAX - 1;
        assert_step(&s, STEP_SET_CPUS, "");
        s.in.cpu_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_REFUSE, "AllowedCPUs=");
        s.binding.cpuset = true; /* they stand: how often they were written is of no matter */
        assert_step(&s, STEP_NARROW, "");
}

static void test_memory_none(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_NONE);
        s.in.outside_bytes = 100;
        s.in.memory_known = false;
        s.in.fits = false;
        assert_step(&s, STEP_DONE, "");
        s.in.we_narrowed = true; /* an earlier policy of bind is not left behind */
        assert_step(&s, STEP_DONE, "");
        s.binding.mems = ids("1");
        assert_mems(&s, STEP_WIDEN, "0-3");
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_PARTLY, "could not be opened");
}

static void test_threads_with_cpus_of_their_own(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.binding.n_threads_off_cpus = 1;
        assert_step(&s, STEP_PARTLY, "CPUs of their own");
        /* They do not keep the memory from coming over. */
        s.in.outside_bytes = 100;
        assert_step(&s, STEP_PULL, "");
        init(&s, MEMORY_NONE);
        s.binding.n_threads_off_cpus = 1;
        assert_step(&s, STEP_PARTLY, "CPUs of their own");
}

static void test_unknown_memory_mode(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.placement.memory = (MemoryMode)77;
        assert_step(&s, STEP_REFUSE, "unknown");
}

static void test_preferred(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_PREFERRED);
        assert_step(&s, STEP_DONE, "");
        s.in.outside_bytes = 100;
        assert_step(&s, STEP_PULL, "");
        s.in.memory_known = false;
        assert_step(&s, STEP_DONE, "");
}

static void test_preferred_opens_what_a_bind_narrowed(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_PREFERRED);
        s.binding.mems = ids("0");
        /* The admin's, not ours to touch; and pages cannot be moved to where it may not be. */
        assert_step(&s, STEP_PARTLY, "may not use memory of its nodes");
        s.in.outside_bytes = 100;
        assert_step(&s, STEP_PARTLY, "may not use memory of its nodes");
        s.binding.mems = ids("0-1");
        assert_step(&s, STEP_PULL, "");
        s.in.outside_bytes = 0;
        assert_step(&s, STEP_DONE, "");
        s.in.we_narrowed = true;
        assert_mems(&s, STEP_WIDEN, "0-3");
        s.in.mem_writes = STEP_WRITES_MAX - 1;
        assert_mems(&s, STEP_WIDEN, "0-3");
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_PARTLY, "could not be opened");
        s.binding.mems = ids("0-3");
        assert_step(&s, STEP_DONE, "");
}

static void test_preferred_never_sweeps(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_PREFERRED);
        s.in.outside_bytes = 100;
        s.in.passes = 1;
        s.in.settles = STEP_SETTLES_MAX;
        assert_step(&s, STEP_PARTLY, "did not move all");
}

static void test_bind_is_done(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        assert_step(&s, STEP_DONE, "");
        s.in.memory_known = false; /* narrow already: nothing can be outside any more */
        assert_step(&s, STEP_DONE, "");
        s.in.mem_writes = STEP_WRITES_MAX;
        s.in.fits = false;
        assert_step(&s, STEP_DONE, "");
}

static void test_bind_narrows(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.binding.mems = ids("0-3");
        assert_mems(&s, STEP_NARROW, "1"); /* nothing outside: at once */
        s.in.outside_bytes = 100;
        assert_step(&s, STEP_PULL, "");
        s.in.passes = 1;
        assert_mems(&s, STEP_NARROW, "1");
        s.in.fits = false;
        assert_step(&s, STEP_PARTLY, "no room");
        s.in.passes = 0;
        assert_step(&s, STEP_PARTLY, "no room");
        s.in.fits = true;
        s.placement.migrate = MIGRATE_NONE; /* nothing is pulled */
        assert_mems(&s, STEP_NARROW, "1");
        s.in.mem_writes = STEP_WRITES_MAX - 1;
        assert_mems(&s, STEP_NARROW, "1");
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_REFUSE, "AllowedMemoryNodes=");
}

/* What does not fit as a whole is pulled as far as there is room, and never narrowed. */
static void test_bind_with_room_for_a_part(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.binding.mems = ids("0-3");
        s.in.outside_bytes = 100;
        s.in.fits = false;
        s.in.has_room = true;
        assert_step(&s, STEP_PULL, "");
        s.in.passes = 1;
        assert_step(&s, STEP_PARTLY, "no room for all");
        s.in.pass_moved_bytes = 1;
        assert_step(&s, STEP_PULL, "");
        s.in.passes = STEP_PASSES_MAX;
        assert_step(&s, STEP_PARTLY, "no room for all");
        s.in.passes = 0;
        s.placement.migrate = MIGRATE_NONE;
        assert_step(&s, STEP_PARTLY, "no room for all");
}

/* cpuset.mems.effective never holds a node without memory: waiting for it would never end. */
static void test_node_without_memory(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.in.all_nodes = ids("0-2"); /* 3 has none */
        s.placement.nodes = ids("1,3");
        assert_step(&s, STEP_DONE, "");
        s.binding.mems = ids("0-2");
        assert_mems(&s, STEP_NARROW, "1");
        s.binding.mems = ids("0");
        assert_mems(&s, STEP_WIDEN, "0-1");
        init(&s, MEMORY_PREFERRED);
        s.in.all_nodes = s.binding.mems = ids("0-2");
        s.placement.nodes = ids("1,3");
        assert_step(&s, STEP_DONE, "");
        s.in.we_narrowed = true;
        assert_step(&s, STEP_DONE, "");
}

static void test_bind_wants_to_know_the_memory(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.binding.mems = ids("0-3");
        s.in.memory_known = false;
        assert_step(&s, STEP_REFUSE, "cannot be read");
        s.binding.mems = ids("0");
        assert_step(&s, STEP_REFUSE, "cannot be read");
}

static void test_bind_widens_first(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.binding.mems = ids("0,2");
        s.in.outside_bytes = 100;
        assert_mems(&s, STEP_WIDEN, "0-2");
        s.in.passes = 1; /* made before it was moved here */
        assert_mems(&s, STEP_WIDEN, "0-2");
        s.in.fits = false;
        assert_mems(&s, STEP_WIDEN, "0-2"); /* wider is never wrong */
        /* A part of its nodes is not enough. */
        s.in.fits = true;
        s.placement.nodes = ids("1-2");
        s.binding.mems = ids("2-3");
        assert_mems(&s, STEP_WIDEN, "1-3");
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_REFUSE, "AllowedMemoryNodes=");
}

/* Narrow, and pages are still outside. */
static void narrow_with_rest(Situation *s) {
        init(s, MEMORY_BIND);
        s->in.outside_bytes = 1000;
        s->in.mem_writes = STEP_WRITES_MAX; /* nothing more is to be written */
}

static void test_rest_is_pulled(void **state) {
        Situation s;

        (void)state;
        narrow_with_rest(&s);
        assert_step(&s, STEP_PULL, "");
        s.in.fits = false;
        assert_step(&s, STEP_PARTLY, "no room for all");
        s.in.has_room = true; /* a part is better than nothing */
        assert_step(&s, STEP_PULL, "");
        s.in.fits = true;
        s.in.passes = STEP_PASSES_MAX - 1;
        s.in.pass_moved_bytes = 1;
        assert_step(&s, STEP_PULL, "");
        s.placement.migrate = MIGRATE_NONE;
        assert_step(&s, STEP_PARTLY, "migrate: none");
}

static void test_rest_settles(void **state) {
        Situation s;

        (void)state;
        narrow_with_rest(&s);
        s.in.passes = STEP_PASSES_MAX;
        s.in.pass_moved_bytes = 1;
        assert_step(&s, STEP_SETTLE, "");
        s.in.passes = 1;
        s.in.pass_moved_bytes = 0; /* no pass will find more */
        assert_step(&s, STEP_SETTLE, "");
        s.in.settles = STEP_SETTLES_MAX - 1;
        assert_step(&s, STEP_SETTLE, "");
        s.in.fits = false; /* nothing is moved now: room is of no matter */
        assert_step(&s, STEP_SETTLE, "");
        s.in.passes = 0; /* a pass that was never made tells nothing */
        s.in.fits = true;
        assert_step(&s, STEP_PULL, "");
}

static void test_rest_is_swept(void **state) {
        Situation s;

        (void)state;
        narrow_with_rest(&s);
        s.in.passes = 1;
        s.in.settles = STEP_SETTLES_MAX;
        assert_step(&s, STEP_SWEEP, ""); /* exactly a second's worth */
        s.in.outside_bytes = 1001;
        assert_step(&s, STEP_PARTLY, "did not move all");
        s.in.outside_bytes = 1000;
        s.in.sweeps = STEP_SWEEPS_MAX - 1;
        assert_step(&s, STEP_SWEEP, "");
        s.in.fits = false;
        assert_step(&s, STEP_PARTLY, "no room for all");
        s.in.fits = true;
        s.in.sweeps = STEP_SWEEPS_MAX;
        assert_step(&s, STEP_PARTLY, "did not move all");
}

/* As bound by a backend that acts on processes: neighbours in the unit do not matter. */
static void init_by(Situation *s, BackendKind backend, MemoryMode memory) {
        init(s, memory);
        s->in.backend = backend;
        s->in.cpus_given = true;
        s->binding.alone = false;
        if (backend == BACKEND_AFFINITY) {
                s->binding.cpuset = false;
                s->binding.cpus = s->binding.mems = ids("0-3");
        }
}

static void test_affinity_cpus(void **state) {
        Situation s;

        (void)state;
        init_by(&s, BACKEND_AFFINITY, MEMORY_NONE);
        assert_step(&s, STEP_DONE, "");
        s.binding.n_threads_off_cpus = 2; /* narrower: its own choice, once it got all */
        assert_step(&s, STEP_PARTLY, "of their own choice");
        s.in.cpus_given = false;
        assert_step(&s, STEP_SET_CPUS, "");
        s.in.cpus_given = true;
        s.binding.n_threads_outside = 1;
        assert_step(&s, STEP_SET_CPUS, "");
        s.in.cpu_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_REFUSE, "cpuset cgroup");
}

static void test_contest_is_yielded(void **state) {
        Situation s;

        (void)state;
        init_by(&s, BACKEND_AFFINITY, MEMORY_NONE);
        s.binding.n_threads_off_cpus = s.binding.n_threads_outside = 1;
        s.in.repairs = STEP_REPAIRS_MAX - 1;
        assert_step(&s, STEP_SET_CPUS, "");
        s.in.repairs = STEP_REPAIRS_MAX;
        assert_step(&s, STEP_PARTLY, "again and again");
        s.binding.n_threads_off_cpus = s.binding.n_threads_outside = 0;
        assert_step(&s, STEP_DONE, "");
}

static void test_affinity_memory(void **state) {
        Situation s;

        (void)state;
        init_by(&s, BACKEND_AFFINITY, MEMORY_BIND);
        assert_step(&s, STEP_PARTLY, "carried out as preferred");
        s.in.outside_bytes = 100;
        assert_step(&s, STEP_PULL, "");
        s.in.memory_known = false;
        assert_step(&s, STEP_PARTLY, "CPUs only");
        s.placement.memory = MEMORY_PREFERRED;
        assert_step(&s, STEP_PARTLY, "CPUs only");
        s.in.memory_known = true;
        s.in.outside_bytes = 0;
        assert_step(&s, STEP_DONE, "");
        s.in.we_narrowed = true; /* by another backend, before */
        s.binding.mems = ids("1");
        assert_step(&s, STEP_DONE, "");
        s.binding.mems = ids("0");
        assert_step(&s, STEP_PARTLY, "may not use memory of its nodes");
}

static void test_cgroup1(void **state) {
        Situation s;

        (void)state;
        init_by(&s, BACKEND_CGROUP1, MEMORY_BIND);
        assert_step(&s, STEP_DONE, "");
        s.binding.cpuset = false; /* not in its directory */
        assert_step(&s, STEP_SET_CPUS, "");
        s.in.cpu_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_REFUSE, "another manager");
        init_by(&s, BACKEND_CGROUP1, MEMORY_BIND);
        s.binding.mems = ids("0-3");
        s.in.outside_bytes = 100;
        assert_step(&s, STEP_PULL, "");
        s.in.passes = 1;
        assert_mems(&s, STEP_NARROW, "1");
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_REFUSE, "cpuset.mems");
        s.in.mem_writes = 0;
        s.in.memory_known = false;
        assert_step(&s, STEP_PARTLY, "CPUs only");
        /* The directory is ours alone: narrow, it is narrow by us. */
        s.binding.mems = ids("2");
        assert_mems(&s, STEP_WIDEN, "0-3");
        s.placement.memory = MEMORY_NONE;
        assert_mems(&s, STEP_WIDEN, "0-3");
}

static void test_begins_blind(void **state) {
        Situation s;

        (void)state;
        init_by(&s, BACKEND_CGROUP1, MEMORY_BIND);
        assert_false(step_begins_blind(&s.in));
        s.in.cpus_given = false;
        assert_true(step_begins_blind(&s.in));
        s.in.backend = BACKEND_AFFINITY;
        assert_true(step_begins_blind(&s.in));
        s.in.can_enforce = false;
        assert_false(step_begins_blind(&s.in));
        s.in.can_enforce = true;
        s.placement.nodes = ids("");
        assert_false(step_begins_blind(&s.in));
        s.placement.nodes = ids("1");
        s.in.backend = BACKEND_SYSTEMD; /* its answer takes longer than the reading */
        assert_false(step_begins_blind(&s.in));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_watch_goes_before_all),
                cmocka_unit_test(test_refuses),
                cmocka_unit_test(test_cpus_come_first),
                cmocka_unit_test(test_memory_none),
                cmocka_unit_test(test_threads_with_cpus_of_their_own),
                cmocka_unit_test(test_unknown_memory_mode),
                cmocka_unit_test(test_preferred),
                cmocka_unit_test(test_preferred_opens_what_a_bind_narrowed),
                cmocka_unit_test(test_preferred_never_sweeps),
                cmocka_unit_test(test_bind_is_done),
                cmocka_unit_test(test_bind_narrows),
                cmocka_unit_test(test_bind_with_room_for_a_part),
                cmocka_unit_test(test_node_without_memory),
                cmocka_unit_test(test_bind_wants_to_know_the_memory),
                cmocka_unit_test(test_bind_widens_first),
                cmocka_unit_test(test_rest_is_pulled),
                cmocka_unit_test(test_rest_settles),
                cmocka_unit_test(test_rest_is_swept),
                cmocka_unit_test(test_affinity_cpus),
                cmocka_unit_test(test_contest_is_yielded),
                cmocka_unit_test(test_affinity_memory),
                cmocka_unit_test(test_cgroup1),
                cmocka_unit_test(test_begins_blind),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
