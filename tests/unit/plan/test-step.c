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
        assert_int_equal(step.code == REASON_NONE, *step.reason == '\0');
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
        assert_int_equal(step.code, REASON_NONE);
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
        s.in.cannot_code = REASON_CONTROLLER_MISSING;
        s.binding.alone = false;
        s.binding.cpuset = false;
        assert_step(&s, STEP_REFUSE, "no backend");
        s.in.can_enforce = true;
        s.in.no_scope = "because";
        s.in.no_scope_code = REASON_SHARED_UNIT;
        assert_step(&s, STEP_REFUSE, "because");
}

/* Before anything else, and only where it has no unit to itself. */
static void test_scope_comes_first(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        assert_false(step_needs_scope(&s.in));
        s.in.no_scope = "because"; /* it needs none */
        assert_step(&s, STEP_DONE, "");
        s.in.no_scope = NULL;
        s.in.outside_unit = true;
        s.binding.cpuset = false;
        assert_step(&s, STEP_SCOPE, "");
        s.in.scope_moves = STEP_WRITES_MAX - 1;
        assert_step(&s, STEP_SCOPE, "");
        s.in.scope_moves = STEP_WRITES_MAX;
        assert_step(&s, STEP_REFUSE, "did not stay there");
        s.in.no_scope = "because";
        s.in.no_scope_code = REASON_SHARED_UNIT;
        assert_step(&s, STEP_REFUSE, "because");
        s.in.outside_unit = false;
        s.in.in_scope = true;
        s.binding.alone = false; /* what is in its scope is its own */
        assert_step(&s, STEP_SET_CPUS, "");
        s.in.in_scope = false;
        s.in.no_scope = NULL;
        s.in.scope_moves = 0;
        assert_step(&s, STEP_SCOPE, "");
        for (int backend = BACKEND_CGROUP1; backend <= BACKEND_AFFINITY; backend++) {
                s.in.backend = (BackendKind)backend;
                s.in.outside_unit = true;
                assert_false(step_needs_scope(&s.in));
        }
}

/* Its memory is counted nowhere: passes of the mover say what is outside. */
static void init_scope(Situation *s, MemoryMode memory) {
        init(s, memory);
        s->in.in_scope = true;
        s->in.memory_known = false;
        s->in.fits = false;
        s->binding.mems = ids("0-3");
}

static void test_bind_in_scope(void **state) {
        Situation s;

        (void)state;
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
        assert_step(&s, STEP_PARTLY, "no room");
        s.in.passes = 1;
        s.in.pass_moved_bytes = 0;
        assert_step(&s, STEP_PARTLY, "no room");
        s.in.passes = 0; /* what passes are counted for is over; what they said is not */
        s.in.pulled = true;
        assert_mems(&s, STEP_NARROW, "1");
        s.binding.mems = ids("0");
        assert_mems(&s, STEP_WIDEN, "0-1");
        s.binding.mems = ids("0-3");
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_REFUSE, "AllowedMemoryNodes=");
        s.binding.mems = ids("1");
        assert_step(&s, STEP_DONE, "");
        s.in.pulled = false; /* a daemon that was started anew finds it narrow */
        assert_step(&s, STEP_DONE, "");
        init_scope(&s, MEMORY_BIND);
        s.in.extra = ids("2");
        assert_step(&s, STEP_WIDENED, "nearly full");
}

/* Groups that the service has made itself, and that leave it less. */
static void test_inner_groups(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.binding.inner_cpus = ids("4-5");
        s.binding.inner_mems = ids("1");
        (void)snprintf(s.binding.inner_group, sizeof(s.binding.inner_group), "/a");
        assert_step(&s, STEP_PARTLY, "below its unit");
        s.binding.n_threads_off_cpus = 2; /* which follows from it */
        assert_step(&s, STEP_PARTLY, "below its unit");
        s.binding.n_threads_off_cpus = 0;
        s.binding.inner_cpus = ids("4-7");
        assert_step(&s, STEP_DONE, "");
        s.in.outside_bytes = 100;
        s.binding.inner_cpus = ids("4-5"); /* memory that can be moved is */
        assert_step(&s, STEP_PULL, "");
        s.binding.mems = ids("0-3");
        s.binding.inner_mems = ids("0,2-3"); /* not to a node that the group does not have */
        assert_step(&s, STEP_PARTLY, "below its unit");
        s.binding.inner_mems = ids("0-1");
        assert_step(&s, STEP_PULL, "");
        s.binding.inner_mems = ids("0");
        s.placement.memory = MEMORY_NONE;
        s.binding.inner_cpus = ids("4-7");
        assert_step(&s, STEP_DONE, "");
        s.binding.cpus = ids("0-7"); /* the unit's own CPUs come first */
        assert_step(&s, STEP_SET_CPUS, "");
}

static void test_preferred_in_scope(void **state) {
        Situation s;

        (void)state;
        init_scope(&s, MEMORY_PREFERRED);
        assert_step(&s, STEP_PULL, "");
        s.in.pulled = true;
        assert_step(&s, STEP_DONE, "");
        s.in.pulled = false;
        s.in.passes = STEP_PASSES_MAX;
        assert_step(&s, STEP_PARTLY, "no room");
        for (int memory = MEMORY_PREFERRED; memory <= MEMORY_BIND; memory++) {
                init_scope(&s, (MemoryMode)memory);
                s.placement.migrate = MIGRATE_NONE;
                assert_step(&s, STEP_PARTLY, "cannot be counted");
        }
        init_scope(&s, MEMORY_NONE);
        assert_step(&s, STEP_DONE, "");
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
        s.in.pass_moved_bytes = 1;
        assert_mems(&s, STEP_NARROW, "1");
        s.in.outside_bytes = 1001; /* more than a second's worth, which narrowing might move */
        assert_step(&s, STEP_PULL, "");
        s.in.passes = STEP_PASSES_MAX;
        assert_mems(&s, STEP_NARROW, "1");
        s.in.passes = 1;
        s.in.pass_moved_bytes = 0; /* another pass would not get at it either */
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

/* migrate: kernel asks once for everything, where all of it fits. */
static void test_kernel_moves_once(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_PREFERRED);
        s.placement.migrate = MIGRATE_KERNEL;
        s.in.outside_bytes = 100;
        assert_step(&s, STEP_PULL, "");
        s.in.fits = false;
        s.in.has_room = true;
        assert_step(&s, STEP_PARTLY, "no room");
        s.in.fits = true;
        s.in.passes = 1;
        s.in.pass_found_bytes = s.in.pass_moved_bytes = 100;
        assert_step(&s, STEP_SETTLE, "");
        init(&s, MEMORY_BIND);
        s.binding.mems = ids("0-3");
        s.placement.migrate = MIGRATE_KERNEL;
        s.in.outside_bytes = 100;
        assert_step(&s, STEP_PULL, "");
        s.in.passes = 1;
        assert_mems(&s, STEP_NARROW, "1");
        s.in.fits = false;
        s.in.has_room = true;
        s.in.passes = 0;
        assert_step(&s, STEP_PARTLY, "no room for all");
}

/* Files and shared memory get one pass, and nothing waits for them. */
static void test_what_follows(void **state) {
        static const MemoryMode modes[] = { MEMORY_PREFERRED, MEMORY_BIND };

        (void)state;
        for (unsigned i = 0; i < 2; i++) {
                Situation s;

                init(&s, modes[i]);
                s.in.follows = s.in.has_room = true;
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
                assert_step(&s, STEP_DONE, "");
        }
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

/* The guard has given it another node, and says so until there is room again. */
static void test_widened(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.in.extra = ids("3");
        s.in.extra_unsaid = true;
        assert_mems(&s, STEP_WIDEN, "1,3"); /* somebody has taken it back */
        s.binding.mems = ids("1,3");
        assert_mems(&s, STEP_WIDEN, "1,3"); /* the kernel allows it, the unit does not say so yet */
        s.in.extra_unsaid = false;
        assert_step(&s, STEP_WIDENED, "nearly full");
        s.binding.mems = ids("0-3"); /* more than that is well too */
        assert_step(&s, STEP_WIDENED, "nearly full");
        s.binding.mems = ids("1-2"); /* what stands is not taken away */
        assert_mems(&s, STEP_WIDEN, "1-3");
        s.in.mem_writes = STEP_WRITES_MAX - 1;
        assert_mems(&s, STEP_WIDEN, "1-3");
        s.in.mem_writes = STEP_WRITES_MAX;
        assert_step(&s, STEP_PARTLY, "others could not be given");
        s.binding.mems = ids("1,3");
        s.in.extra_unsaid = true;
        assert_step(&s, STEP_WIDENED, "AllowedMemoryNodes= says nothing");
}

/* There is no room for it: nothing is pulled, whatever lies outside, and nothing narrowed. */
static void test_widened_moves_nothing(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.in.extra = ids("3");
        s.binding.mems = ids("1,3");
        s.in.outside_bytes = 1;
        assert_step(&s, STEP_WIDENED, "nearly full");
        s.in.has_room = true;
        assert_step(&s, STEP_WIDENED, "nearly full");
        s.in.memory_known = false;
        assert_step(&s, STEP_WIDENED, "nearly full");
        s.binding.cpus = ids("4"); /* the CPUs are kept in order all the same */
        assert_step(&s, STEP_SET_CPUS, "");
}

/* The way back: the pull, and then the narrowing. */
static void test_after_widened(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_BIND);
        s.binding.mems = ids("1,3");
        s.in.outside_bytes = 100;
        s.in.has_room = true;
        assert_step(&s, STEP_PULL, "");
        s.in.passes = 1;
        s.in.pass_moved_bytes = 100;
        s.in.outside_bytes = 0;
        assert_mems(&s, STEP_NARROW, "1");
        s.in.outside_bytes = 50;
        s.in.fits = s.in.has_room = false;
        assert_step(&s, STEP_PARTLY, "no room");
}

/* Only a strict binding is widened. */
static void test_widened_is_of_bind(void **state) {
        Situation s;

        (void)state;
        init(&s, MEMORY_PREFERRED);
        s.in.extra = ids("3");
        assert_step(&s, STEP_DONE, "");
        init(&s, MEMORY_NONE);
        s.in.extra = ids("3");
        assert_step(&s, STEP_DONE, "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_watch_goes_before_all),
                cmocka_unit_test(test_refuses),
                cmocka_unit_test(test_scope_comes_first),
                cmocka_unit_test(test_bind_in_scope),
                cmocka_unit_test(test_preferred_in_scope),
                cmocka_unit_test(test_inner_groups),
                cmocka_unit_test(test_cpus_come_first),
                cmocka_unit_test(test_memory_none),
                cmocka_unit_test(test_threads_with_cpus_of_their_own),
                cmocka_unit_test(test_unknown_memory_mode),
                cmocka_unit_test(test_preferred),
                cmocka_unit_test(test_preferred_opens_what_a_bind_narrowed),
                cmocka_unit_test(test_preferred_never_sweeps),
                cmocka_unit_test(test_bind_is_done),
                cmocka_unit_test(test_bind_narrows),
                cmocka_unit_test(test_kernel_moves_once),
                cmocka_unit_test(test_what_follows),
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
                cmocka_unit_test(test_widened),
                cmocka_unit_test(test_widened_moves_nothing),
                cmocka_unit_test(test_after_widened),
                cmocka_unit_test(test_widened_is_of_bind),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
