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
/* What is to be in force has changed then, and nobody has changed what is. */
TEST(memory_that_comes_is_no_drift) {
        Daemon d;

        begin(&d, 0, 0, REFUSED, 0);
        d.policy.place = (Place){ .count = 2, .nodes = node_set("0-1") };
        d.nodes[0].memory_bytes = 0;
        world.wanted = (Sets){ id_set("0-7"), id_set("1") };
        wait_for(&d, INSTANCE_BOUND);
        d.nodes[0].memory_bytes = 1 << 30;
        world.wanted.mems = id_set("0-1");
        world.by_others = true; /* until the next round it is taken for bound */
        passes(&d, ROUND_PASSES);
        assert_true(is_repaired(&d));
        assert_int_equal(counted(&d), 0);
        end(&d);
}

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

/* They set nothing of a scope of ours. */
TEST(drift_of_a_scope_counts_during_a_daemon_reload) {
        Daemon d;

        world_init(SCOPE, "", "", "4-7");
        world.wanted.mems = id_set("0-1");
        daemon_init(&d);
        wait_for(&d, INSTANCE_BOUND);
        d.rooms.host.units_reload_usec = world.now + SEC(100);
        for (unsigned k = 1; k <= STEP_REPAIRS_MAX; k++) {
                write_by_others("0-7", "0-1");
                passes(&d, 2);
                instance_queue(d.instance, WORK_RELOADED);
                assert_true(is_repaired(&d));
                assert_int_equal(counted(&d), k);
        }
        write_by_others("0-7", "0-1");
        assert_false(is_repaired(&d));
        assert_int_equal(reported(&d), REASON_CONTESTED);
        end(&d);
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
        fake_remove(&world.tree, "sys/fs/cgroup" SERVICE "/cpuset.cpus");
        group_write("cpuset.cpus", "4-7");
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

/* It may be the admin's, for ever: a release is to give that back. */
BOUND_TEST(read_where_it_is_not_repaired) {
        const size_t n = world.n_requests;

        d->rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
        write_by_others("0-7", "1");
        assert_false(is_repaired(d));
        assert_true(world.n_requests > n);
        assert_ptr_not_equal(world.requests[n].on_read, NULL);
}

/* A unit is bound as a whole: a process that is new in it does not excuse who has changed it. */
BOUND_TEST(drift_beside_a_new_process) {
        Process process = { .id = { .pid = pid + 1 }, .exe = strdup("/srv/a") };
        ProcHandle handle = PROC_HANDLE_NONE;

        fake_process(&world.tree, process.id.pid, 1, "/srv/a", SERVICE, "0-7");
        group_write("cgroup.procs", fmt("%d\n%d", pid, process.id.pid));
        assert_int_equal(proc_open(&world.tree.sysroot, process.id.pid, &handle), 0);
        process.id.start_ticks = handle.start_ticks;
        assert_int_equal(instance_add_process(d->instance, &process, &handle), 0);
        instance_queue(d->instance, WORK_JOINED);
        write_by_others("0-7", "1");
        assert_true(is_repaired(d));
        assert_int_equal(d->counters[0].drift_repairs[DRIFT_CPUS], 1);
}
