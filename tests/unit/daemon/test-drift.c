/* Drift: what counts as a repair and what does not, how long the daemon backs off from a contested
 * binding, and that writes to a cpuset's files are noticed. Time is the test's; the files are a
 * folder's. */
#include <sys/inotify.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "capture.h"
#include "rooms.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/registry/registry.h"

#define SEC(n) ((uint64_t)(n)*1000000)

typedef struct TestHost {
        FakeTree tree;
        Args args;
        BackendOps ops;
        PolicyCounters counters[1];
        Policy policy;
        Rooms rooms;
        Instance *instance;
        StepInput in;
} TestHost;

/* On node 1 of 0-3, CPUs 4-7, as it is to be. */
static void host_init(TestHost *h, BackendKind kind, MemoryMode memory) {
        Rooms *m = &h->rooms;
        Process process = { .id = { 10, 100 }, .exe = strdup("/x") };
        Instance *i;

        *h = (TestHost){ .policy = { .name = (char *)"ours" },
                         .ops = { .name = "fake", .kind = kind } };
        fake_init(&h->tree);
        fake_write(&h->tree, "group/cpuset.cpus", "4-7\n");
        fake_write(&h->tree, "group/cpuset.mems", "1\n");
        *m = (Rooms){ .host.args = &h->args,
                      .binding.policy_counters = h->counters,
                      .host.journal = { .max_priority = LOG_INFO },
                      .host.backend = { .ops = &h->ops } };
        rooms_wire(m);
        assert_int_equal(sd_event_new(&m->host.event), 0);
        i = rooms_add(m, &h->policy, &process, NULL);
        i->members[0].cpus_applied = true;
        i->binding.placement = (Placement){
                .nodes = node_set("1"), .cpus = cpu_set("4-7"), .memory = memory, .reason = ""
        };
        i->binding.observed =
                (Binding){ .cpuset = true, .cpus = cpu_set("4-7"), .mems = node_set("1") };
        i->binding.due_usec = INSTANCE_NEVER;
        h->instance = i;
        h->in = (StepInput){ .placement = &i->binding.placement,
                             .binding = &i->binding.observed,
                             .backend = kind,
                             .all_nodes = node_set("0-3") };
}

static void host_done(TestHost *h) {
        rooms_free_instances(&h->rooms);
        drift_stop(&h->rooms.binding);
        sd_event_unref(h->rooms.host.event);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

static void host_init_unit(TestHost *h) {
        host_init(h, BACKEND_SYSTEMD, MEMORY_BIND);
}
#define UNIT_TEST(test) TEST_WITH(test, TestHost, h, host_init_unit, host_done)

static const Step set_cpus = { .kind = STEP_SET_CPUS, .reason = "" };

static Step narrow(void) {
        return (Step){ .kind = STEP_NARROW, .mems = node_set("1"), .reason = "" };
}

static uint64_t counted(const TestHost *h, DriftKind kind) {
        return h->counters[0].drift_repairs[kind];
}

static void count(TestHost *h, const Step *step, uint64_t now, const char *says) {
        Capture capture;

        CAPTURE_STDERR(&capture, drift_count(&h->rooms.binding, h->instance, step, now));
        if (*says)
                assert_contains(capture.text, says);
        else
                assert_string_equal(capture.text, "");
}

/* --- what is a repair --- */

UNIT_TEST(cpus) {
        h->instance->binding.observed.cpus = cpu_set("0-31");
        drift_note(h->instance, &h->in);
        count(h, &set_cpus, SEC(1), ""); /* it is set for the first time */
        h->instance->binding.observed.cpus = cpu_set("4-7");
        drift_note(h->instance, &h->in);
        h->instance->binding.observed.cpus = cpu_set("0-31");
        drift_note(h->instance, &h->in);
        count(h, &set_cpus, SEC(2), "x:10: something else changed its CPUs to 0-31 instead of 4-7");
        assert_int_equal(counted(h, DRIFT_CPUS), 1);
        count(h, &set_cpus, SEC(3), ""); /* it did not show yet, and is set once more */
        assert_int_equal(counted(h, DRIFT_CPUS), 1);
        assert_int_equal(counted(h, DRIFT_MEMS) + counted(h, DRIFT_THREADS), 0);
        assert_int_equal(drift_repairs(&h->instance->binding.cpus_drift, SEC(3)), 1);
        assert_int_equal(drift_repairs(&h->instance->binding.mems_drift, SEC(3)), 0);
}

/* Something else changes it while systemd reads its unit files. */
static void change_cpus(TestHost *h, uint64_t now, const char *says) {
        h->instance->binding.observed.cpus = cpu_set("4-7");
        drift_note(h->instance, &h->in);
        h->instance->binding.observed.cpus = cpu_set("0-31");
        drift_note(h->instance, &h->in);
        count(h, &set_cpus, now, says);
}

UNIT_TEST(a_daemon_reload_is_no_contest) {
        Drift *drift = &h->instance->binding.cpus_drift;

        h->instance->binding.means.method = METHOD_UNIT;
        h->rooms.host.units_reload_usec = SEC(10);
        for (unsigned i = 1; i < 10; i++)
                change_cpus(h, SEC(i), "");
        assert_int_equal(drift_repairs(drift, SEC(10)), 0);
        assert_int_equal(counted(h, DRIFT_CPUS), 0);
        change_cpus(h, SEC(10), "something else changed its CPUs");
        assert_int_equal(drift_repairs(drift, SEC(10)), 1);
        /* the signal comes after the repair */
        drift_note_reload(&h->rooms.binding, h->instance, SEC(11));
        assert_int_equal(drift_repairs(drift, SEC(11)), 0);
        assert_true(h->instance->binding.due_usec < SEC(12));
        change_cpus(h, SEC(20), "something else changed its CPUs");
        drift_note_reload(&h->rooms.binding, h->instance, SEC(23)); /* that was before it */
        assert_int_equal(drift_repairs(drift, SEC(23)), 1);
}

/* A scope, or threads, are none of a reload's business. */
UNIT_TEST(a_daemon_reload_changes_no_scope) {
        h->instance->binding.means.method = METHOD_SCOPE;
        h->rooms.host.units_reload_usec = SEC(10);
        change_cpus(h, SEC(1), "something else changed its CPUs");
        assert_int_equal(drift_repairs(&h->instance->binding.cpus_drift, SEC(2)), 1);
}

UNIT_TEST(mems) {
        const Step step = narrow();

        h->instance->binding.observed.mems = node_set("0-3");
        drift_note(h->instance, &h->in);
        count(h, &step, SEC(1), "");
        h->instance->binding.observed.mems = node_set("1");
        drift_note(h->instance, &h->in);
        h->instance->binding.observed.mems = node_set("0-2");
        count(h, &step, SEC(2), "its memory nodes to 0-2 instead of 1");
        assert_int_equal(counted(h, DRIFT_MEMS), 1);
        assert_int_equal(drift_repairs(&h->instance->binding.mems_drift, SEC(3)), 1);
        assert_int_equal(drift_repairs(&h->instance->binding.cpus_drift, SEC(3)), 0);
}

/* Nodes that the guard opens, and closes again, are not drift. */
UNIT_TEST(guard_is_no_drift) {
        const Step step = narrow();

        drift_note(h->instance, &h->in);
        h->instance->binding.guard.extra = node_set("2");
        count(h, &step, SEC(1), "");
        h->instance->binding.guard.extra = node_set("");
        h->instance->binding.observed.mems = node_set("1-2");
        drift_note(h->instance, &h->in);
        count(h, &step, SEC(2), "");
        assert_int_equal(counted(h, DRIFT_MEMS), 0);
}

TEST(threads) {
        _cleanup_host_ TestHost h;

        host_init(&h, BACKEND_AFFINITY, MEMORY_NONE);
        drift_note(h.instance, &h.in);
        h.instance->binding.observed.n_threads = 9;
        h.instance->binding.observed.n_threads_outside = 2;
        count(&h, &set_cpus, SEC(1), "2 of its 9 threads run outside CPUs 4-7");
        assert_int_equal(counted(&h, DRIFT_THREADS), 1);
        assert_int_equal(counted(&h, DRIFT_CPUS), 0);
}

/* Where each process is bound for itself; a unit is bound as a whole. */
TEST(new_process_is_no_drift) {
        static const BackendKind kinds[] = { BACKEND_AFFINITY, BACKEND_CGROUP1, BACKEND_SYSTEMD };

        for (size_t k = 0; k < ELEMENTSOF(kinds); k++) {
                const bool counts = kinds[k] == BACKEND_SYSTEMD;
                _cleanup_host_ TestHost h;

                host_init(&h, kinds[k], MEMORY_NONE);
                drift_note(h.instance, &h.in);
                h.instance->members[0].cpus_applied = false;
                h.instance->binding.observed.cpus = cpu_set("0-31");
                count(&h, &set_cpus, SEC(1), counts ? "its CPUs to 0-31" : "");
                assert_int_equal(counted(&h, DRIFT_CPUS), counts ? 1 : 0);
                assert_int_equal(counted(&h, DRIFT_THREADS), 0);
        }
}

/* --- contested bindings --- */

UNIT_TEST(a_minute_from_the_last) {
        Drift *drift = &h->instance->binding.cpus_drift;

        for (unsigned i = 0; i < STEP_REPAIRS_MAX; i++) {
                assert_int_equal(drift_repairs(drift, SEC(100 + 10 * i)), i);
                drift_note(h->instance, &h->in);
                count(h, &set_cpus, SEC(100 + 10 * i), "restored");
        }
        assert_int_equal(drift_repairs(drift, SEC(120)), STEP_REPAIRS_MAX);
        assert_int_equal(drift_repairs(drift, SEC(179)), STEP_REPAIRS_MAX);
        assert_int_equal(drift_repairs(drift, SEC(180)), 0);
        drift_note(h->instance, &h->in);
        count(h, &set_cpus, SEC(180), "restored"); /* a new minute */
        assert_int_equal(drift_repairs(drift, SEC(181)), 1);
}

/* Three repairs in a row are no three writes without effect. */
UNIT_TEST(writes_that_had_effect) {
        const Step step = narrow();

        h->in.cpu_writes = h->in.mem_writes = 2;
        h->instance->binding.progress = (Progress){ .cpu_writes = 2, .mem_writes = 2 };
        h->instance->binding.observed.cpus = cpu_set("0-31");
        drift_note(h->instance, &h->in);
        assert_int_equal(h->in.cpu_writes, 2);
        assert_int_equal(h->instance->binding.progress.cpu_writes, 2);
        assert_int_equal(h->in.mem_writes, 0);
        assert_int_equal(h->instance->binding.progress.mem_writes, 0);
        h->instance->binding.observed.cpus = cpu_set("4-7");
        drift_note(h->instance, &h->in);
        assert_int_equal(h->in.cpu_writes, 0);
        assert_int_equal(h->instance->binding.progress.cpu_writes, 0);
        count(h, &step, SEC(1), "restored");
        h->instance->binding.observed.mems = node_set("0-3"); /* this one has none */
        h->instance->binding.progress.mem_writes = h->in.mem_writes = 1;
        drift_note(h->instance, &h->in);
        assert_int_equal(h->in.mem_writes, 1);
}

/* --- noticing --- */

static void watch(TestHost *h) {
        _cleanup_close_ int fd = openat(h->tree.fd, "group", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        drift_watch(&h->rooms.binding, h->instance, fd);
}

static void run_loop(TestHost *h) {
        while (sd_event_run(h->rooms.host.event, 0) > 0)
                ;
}

static void write_in_place(TestHost *h, const char *path) {
        _cleanup_close_ int fd = openat(h->tree.fd, path, O_WRONLY | O_CLOEXEC);

        assert_int_equal(write(fd, "0-31", 4), 4);
}

TEST(writes_are_noticed) {
        static const char *const files[] = { "group/cpuset.cpus", "group/cpuset.mems" };

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_host_ TestHost h;

                host_init(&h, BACKEND_SYSTEMD, MEMORY_BIND);
                drift_start(&h.rooms.binding);
                watch(&h);
                watch(&h); /* each time it is observed */
                run_loop(&h);
                assert_true(h.instance->binding.due_usec == INSTANCE_NEVER);
                write_in_place(&h, files[i]);
                run_loop(&h);
                assert_true(h.instance->binding.due_usec != INSTANCE_NEVER);
        }
}

/* The service started again: the watches follow it to its new group. */
UNIT_TEST(new_group) {
        int before[2];

        drift_start(&h->rooms.binding);
        watch(h);
        memcpy(before, h->instance->binding.drift_watches, sizeof(before));
        assert_int_equal(unlinkat(h->tree.fd, "group/cpuset.cpus", 0), 0);
        run_loop(h);
        assert_int_equal(h->instance->binding.drift_watches[0], -1);
        assert_int_equal(h->instance->binding.drift_watches[1], before[1]);
        fake_write(&h->tree, "group/cpuset.cpus", "4-7\n");
        watch(h);
        assert_int_not_equal(h->instance->binding.drift_watches[0], -1);
        write_in_place(h, "group/cpuset.cpus");
        run_loop(h);
        assert_true(h->instance->binding.due_usec != INSTANCE_NEVER);
}

static void event(TestHost *h, int watch, uint32_t mask, uint64_t now) {
        const struct inotify_event e = { .wd = watch, .mask = mask };

        drift_note_events(&h->rooms.binding, (const char *)&e, sizeof(e), now);
}

UNIT_TEST(who_is_looked_at) {
        Instance *i = h->instance;

        i->binding.drift_watches[1] = 5;
        event(h, 4, IN_MODIFY, SEC(1));
        event(h, -1, IN_MODIFY, SEC(1)); /* not that of one without a watch */
        assert_true(i->binding.due_usec == INSTANCE_NEVER);
        event(h, 5, IN_MODIFY, SEC(1));
        assert_true(i->binding.due_usec > SEC(1) && i->binding.due_usec < SEC(2));
        i->binding.due_usec = SEC(1); /* what is due is not put off by a storm of writes */
        event(h, 5, IN_MODIFY, SEC(1));
        assert_true(i->binding.due_usec == SEC(1));
        i->binding.due_usec = INSTANCE_NEVER;
        i->binding.state = INSTANCE_MOVING; /* the pass goes on */
        event(h, 5, IN_MODIFY, SEC(1));
        assert_true(i->binding.due_usec == INSTANCE_NEVER);
        i->binding.state = INSTANCE_BOUND;
        i->binding.mems_drift = (Drift){ .n_repairs = STEP_REPAIRS_MAX, .end_usec = SEC(60) };
        event(h, 5, IN_MODIFY, SEC(2)); /* looked at once more, or it would still count as bound */
        assert_true(i->binding.due_usec != INSTANCE_NEVER);
        i->binding.due_usec = INSTANCE_NEVER;
        i->binding.step.code = REASON_CONTESTED;
        event(h, 5, IN_MODIFY, SEC(2)); /* left to the other one */
        assert_true(i->binding.due_usec == INSTANCE_NEVER);
        event(h, 5, IN_MODIFY, SEC(60));
        assert_true(i->binding.due_usec != INSTANCE_NEVER);
        i->binding.due_usec = INSTANCE_NEVER;
        event(h, -1, IN_Q_OVERFLOW, SEC(61)); /* it may have been ours */
        assert_true(i->binding.due_usec != INSTANCE_NEVER);
        drift_note_events(&h->rooms.binding, "short", 5, SEC(62)); /* half an event is none */
}
