/* Drift: somebody else changes what is bound. It is noticed, repaired, counted and logged, and what
 * is contested is left alone for a minute. The host is the test's, and so is time. */
#include <sys/inotify.h>

#include "sequence-host.h"

#include "capture.h"

static void daemon_bound(Daemon *d) {
        begin(d, 0, 0, REFUSED, 0);
        wait_for(d, INSTANCE_BOUND);
}
#define BOUND_TEST(test) TEST_WITH(test, Daemon, d, daemon_bound, end)

static unsigned counted(const Daemon *d) {
        unsigned n = 0;

        for (DriftKind k = 0; k < N_DRIFTS; k++)
                n += (unsigned)d->counters[0].drift_repairs[k];
        return n;
}

static Reason reported(const Daemon *d) {
        return reconcile_verdict(&d->rooms.binding, d->instance).code;
}

static void passes(Daemon *d, unsigned n) {
        for (unsigned k = 0; k < n; k++)
                daemon_pass(d);
}

/* Enough to notice it, to repair it, and to see that; no round comes in between. */
enum { REPAIR_PASSES = 4 };

static bool is_repaired(Daemon *d) {
        passes(d, REPAIR_PASSES);
        return sets_equal(&world.effective, &world.wanted);
}

TEST(repaired_counted_and_logged) {
        static const struct {
                const char *cpus, *mems;
                DriftKind kind;
                const char *says;
        } rows[] = {
                { "0-7", "1", DRIFT_CPUS, "something else changed its CPUs to 0-7 instead of 4-7" },
                { "4", "1", DRIFT_CPUS, "something else changed its CPUs to 4 instead of 4-7" },
                { "4-7", "0-1", DRIFT_MEMS, "its memory nodes to 0-1 instead of 1" },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Capture c;
                Daemon d;

                daemon_bound(&d);
                assert_int_equal(counted(&d), 0); /* it was set for the first time */
                d.rooms.host.journal.max_priority = LOG_NOTICE;
                write_by_others(rows[k].cpus, rows[k].mems);
                CAPTURE_STDERR(&c, assert_true(is_repaired(&d)));
                assert_contains(c.text, rows[k].says);
                assert_int_equal(d.counters[0].drift_repairs[rows[k].kind], 1);
                assert_int_equal(counted(&d), 1);
                passes(&d, ROUND_PASSES);
                assert_int_equal(counted(&d), 1);
                end(&d);
        }
}

/* The write that repairs it has no effect, and is made again: that is no other repair. */
BOUND_TEST(a_repair_without_effect) {
        world.fault_at = world.n_calls + 3; /* after a probe of its processes and a read */
        world.fault = NO_EFFECT;
        write_by_others("0-7", "1");
        assert_false(is_repaired(d));
        assert_int_equal(counted(d), 1);
        passes(d, 20);
        assert_true(sets_equal(&world.effective, &world.wanted));
        assert_int_equal(counted(d), 1);
}

/* Three times; the fourth is left to the other one, for a minute from the last repair, and nothing
 * is looked at when that one writes. Three repairs in a row are no three writes without effect. */
BOUND_TEST(contested) {
        unsigned n_writes;
        uint64_t last_usec;

        for (unsigned k = 1; k <= STEP_REPAIRS_MAX; k++) {
                passes(d, 8);
                write_by_others("0-7", "1");
                assert_true(is_repaired(d));
                assert_int_equal(counted(d), k);
                assert_int_equal(reported(d), REASON_NONE);
        }
        last_usec = world.now;
        n_writes = world.n_writes;
        while (world.now < last_usec + SEC(50)) {
                write_by_others("0-7", "1");
                assert_false(is_repaired(d));
                assert_int_equal(reported(d), REASON_CONTESTED);
                write_by_others("0-7", "1");
                daemon_pass(d);
                assert_true(reconcile_is_settled(&d->rooms.binding));
        }
        assert_int_equal(world.n_writes, n_writes);
        passes(d, 10);
        write_by_others("0-7", "1");
        assert_true(is_repaired(d));
        assert_int_equal(counted(d), STEP_REPAIRS_MAX + 1);
        assert_int_equal(reported(d), REASON_NONE);
}

/* systemd reads its unit files, and puts in force what they set: that is nobody's contest. */
BOUND_TEST(a_daemon_reload_is_no_contest) {
        d->rooms.host.units_reload_usec = world.now + SEC(100);
        for (unsigned k = 0; k < 3 * STEP_REPAIRS_MAX; k++) {
                write_by_others("0-7", "1");
                assert_true(is_repaired(d));
        }
        assert_int_equal(counted(d), 0);
        d->rooms.host.units_reload_usec = 0;
        write_by_others("0-7", "1");
        assert_true(is_repaired(d));
        assert_int_equal(counted(d), 1);
}

/* Its signal may come after the repair, which was none then. That of long before was one. */
BOUND_TEST(the_signal_of_a_daemon_reload_comes_late) {
        for (unsigned k = 0; k < 3 * STEP_REPAIRS_MAX; k++) {
                write_by_others("0-7", "1");
                passes(d, 2);
                instance_queue(d->instance, WORK_RELOADED);
                assert_true(is_repaired(d));
        }
        for (unsigned k = 0; k < STEP_REPAIRS_MAX; k++) {
                write_by_others("0-7", "1");
                assert_true(is_repaired(d));
                instance_queue(d->instance, WORK_RELOADED);
        }
        write_by_others("0-7", "1");
        assert_false(is_repaired(d));
}

/* Its group was made anew, as by a start of the service: the watch is of the new files. */
BOUND_TEST(a_new_group_is_watched) {
        fake_remove(&world.tree, FOLDER "cpuset.cpus");
        fake_write(&world.tree, FOLDER "cpuset.cpus", "4-7\n");
        passes(d, ROUND_PASSES); /* in which it is reconciled */
        write_by_others("0-7", "1");
        assert_true(is_repaired(d));
}

/* The kernel had no room for the events: whose they were is not known. */
BOUND_TEST(events_are_lost) {
        const struct inotify_event lost = { .wd = -1, .mask = IN_Q_OVERFLOW },
                                   others = { .wd = 4711, .mask = IN_MODIFY },
                                   without = { .wd = -1, .mask = IN_MODIFY };

        kernel_change("0-7", "1");
        assert_false(is_repaired(d)); /* nothing has reported it */
        drift_note_events(&d->rooms.binding, (const char *)&others, sizeof(others), world.now);
        drift_note_events(&d->rooms.binding, (const char *)&without, sizeof(without), world.now);
        drift_note_events(&d->rooms.binding, (const char *)&lost, sizeof(lost) - 1, world.now);
        assert_false(is_repaired(d));
        drift_note_events(&d->rooms.binding, (const char *)&lost, sizeof(lost), world.now);
        assert_true(is_repaired(d));
}

/* --- by other means than a unit --- */

enum { NOTHING = N_DRIFTS };

static const struct Case {
        const char *what;
        BackendKind backend;
        BindMethod method;
        StepKind step;
        const char *cpus, *mems; /* as they are found; of CPUs 4-7 and node 1 */
        size_t n_outside;        /* threads */
        bool new_process, widened, in_reload;
        int counts; /* DriftKind */
} cases[] = {
        { "a unit", BACKEND_SYSTEMD, METHOD_UNIT, STEP_SET_CPUS, "0-31", "1",
          .counts = DRIFT_CPUS },
        { "a unit, which is bound as a whole", BACKEND_SYSTEMD, METHOD_UNIT, STEP_SET_CPUS, "0-31",
          "1", .new_process = true, .counts = DRIFT_CPUS },
        { "its unit files are read", BACKEND_SYSTEMD, METHOD_UNIT, STEP_SET_CPUS, "0-31", "1",
          .in_reload = true, .counts = NOTHING },
        { "a scope has no unit file", BACKEND_SYSTEMD, METHOD_SCOPE, STEP_SET_CPUS, "0-31", "1",
          .in_reload = true, .counts = DRIFT_CPUS },
        { "a directory", BACKEND_CGROUP1, METHOD_DIRECTORY, STEP_SET_CPUS, "0-31", "1",
          .counts = DRIFT_CPUS },
        { "a process that is not in it yet", BACKEND_CGROUP1, METHOD_DIRECTORY, STEP_SET_CPUS,
          "0-31", "1", .new_process = true, .counts = NOTHING },
        { "threads", BACKEND_AFFINITY, METHOD_AFFINITY, STEP_SET_CPUS, "4-7", "1", .n_outside = 2,
          .counts = DRIFT_THREADS },
        { "threads of a new process", BACKEND_AFFINITY, METHOD_AFFINITY, STEP_SET_CPUS, "4-7", "1",
          .n_outside = 2, .new_process = true, .counts = NOTHING },
        { "nodes", BACKEND_SYSTEMD, METHOD_UNIT, STEP_NARROW, "4-7", "0-3", .counts = DRIFT_MEMS },
        { "nodes that the guard adds", BACKEND_SYSTEMD, METHOD_UNIT, STEP_WIDEN, "4-7", "1",
          .widened = true, .counts = NOTHING },
};

static void assert_counts(const struct Case *c) {
        const BackendOps ops = { .name = "fake", .kind = c->backend };
        const Policy policy = { .name = (char *)"ours" };
        const Step step = { .kind = c->step, .mems = node_set("1"), .reason = "" };
        Process process = { .id = { 10, 100 }, .exe = strdup("/x") };
        PolicyCounters counters = { 0 };
        InstanceBinding *its;
        Instance *i;
        Rooms m;

        rooms_init(&m);
        m.host.journal.max_priority = -1;
        m.host.backend.ops = &ops;
        m.host.units_reload_usec = c->in_reload ? SEC(10) : 0;
        m.binding.policy_counters = &counters;
        i = rooms_add(&m, &policy, &process, NULL);
        its = &i->binding;
        its->means.method = c->method;
        its->placement = (Placement){
                .nodes = node_set("1"), .cpus = cpu_set("4-7"), .memory = MEMORY_BIND, .reason = ""
        };
        its->observed = (Binding){ .cpuset = true, .cpus = cpu_set("4-7"), .mems = node_set("1") };
        i->members[0].cpus_applied = true;
        drift_note(i, &(StepInput){ .placement = &its->placement,
                                    .binding = &its->observed,
                                    .backend = c->backend,
                                    .all_nodes = node_set("0-3") });
        its->observed.cpus = cpu_set(c->cpus);
        its->observed.mems = node_set(c->mems);
        its->observed.n_threads_outside = c->n_outside;
        its->guard.extra = node_set(c->widened ? "2" : "");
        i->members[0].cpus_applied = !c->new_process;
        drift_count(&m.binding, i, &step, SEC(1));
        for (int k = 0; k < N_DRIFTS; k++)
                if (counters.drift_repairs[k] != (k == c->counts))
                        fail_msg("%s: %d", c->what, k);
        rooms_free_instances(&m);
}

TEST(what_counts) {
        for (size_t k = 0; k < ELEMENTSOF(cases); k++)
                assert_counts(&cases[k]);
}
