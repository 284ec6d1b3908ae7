/* Moving in slices: turns, passes, pace, what is logged, and migration by the kernel. */
#include <math.h>

#include "guard-host.h"

#define UNIT "sys/fs/cgroup/system.slice/10.service/"

/* Where the memory is, in MiB; what a step of the mover brings home of it, and how it ends. */
static struct {
        uint64_t mib[NODES];
        uint64_t own, shared, found_bytes, failed;
        int answer;
        unsigned n_steps_of[3]; /* from process 10 on */
        bool alone;
        const char *bound_before; /* a service that must have its CPUs at each step */
        char steps[256];          /* the processes, and the calls of migrate_pages(2) */
} mover;

static void note_step(const char *text) {
        const size_t n = strlen(mover.steps);

        (void)snprintf(mover.steps + n, sizeof(mover.steps) - n, "%s%s", n > 0 ? " " : "", text);
}

static int on_move(const ProcHandle *handle, const WorkerMove *move, MoverCounters *counters,
                   uint64_t *ret_bytes) {
        char cpus[ID_SET_LIST_MAX];

        if (mover.bound_before) {
                assert_true(path_read(kernel.tree.fd, cpus, sizeof(cpus),
                                      "sys/fs/cgroup/system.slice/%s/cpuset.cpus.effective",
                                      mover.bound_before) >= 0);
                assert_string_equal(cpus, "1");
        }
        note_step(fmt("%d", handle->pid));
        if (handle->pid < 13)
                mover.n_steps_of[handle->pid - 10]++;
        mover.alone = move->alone;
        counters->found_bytes += mover.found_bytes + MIB(mover.own);
        counters->moved_bytes += MIB(mover.own);
        counters->shared_moved_bytes += MIB(mover.shared);
        counters->failed_pages += mover.failed;
        *ret_bytes = MIB(mover.own + mover.shared);
        if (mover.own > 0) {
                mover.mib[0] -= mover.own < mover.mib[0] ? mover.own : mover.mib[0];
                kernel_hold("10.service", mover.mib);
        }
        return mover.answer;
}

int __wrap_worker_migrate(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to);
int __wrap_worker_migrate(_unused_ Workers *workers, const ProcHandle *handle, uint32_t from,
                          uint32_t to) {
        note_step(fmt("%d:%u-%u", handle->pid, from, to));
        set_memory(to, 950 - (unsigned)mover.mib[from], 0);
        mover.mib[to] += mover.mib[from];
        mover.mib[from] = 0;
        kernel_hold("10.service", mover.mib);
        return 0;
}

static void hold(uint64_t node_0, uint64_t node_1, uint64_t node_2, uint64_t node_3) {
        memcpy(mover.mib, (uint64_t[]){ node_0, node_1, node_2, node_3 }, sizeof(mover.mib));
        kernel_hold("10.service", mover.mib);
}

/* On node 0, besides little at home. */
static void hold_bytes(uint64_t anon, uint64_t mapped) {
        fake_write(&kernel.tree, UNIT "memory.numa_stat",
                   fmt("anon N0=%ju N1=5\nfile N0=0 N1=0\nshmem N0=0 N1=0\n"
                       "file_mapped N0=%ju N1=7\n",
                       (uintmax_t)anon, (uintmax_t)mapped));
}

static void mover_init(TestHost *h) {
        host_init(h);
        h->rate_bytes_per_sec = MIB(64);
        memset(&mover, 0, sizeof(mover));
        kernel.on_move = on_move;
        mover.answer = 1;
        started(10, ALL_NODES);
        hold(100, 0, 0, 0);
}
#define MOVER_TEST(test) TEST_WITH(test, TestHost, h, mover_init, host_done)

static void reconcile_after(TestHost *h, uint64_t usec) {
        kernel.now += usec;
        reconcile_due(&h->rooms.binding, kernel.now);
}

static void wait_for_a_step(TestHost *h) {
        const unsigned n = kernel.n_moves;

        reconcile_due(&h->rooms.binding, kernel.now);
        for (unsigned k = 0; k < 10 && kernel.n_moves == n; k++)
                reconcile_after(h, SEC(1) / 10);
        assert_int_equal(kernel.n_moves, n + 1);
}

/* The first step on the way to node 1 has been made. */
static Instance *moves(TestHost *h, pid_t pid) {
        Instance *i;

        if (pid > 10) {
                started(pid, ALL_NODES);
                kernel_hold(fmt("%d.service", pid), (uint64_t[NODES]){ 100 });
        }
        i = noticed(h, pid, "1", MEMORY_PREFERRED);
        wait_for_a_step(h);
        return i;
}

/* The last part of what is logged, at most once in it. */
static void assert_once(const char *text, const char *part) {
        assert_contains(text, part);
        assert_null(strstr(strstr(text, part) + 1, part));
}

/* --- turns --- */

/* A binding goes before all moves, however long these have been due; of the moves one slice. */
MOVER_TEST(bindings_go_first) {
        (void)moves(h, 10);
        (void)moves(h, 11);
        reconcile_after(h, 2);
        reconcile_after(h, 2);
        started(12, ALL_NODES);
        (void)noticed(h, 12, "1", MEMORY_PREFERRED);
        reconcile_after(h, SEC(1)); /* its means */
        mover.steps[0] = '\0';
        mover.bound_before = "12.service";
        reconcile_after(h, SEC(1));
        assert_int_equal(strlen(mover.steps), 2);
}

MOVER_TEST(moves_take_turns) {
        unsigned before[3];

        for (unsigned k = 0; k < 3; k++)
                (void)moves(h, 10 + (pid_t)k);
        reconcile_after(h, 2); /* those that were due since the others came */
        memcpy(before, mover.n_steps_of, sizeof(before));
        for (unsigned n = 0; n < 300; n++) {
                const unsigned steps = kernel.n_moves;

                reconcile_after(h, 2);
                assert_int_equal(kernel.n_moves, steps + 1); /* a slice is one piece */
        }
        for (unsigned k = 0; k < 3; k++)
                assert_int_equal(mover.n_steps_of[k] - before[k], 100);
}

/* Another process joins its unit; it was started long ago. */
static void joins(TestHost *h, Instance *i, pid_t pid) {
        Process process = { .id = { .pid = pid }, .exe = strdup("/x") };
        ProcHandle handle = PROC_HANDLE_NONE;
        char unit[64];

        (void)snprintf(unit, sizeof(unit), "/system.slice/%d.service",
                       i->members[0].process.id.pid);
        fake_process(&kernel.tree, pid, 1, "/x", unit, ALL_NODES);
        assert_int_equal(proc_open(&kernel.tree.sysroot, pid, &handle), 0);
        process.id.start_ticks = handle.start_ticks;
        assert_int_equal(instance_add_process(i, &process, &handle), 0);
        assert_int_equal(
                registry_enter(&h->rooms.registry, i, &i->members[facts_find(&i->facts, pid)]), 0);
        binding_work(&h->rooms.binding, i, instance_take(i, WORK_DISPATCHED), kernel.now);
}

/* A process of it ends, or another one joins: the pass goes on with those that there are, but for
 * those that were started since it began. */
MOVER_TEST(who_leaves_does_not_end_a_pass) {
        Instance *i = moves(h, 10);

        fake_write(&kernel.tree, UNIT "cgroup.procs", "10\n11\n");
        joins(h, i, 11);
        assert_state(h, i, INSTANCE_MOVING, REASON_NONE);
        mover.answer = 0;
        reconcile_after(h, 2);
        mover.answer = 1;
        reconcile_after(h, 2);
        assert_string_equal(mover.steps, "10 10 11");
        fake_write(&kernel.tree, UNIT "cgroup.procs", "10\n");
        registry_remove_process(&h->rooms.registry, i, 1);
        binding_work(&h->rooms.binding, i, instance_take(i, WORK_DISPATCHED), kernel.now);
        assert_state(h, i, INSTANCE_MOVING, REASON_NONE);
        reconcile_after(h, 2);
        assert_state(h, i, INSTANCE_SETTLING, REASON_NONE);
        assert_string_equal(mover.steps, "10 10 11");
}

/* The members before the one that is walked are others then: nothing of it is left out. */
MOVER_TEST(who_is_walked_stays_so_when_others_come_and_go) {
        Instance *i = moves(h, 20);

        joins(h, i, 21);
        joins(h, i, 22);
        mover.answer = 0;
        reconcile_after(h, 2);
        mover.answer = 1;
        reconcile_after(h, 2);
        registry_remove_process(&h->rooms.registry, i, 0);
        binding_work(&h->rooms.binding, i, instance_take(i, WORK_DISPATCHED), kernel.now);
        reconcile_after(h, 2);
        joins(h, i, 15); /* pids begin again */
        reconcile_after(h, 2);
        assert_string_equal(mover.steps, "20 20 21 21 21");
}

MOVER_TEST(who_was_started_since_a_pass_began_is_not_in_it) {
        Process second = { .id = { .pid = 11, .start_ticks = UINT64_MAX }, .exe = strdup("/x") };
        ProcHandle handle = PROC_HANDLE_NONE;
        Instance *i = moves(h, 10);

        fake_process(&kernel.tree, 11, 10, "/x", "/system.slice/10.service", ALL_NODES);
        assert_int_equal(proc_open(&kernel.tree.sysroot, 11, &handle), 0);
        assert_int_equal(instance_add_process(i, &second, &handle), 0);
        binding_work(&h->rooms.binding, i, WORK_JOINED, kernel.now);
        mover.answer = 0;
        reconcile_after(h, 2);
        assert_state(h, i, INSTANCE_SETTLING, REASON_NONE);
        assert_string_equal(mover.steps, "10 10");
}

/* Whatever is queued is done once: who wakes, begins from the beginning or not, and who does not
 * count as bound any more. Its memory is pinned, so that a pass is made from the beginning only. */
TEST(work_is_done_by_its_reason) {
        static const struct {
                const char *what;
                uint32_t work;
                bool wakes, begins, forgets_all, first;
        } rows[] = {
                { "joined", WORK_JOINED, true, true, false, true },
                { "left", WORK_LEFT, true, true },
                { "policy", WORK_POLICY, true, true },
                { "admin", WORK_ADMIN, true, true },
                { "request", WORK_REQUEST, true, true },
                { "record", WORK_RECORD, true, true, true },
                { "place", WORK_PLACE, true },
                { "renamed", WORK_RENAMED },
                { "storage", WORK_STORAGE },
                { "reloaded", WORK_RELOADED, true },
                { "place and record", WORK_PLACE | WORK_RECORD, true, true, true },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Binder *b;
                Instance *i;
                TestHost h;

                mover_init(&h);
                b = &h.rooms.binding;
                mover.answer = 0;
                i = moves(&h, 10);
                seconds(&h, 10);
                assert_state(&h, i, INSTANCE_PARTLY, REASON_PINNED_PAGES);
                assert_true(reconcile_is_settled(b));
                kernel.n_moves = 0;
                instance_queue(i, rows[k].work);
                binding_work(b, i, instance_take(i, WORK_DISPATCHED), kernel.now);
                if (reconcile_is_settled(b) == rows[k].wakes)
                        fail_msg("%s: settled", rows[k].what);
                assert_int_equal(reported(&h, i).state,
                                 rows[k].forgets_all ? INSTANCE_WAITING : INSTANCE_PARTLY);
                reconcile_first(b, kernel.now); /* decides a pass, whose first step comes next */
                assert_int_equal(reported(&h, i).state == INSTANCE_MOVING, rows[k].first);
                reconcile_due(b, kernel.now);
                if ((kernel.n_moves > 0) != rows[k].begins)
                        fail_msg("%s: %u steps", rows[k].what, kernel.n_moves);
                host_done(&h);
        }
}

/* --- a pass --- */

MOVER_TEST(pending_goes_down) {
        Instance *i;

        h->rate_bytes_per_sec = MIB(100000);
        mover.own = 2;
        mover.shared = 1;
        i = moves(h, 10);
        assert_int_equal(published(h, i).pending_bytes, MIB(98));
        assert_int_equal(published(h, i).migrated_bytes, MIB(3));
        reconcile_after(h, SEC(1));
        assert_int_equal(published(h, i).pending_bytes, MIB(96));
        assert_int_equal(published(h, i).migrated_bytes, MIB(6));
        mover.own = 200; /* there was more than the last sample knew */
        reconcile_after(h, SEC(1));
        assert_int_equal(published(h, i).pending_bytes, 0);
}

/* What an instance has counted is its policy's as well, and stays when it ends. */
MOVER_TEST(counted_for_the_policy) {
        Instance *i;

        mover.own = 2;
        mover.failed = 3;
        mover.answer = 0;
        i = moves(h, 10);
        reconcile_after(h, SEC(1)); /* another pass */
        assert_int_equal(published(h, i).migrated_bytes, MIB(4));
        assert_int_equal(published(h, i).failed_pages, 6);
        registry_remove_process(&h->rooms.registry, i, 0);
        rooms_free_instance(registry_take_ended(&h->rooms.registry));
        assert_int_equal(h->counters[0].migrated_bytes, MIB(4));
        assert_int_equal(h->counters[0].failed_pages, 6);
}

static uint64_t moved_within(TestHost *h, const Instance *i, uint64_t usec) {
        const uint64_t before = published(h, i).migrated_bytes, end = kernel.now + usec;

        while (kernel.now < end)
                reconcile_after(h, 1000);
        return published(h, i).migrated_bytes - before;
}

/* How a process that executes other programs all the time, or has ended, is left alone. */
TEST(another_program) {
        static const struct {
                int answer;
                unsigned least, most;
        } rows[] = { { -ESTALE, 3, 20 }, { -ESRCH, 1, 1 } };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Instance *i;
                TestHost h;

                mover_init(&h);
                mover.answer = rows[k].answer;
                i = moves(&h, 10);
                for (unsigned n = 0; n < 100; n++)
                        reconcile_after(&h, 2);
                assert_in_range(kernel.n_moves, rows[k].least, rows[k].most);
                assert_int_equal(reported(&h, i).state, INSTANCE_SETTLING);
                host_done(&h);
        }
}

/* What others map too stays after a pass, and is no reason for the next one. */
MOVER_TEST(what_a_pass_left) {
        static const struct {
                unsigned mapped, left; /* MiB */
                bool moved;
        } rows[] = {
                { 415, 415, false }, { 417, 400, true }, { 100, 100, false }, /* the counters lag */
                { 115, 115, false }, { 117, 117, true }, { 132, 132, false },
        };

        hold_bytes(0, MIB(1000));
        mover.answer = 0;
        (void)moves(h, 10);
        hold_bytes(0, MIB(400));
        seconds(h, 1);
        assert_int_equal(kernel.n_moves, 1);
        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                hold_bytes(0, MIB(rows[k].mapped));
                kernel.now += SEC(61); /* no pass is made soon after a final step */
                kernel.n_moves = 0;
                reconcile_all(&h->rooms.binding, kernel.now);
                reconcile_after(h, 2);
                hold_bytes(0, MIB(rows[k].left));
                reconcile_round(h);
                if (kernel.n_moves != rows[k].moved)
                        fail_msg("%u MiB: %u steps", rows[k].mapped, kernel.n_moves);
        }
}

/* Linux before 5.16 shows for ever what a CPU has not reported: not where a whole pass has found
 * nothing outside, as far as the CPUs can have kept so much. What could not be read is not whole.
 */
TEST(what_only_the_counters_show) {
        enum { KEPT = 33 * 4096 };
        static const struct {
                uint64_t bytes, found_bytes;
                int answer;
                bool bound;
        } rows[] = {
                { KEPT, 0, 0, true },        { KEPT, 0, -ESRCH, true },
                { KEPT, 0, -EACCES, false }, { KEPT, 0, -EHOSTDOWN, false },
                { KEPT, 4096, 0, false },    { MIB(2), 0, 0, false },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Instance *i;
                TestHost h;

                mover_init(&h);
                hold_bytes(rows[k].bytes, 0);
                mover.found_bytes = rows[k].found_bytes;
                mover.answer = rows[k].answer;
                i = moves(&h, 10);
                seconds(&h, 10);
                if ((reported(&h, i).state == INSTANCE_BOUND) != rows[k].bound)
                        fail_msg("row %zu: %s", k, instance_state_to_string(reported(&h, i).state));
                assert_int_equal(published(&h, i).pending_bytes, rows[k].bound ? 0 : rows[k].bytes);
                host_done(&h);
        }
}

/* --- pace --- */

/* The one that is paid for is what was moved: 64 MiB a second, a piece at a time. */
MOVER_TEST(rate) {
        Instance *i;

        mover.own = 2;
        i = moves(h, 10);
        assert_in_range(moved_within(h, i, SEC(1)), MIB(60), MIB(76));
}

static void set_pressure(uint64_t memory_usec, uint64_t cpu_usec) {
        fake_write(
                &kernel.tree, UNIT "memory.pressure",
                fmt("some avg10=10.00 avg60=0.00 avg300=0.00 total=%ju\n", (uintmax_t)memory_usec));
        fake_write(&kernel.tree, UNIT "cpu.pressure",
                   fmt("some avg10=0.00 avg60=0.00 avg300=0.00 total=%ju\n", (uintmax_t)cpu_usec));
}

MOVER_TEST(pace) {
        Instance *i;

        set_pressure(500, 700);
        i = moves(h, 10);
        assert_int_equal(published(h, i).migration_bytes_per_sec, MIB(64));
        assert_true(fabs(published(h, i).migration_left_seconds - 100.0 / 64) < 0.01);
        set_pressure(100500, 40700); /* as usual, and within the margin */
        reconcile_after(h, PACE_WINDOW_USEC);
        assert_int_equal(published(h, i).migration_bytes_per_sec, MIB(64));
        set_pressure(500500, 40700);
        reconcile_after(h, PACE_WINDOW_USEC / 2); /* not a whole window yet */
        assert_int_equal(published(h, i).migration_bytes_per_sec, MIB(64));
        reconcile_after(h, PACE_WINDOW_USEC / 2);
        assert_int_equal(published(h, i).migration_bytes_per_sec, MIB(32));
        mover.own = 1;
        assert_in_range(moved_within(h, i, SEC(1) * 9 / 10), MIB(28), MIB(34));
        fake_remove(&kernel.tree, UNIT "memory.pressure");
        reconcile_after(h, 2 * PACE_WINDOW_USEC); /* no counter changes any more: as before */
        assert_int_equal(published(h, i).migration_bytes_per_sec, MIB(32));
        hold(0, 100, 0, 0);
        mover.answer = 0;
        seconds(h, 3);
        assert_state(h, i, INSTANCE_BOUND, REASON_NONE);
        assert_int_equal(published(h, i).migration_bytes_per_sec, 0);
        assert_true(isnan(published(h, i).migration_left_seconds));
}

/* A group that holds others too says nothing of the instance. */
MOVER_TEST(pressure_of_others) {
        Instance *i;

        fake_process(&kernel.tree, 99, 1, "/y", "/system.slice/10.service", ALL_NODES);
        fake_write(&kernel.tree, UNIT "cgroup.procs", "10\n99\n");
        set_pressure(0, 0);
        i = moves(h, 10);
        set_pressure(PACE_WINDOW_USEC, PACE_WINDOW_USEC);
        reconcile_after(h, PACE_WINDOW_USEC);
        assert_int_equal(published(h, i).migration_bytes_per_sec, MIB(64));
        assert_false(mover.alone);
}

MOVER_TEST(time_left_by_what_was_reached) {
        Instance *i;

        mover.own = 20;
        i = moves(h, 10);
        mover.own = 0;
        kernel.now += SEC(2); /* 10 MiB a second */
        assert_true(fabs(published(h, i).migration_left_seconds - 8) < 0.01);
}

/* --- what is logged --- */

/* At the start and at the end, with what the process has freed itself; little is not. */
TEST(logged_at_start_and_end) {
        static const struct {
                unsigned begun, passes, freed, shared;
                const char *start, *end;
        } rows[] = {
                { 100, 3, 0, 0, "moving 100.0 MiB to node 1, gently\n",
                  ": of 100.0 MiB on other nodes, tidbnumad moved 6.0 MiB within " },
                { 100, 3, 94, 0, "moving 100.0 MiB to node 1, gently\n",
                  "; the process freed, or the kernel itself moved, the other 94.0 MiB\n" },
                { 100, 3, 94, 40, "moving 100.0 MiB to node 1, gently\n",
                  "of 126.0 MiB on other nodes, tidbnumad moved 126.0 MiB within " },
                { 15, 3, 0, 0, NULL, NULL },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                TestHost h;
                Capture c;

                mover_init(&h);
                h.rooms.host.journal.max_priority = LOG_INFO;
                hold(rows[k].begun, 0, 0, 0);
                mover.own = 2;
                mover.shared = rows[k].shared;
                mover.answer = 0;
                capture_begin(&c, STDERR_FILENO);
                (void)moves(&h, 10);
                while (kernel.n_moves < rows[k].passes)
                        wait_for_a_step(&h);
                mover.own = mover.shared = 0; /* what is left is pinned */
                hold(mover.mib[0] - rows[k].freed, 0, 0, 0);
                seconds(&h, 10);
                capture_end(&c);
                if (rows[k].start) {
                        assert_once(c.text, rows[k].start);
                        assert_once(c.text, rows[k].end);
                        assert_once(c.text, ", tidbnumad moved "); /* not in two messages */
                        assert_int_equal(!strstr(c.text, "94.0 MiB are on other nodes now\n"),
                                         rows[k].freed > 0);
                } else {
                        assert_null(strstr(c.text, "moving"));
                        assert_null(strstr(c.text, "moved"));
                }
                host_done(&h);
        }
}

/* A pause and its end are true of what is published next, before any reconcile. */
MOVER_TEST(pause_shows_at_once) {
        Instance *i = moves(h, 10);

        h->rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
        binding_work(&h->rooms.binding, i, WORK_REQUEST, kernel.now);
        assert_int_equal(reported(h, i).state, INSTANCE_PLANNED);
        reconcile_after(h, 2);
        assert_state(h, i, INSTANCE_PLANNED, REASON_OBSERVE);
        assert_contains(reported(h, i).reason, "would move 100.0 MiB");
        h->rooms.host.policies.mode = ENFORCEMENT_ENFORCE;
        binding_work(&h->rooms.binding, i, WORK_REQUEST, kernel.now);
        assert_state(h, i, INSTANCE_WAITING, REASON_NONE);
        assert_string_equal(reported(h, i).reason, "");
}

/* --- the kernel's own way --- */

/* One call, and others have their turns; what a fork shares is left by the calls. What they have
 * moved is counted when it shows. */
MOVER_TEST(moved_by_the_kernel) {
        Instance *i;

        h->migrate = MIGRATE_KERNEL;
        hold(500, 500, 0, 400); /* 500 are at home */
        set_memory(1, 950, 0);
        mover.answer = 0;
        i = noticed(h, 10, "1-2", MEMORY_PREFERRED);
        while (mover.steps[0] == '\0')
                reconcile_after(h, SEC(1) / 10);
        assert_string_equal(mover.steps, "10:0-1"); /* most room */
        assert_int_equal(reported(h, i).state, INSTANCE_MOVING);
        reconcile_after(h, 2);
        assert_string_equal(mover.steps, "10:0-1 10:3-2"); /* 1 is full by then */
        seconds(h, 5);
        assert_string_equal(mover.steps, "10:0-1 10:3-2 10");
        assert_true(mover.alone);
        assert_state(h, i, INSTANCE_BOUND, REASON_NONE);
        assert_int_equal(published(h, i).migrated_bytes, MIB(900));
        observe(h);
        assert_int_equal(published(h, i).migrated_bytes, MIB(900));
}

/* Without counts of memory by node the kernel cannot be asked for a move from node to node: the
 * mover reads every page. What fits as a whole may fit on no single node. */
TEST(the_kernel_is_not_asked) {
        static const struct {
                bool uncounted;
                unsigned free_mib;
                const char *steps;
                InstanceState state;
        } rows[] = { { true, 800, "10", INSTANCE_BOUND }, { false, 300, "", INSTANCE_PARTLY } };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Instance *i;
                TestHost h;

                mover_init(&h);
                h.migrate = MIGRATE_KERNEL;
                mover.answer = 0;
                hold(500, 0, 0, 0);
                if (rows[k].uncounted)
                        fake_remove(&kernel.tree, UNIT "memory.numa_stat");
                set_memory(1, rows[k].free_mib, 0);
                set_memory(2, rows[k].free_mib, 0);
                i = noticed(&h, 10, "1-2", MEMORY_PREFERRED);
                seconds(&h, 10);
                assert_string_equal(mover.steps, rows[k].steps);
                assert_int_equal(reported(&h, i).state, rows[k].state);
                host_done(&h);
        }
}
