/* Passes of the mover in the daemon: turns, progress, pace, what is told, and the kernel's own way.
 * The mover, the clock and the sweep are the test's. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "capture.h"
#include "tidbnumad/daemon/look.h"
#include "tidbnumad/daemon/move-kernel.h"
#include "tidbnumad/daemon/move-progress.h"
#include "tidbnumad/daemon/move.h"
#include "tidbnumad/daemon/roster.h"

#define MIB(n) ((uint64_t)(n) << 20)

enum { NODES = 4, CLOCK_STEP = 1000 };

typedef struct Sweep {
        pid_t pid;
        uint32_t from, to;
} Sweep;

/* Shared with a child. */
typedef struct Sweeps {
        unsigned n;
        bool go; /* until then the first one waits */
        Sweep list[8];
} Sweeps;

static struct {
        uint64_t now;
        unsigned n_begun, n_steps;
        const Mover *last;
        int answer; /* of mover_step() */
        uint64_t own, shared;
        int begin_error;
        Sweeps *sweeps;
} fake;

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return fake.now += CLOCK_STEP;
}

int __wrap_mover_begin(Mover *mover, const ProcHandle *process);
int __wrap_mover_begin(Mover *mover, const ProcHandle *process) {
        fake.n_begun++;
        mover->process = process;
        return fake.begin_error;
}

int __wrap_mover_step(Mover *mover, const NodeSet *nodes, uint32_t target, uint64_t scan_bytes,
                      uint64_t *ret_bytes);
int __wrap_mover_step(Mover *mover, const NodeSet *nodes, uint32_t target, uint64_t scan_bytes,
                      uint64_t *ret_bytes) {
        assert_true(id_set_has(nodes, target) && scan_bytes > 0);
        fake.n_steps++;
        fake.last = mover;
        mover->moved_bytes += fake.own;
        mover->shared_moved_bytes += fake.shared;
        *ret_bytes = fake.own + fake.shared;
        return fake.answer;
}

int __wrap_pages_sweep(pid_t pid, uint32_t from, uint32_t to);
int __wrap_pages_sweep(pid_t pid, uint32_t from, uint32_t to) {
        Sweeps *s = fake.sweeps;

        while (!__atomic_load_n(&s->go, __ATOMIC_ACQUIRE))
                (void)usleep(1000);
        s->list[s->n++] = (Sweep){ .pid = pid, .from = from, .to = to };
        return 0;
}

static const BackendOps fake_ops = { .name = "fake", .kind = BACKEND_SYSTEMD };

typedef struct Host {
        FakeTree tree;
        Args args;
        Node nodes[NODES];
        uint64_t watermarks[NODES];
        Policy policy;
        PolicyCounters counters[1];
        Manager manager;
} Host;

/* Of 1,000 MiB, 20 of them headroom. */
static void set_free(Host *h, unsigned node, unsigned free_mib) {
        char name[64], text[512];

        (void)snprintf(name, sizeof(name), "sys/devices/system/node/node%u/meminfo", node);
        (void)snprintf(text, sizeof(text),
                       "Node %u MemTotal: 1024000 kB\nNode %u MemFree: %u kB\n"
                       "Node %u Active(file): 0 kB\nNode %u Inactive(file): 0 kB\n"
                       "Node %u Dirty: 0 kB\nNode %u Writeback: 0 kB\n",
                       node, node, free_mib * 1024, node, node, node, node);
        fake_write(&h->tree, name, text);
}

static void host_init(Host *h) {
        *h = (Host){ .policy = { .name = (char *)"ours" } };
        memset(&fake, 0, sizeof(fake));
        fake.now = 1000000000;
        fake.answer = 1;
        fake_init(&h->tree);
        fake_write(&h->tree, "sys/fs/cgroup/cgroup.controllers", "memory\n");
        for (uint32_t i = 0; i < NODES; i++) {
                h->nodes[i] = (Node){ .id = i, .memory_bytes = MIB(1000) };
                set_free(h, i, 800);
        }
        h->manager = (Manager){ .args = &h->args,
                                .sysroot = h->tree.sysroot,
                                .connector_fd = -EBADF,
                                .topology = { .nodes = h->nodes, .n_nodes = NODES },
                                .high_watermark_bytes = h->watermarks,
                                .policy_counters = h->counters,
                                .journal = { .max_priority = LOG_INFO },
                                .backend = { .ops = &fake_ops } };
        if (h->manager.sysroot.cgroup_fd < 0)
                h->manager.sysroot.cgroup_fd =
                        openat(h->tree.fd, "sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(h->manager.sysroot.cgroup_fd >= 0);
}

static void host_done(Host *h) {
        for (size_t i = 0; i < h->manager.n_instances; i++)
                instance_free(h->manager.instances[i]);
        free(h->manager.instances);
        if (h->tree.sysroot.cgroup_fd < 0)
                closep(&h->manager.sysroot.cgroup_fd);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

/* To be moved to node 1. */
static Instance *add(Host *h, pid_t pid) {
        Process process = { .id = { pid, 100 },
                            .exe = strdup("/x"),
                            .unit = strdup("x.service"),
                            .cgroup = strdup("/x.service") };
        ProcHandle none = PROC_HANDLE_NONE;
        Instance *i = NULL;

        none.pid = pid;
        assert_int_equal(instance_new(&h->manager, &process, NODES, 0, &i), 0);
        i->policy = &h->policy;
        assert_int_equal(instance_add_process(i, &process, &none), 0);
        assert_int_equal(roster_add(&h->manager, i), 0);
        i->placement = (Placement){ .nodes = ids("1"),
                                    .memory = MEMORY_PREFERRED,
                                    .rate_bytes_per_sec = MIB(64),
                                    .reason = "" };
        i->binding = (Binding){ .alone = true };
        i->due_usec = INSTANCE_NEVER;
        i->outside_bytes = MIB(100);
        return i;
}

static void set_pressure(Host *h, double recent, uint64_t memory_usec, uint64_t cpu_usec) {
        char text[256];

        (void)snprintf(text, sizeof(text), "some avg10=%.2f avg60=0.00 avg300=0.00 total=%ju\n",
                       recent, (uintmax_t)memory_usec);
        fake_write(&h->tree, "sys/fs/cgroup/x.service/memory.pressure", text);
        (void)snprintf(text, sizeof(text), "some avg10=0.00 avg60=0.00 avg300=0.00 total=%ju\n",
                       (uintmax_t)cpu_usec);
        fake_write(&h->tree, "sys/fs/cgroup/x.service/cpu.pressure", text);
}

/* --- turns --- */

/* A binding goes before all moves, however long these have been due; of the moves one slice. */
static void test_bindings_go_first(void **state) {
        _cleanup_host_ Host h;
        Instance *mover, *other, *fresh;
        static int in_flight;

        (void)state;
        host_init(&h);
        mover = add(&h, 10);
        other = add(&h, 20);
        fresh = add(&h, 30);
        move_begin(mover, fake.now);
        move_begin(other, fake.now);
        mover->due_usec = 2;
        other->due_usec = 1;
        fresh->due_usec = fake.now;
        fresh->call = (void *)&in_flight; /* its look then ends there */
        look_at_due(&h.manager, fake.now);
        assert_true(fresh->due_usec == INSTANCE_NEVER);
        assert_ptr_equal(fake.last, &other->mover);
        assert_int_equal(mover->due_usec, 2);
        look_at_due(&h.manager, fake.now);
        assert_ptr_equal(fake.last, &mover->mover);
        fresh->call = NULL;
}

static void test_moves_take_turns(void **state) {
        _cleanup_host_ Host h;
        unsigned slices[3] = { 0 };
        Instance *i[3];

        (void)state;
        host_init(&h);
        for (unsigned k = 0; k < 3; k++) {
                i[k] = add(&h, 10 + (pid_t)k);
                move_begin(i[k], fake.now);
        }
        for (unsigned n = 0; n < 300; n++) {
                look_at_due(&h.manager, fake.now);
                for (unsigned k = 0; k < 3; k++)
                        slices[k] += fake.last == &i[k]->mover;
        }
        for (unsigned k = 0; k < 3; k++)
                assert_int_equal(slices[k], 100);
}

/* A slice ends when its time is over, though there is more to do. */
static void test_a_slice_ends(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        move_begin(i, fake.now);
        move_slice(i, fake.now);
        assert_in_range(fake.n_steps, 1, 5000 / CLOCK_STEP + 1);
        assert_true(i->moving && i->due_usec <= fake.now);
}

/* --- a pass --- */

static void test_pending_goes_down(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        i->placement.rate_bytes_per_sec = MIB(100000);
        fake.own = MIB(2);
        fake.shared = MIB(1);
        move_begin(i, fake.now);
        move_slice(i, fake.now);
        assert_true(fake.n_steps > 0);
        assert_int_equal(i->outside_bytes, MIB(100) - fake.n_steps * MIB(2));
        assert_int_equal(i->migrated_bytes, fake.n_steps * MIB(3));
        i->outside_bytes = MIB(1);
        move_slice(i, fake.now);
        assert_int_equal(i->outside_bytes, 0); /* there was more than the last sample knew */
}

/* What an instance has counted is its policy's as well, and stays when it ends. */
static void test_counted_for_the_policy(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        for (pid_t pid = 10; pid < 12; pid++) {
                Instance *i = add(&h, pid);

                fake.own = MIB(2);
                fake.answer = 0;
                move_begin(i, fake.now);
                i->mover.failed_pages = 3;
                move_slice(i, fake.now);
                assert_int_equal(i->migrated_bytes, MIB(2));
                assert_int_equal(i->failed_pages, 3);
                roster_remove_process(&h.manager, i, 0);
                assert_int_equal(h.manager.n_instances, 0);
        }
        assert_int_equal(h.counters[0].migrated_bytes, MIB(4));
        assert_int_equal(h.counters[0].failed_pages, 6);
}

/* The one that is paid for is what was moved: 64 MiB a second, a piece at a time. */
static void test_rate(void **state) {
        _cleanup_host_ Host h;
        uint64_t begin;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        fake.own = MIB(2);
        move_begin(i, fake.now);
        begin = fake.now;
        while (i->migrated_bytes < MIB(64)) {
                move_slice(i, fake.now);
                assert_true(i->due_usec != INSTANCE_NEVER);
                fake.now = i->due_usec > fake.now ? i->due_usec : fake.now;
        }
        assert_in_range(fake.now - begin, 800000, 1100000);
}

static void test_another_program(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        move_begin(i, fake.now);
        assert_int_equal(fake.n_begun, 1);
        fake.answer = -ESTALE;
        move_slice(i, fake.now);
        assert_true(fake.n_begun > 1);
        for (unsigned n = 0; n < 100 && i->moving; n++)
                move_slice(i, fake.now);
        assert_false(i->moving); /* not for ever */
        assert_in_range(fake.n_begun, 3, 20);
        assert_int_equal(i->progress.passes, 1);
        /* One that ends is none that goes on. */
        fake.n_begun = 0;
        fake.answer = -ESRCH;
        move_begin(i, fake.now);
        move_slice(i, fake.now);
        assert_false(i->moving);
        assert_int_equal(fake.n_begun, 1);
}

static void sweeps_init(bool go) {
        fake.sweeps = mmap(NULL, sizeof(Sweeps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                           -1, 0);
        assert_true(fake.sweeps != MAP_FAILED);
        fake.sweeps->go = go;
}

static void wait_for_end(Instance *i) {
        for (unsigned n = 0; n < 10000 && i->moving; n++) {
                (void)usleep(1000);
                move_slice(i, fake.now);
        }
        assert_false(i->moving);
}

static void set_memory(Host *h, unsigned anon, unsigned mapped) {
        char text[256];

        (void)snprintf(text, sizeof(text),
                       "anon N0=%u N1=5\nfile N0=0 N1=0\nshmem N0=0 N1=0\n"
                       "file_mapped N0=%u N1=7\n",
                       anon, mapped);
        fake_write(&h->tree, "sys/fs/cgroup/x.service/memory.numa_stat", text);
}

/* What others map too stays after a pass, and is no reason for the next one. */
static void test_what_a_pass_left(void **state) {
        _cleanup_host_ Host h;
        _cleanup_close_ int fd = -EBADF;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        set_memory(&h, 300, 1000);
        fd = openat(h.tree.fd, "sys/fs/cgroup/x.service", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        move_sample(i, fd);
        assert_true(i->memory_known);
        assert_int_equal(i->outside_bytes, 300);
        assert_int_equal(i->mapped_outside_bytes, 1000);
        assert_int_equal(i->mapped_left_bytes, 0);
        i->passed = true;
        set_memory(&h, 300, 400);
        move_sample(i, fd);
        assert_int_equal(i->mapped_left_bytes, 400);
        assert_false(i->passed);
        set_memory(&h, 300, 900);
        move_sample(i, fd);
        assert_int_equal(i->mapped_left_bytes, 400);
        set_memory(&h, 300, 100); /* the counters lag */
        move_sample(i, fd);
        assert_int_equal(i->mapped_left_bytes, 100);
        i->binding.alone = false;
        move_sample(i, fd);
        assert_true(!i->memory_known && i->outside_bytes + i->mapped_outside_bytes == 0);
}

/* What the kernel's own way has moved is counted when it shows. */
static void test_what_the_kernel_moved(void **state) {
        _cleanup_host_ Host h;
        _cleanup_close_ int fd = -EBADF;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        set_memory(&h, 300, 0);
        fd = openat(h.tree.fd, "sys/fs/cgroup/x.service", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        sweeps_init(true);
        i->placement.migrate = MIGRATE_KERNEL;
        move_sample(i, fd);
        assert_int_equal(i->migrated_bytes, 0);
        move_begin(i, fake.now);
        set_memory(&h, 100, 0);
        move_sample(i, fd);
        assert_int_equal(i->migrated_bytes, 200);
        move_sample(i, fd);
        assert_int_equal(i->migrated_bytes, 200);
        wait_for_end(i);
        (void)munmap(fake.sweeps, sizeof(Sweeps));
}

/* --- what is told --- */

static void test_told_at_start_and_end(void **state) {
        _cleanup_host_ Host h;
        Instance *i;
        Capture c;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        fake.answer = 0;
        fake.own = MIB(2);
        capture_begin(&c, STDERR_FILENO);
        for (unsigned pass = 0; pass < 3; pass++) {
                move_begin(i, fake.now);
                move_slice(i, fake.now);
                assert_false(i->moving);
        }
        capture_end(&c);
        assert_contains(c.text, "moving 100.0 MiB to node 1, gently\n");
        assert_null(strstr(strchr(c.text, '\n'), "mov")); /* one line */
        capture_begin(&c, STDERR_FILENO);
        move_progress_end(i, false, fake.now);
        move_progress_end(i, false, fake.now);
        capture_end(&c);
        assert_contains(c.text, ": 6.0 MiB were moved in 0.0 s, 94.0 MiB lie elsewhere\n");
        assert_null(strstr(strchr(c.text, '\n'), "mov"));
}

static void test_a_little_is_not_told(void **state) {
        _cleanup_host_ Host h;
        Instance *i;
        Capture c;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        i->outside_bytes = MOVE_TOLD_BYTES - 1;
        capture_begin(&c, STDERR_FILENO);
        move_begin(i, fake.now);
        move_progress_end(i, false, fake.now);
        i->outside_bytes = MOVE_TOLD_BYTES;
        capture_end(&c);
        assert_string_equal(c.text, "");
        /* And what the line of the binding tells is not told twice. */
        move_begin(i, fake.now);
        capture_begin(&c, STDERR_FILENO);
        move_progress_end(i, true, fake.now);
        capture_end(&c);
        assert_string_equal(c.text, "");
}

/* --- pace --- */

static void test_pace(void **state) {
        _cleanup_host_ Host h;
        uint64_t memory = 500, cpu = 700;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        set_pressure(&h, 10, memory, cpu);
        assert_int_equal(move_rate_in_force(i), 0);
        assert_true(isnan(move_left_seconds(i, fake.now)));
        move_begin(i, fake.now);
        assert_int_equal(move_rate_in_force(i), MIB(64));
        assert_true(fabs(move_left_seconds(i, fake.now) - 100.0 / 64) < 0.01);
        fake.now += PACE_WINDOW_USEC;
        set_pressure(&h, 10, memory += 100000, cpu += 40000); /* as usual, and within the margin */
        move_slice(i, fake.now);
        assert_int_equal(move_rate_in_force(i), MIB(64));
        fake.now += PACE_WINDOW_USEC / 2;
        set_pressure(&h, 10, memory += 400000, cpu);
        move_slice(i, fake.now); /* not a whole window yet */
        assert_int_equal(move_rate_in_force(i), MIB(64));
        fake.now += PACE_WINDOW_USEC / 2;
        move_slice(i, fake.now);
        assert_int_equal(move_rate_in_force(i), MIB(32));
        assert_int_equal(i->rate.bytes_per_sec, MIB(32));
        fake_remove(&h.tree, "sys/fs/cgroup/x.service");
        fake.now += 2 * PACE_WINDOW_USEC;
        move_slice(i, fake.now); /* nothing tells any more: as it was */
        assert_int_equal(move_rate_in_force(i), MIB(32));
}

/* A group that holds others too says nothing of the instance. */
static void test_pressure_of_others(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        i->binding.alone = false;
        set_pressure(&h, 0, 0, 0);
        move_begin(i, fake.now);
        fake.now += PACE_WINDOW_USEC;
        set_pressure(&h, 0, PACE_WINDOW_USEC, PACE_WINDOW_USEC);
        move_slice(i, fake.now);
        assert_int_equal(move_rate_in_force(i), MIB(64));
}

static void test_time_left_by_what_was_reached(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10);
        move_begin(i, fake.now);
        move_progress_add(i, MIB(20));
        fake.now = i->migration.begun_usec + 2000000;
        assert_true(fabs(move_left_seconds(i, fake.now) - 10) < 0.01); /* 10 MiB a second */
}

/* --- the kernel's own way --- */

static void test_kernel(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        sweeps_init(false);
        i = add(&h, 10);
        i->placement.nodes = ids("1,2");
        i->placement.migrate = MIGRATE_KERNEL;
        i->by_node[0].anon_bytes = MIB(500);
        i->by_node[1].anon_bytes = MIB(500); /* at home */
        i->by_node[3].anon_bytes = MIB(400);
        set_free(&h, 1, 900);
        move_begin(i, fake.now);
        assert_true(i->moving);
        move_slice(i, fake.now); /* the daemon goes on meanwhile */
        assert_true(i->moving && i->due_usec > fake.now - CLOCK_STEP);
        assert_int_equal(fake.n_begun + fake.n_steps, 0);
        __atomic_store_n(&fake.sweeps->go, true, __ATOMIC_RELEASE);
        wait_for_end(i);
        assert_int_equal(i->progress.passes, 1);
        assert_int_equal(fake.sweeps->n, 2);
        assert_int_equal(fake.sweeps->list[0].from, 0);
        assert_int_equal(fake.sweeps->list[0].to, 1); /* most room */
        assert_int_equal(fake.sweeps->list[1].from, 3);
        assert_int_equal(fake.sweeps->list[1].to, 2); /* 1 is full by then */
        assert_int_equal(fake.sweeps->list[1].pid, 10);
        (void)munmap(fake.sweeps, sizeof(Sweeps));
}

/* Nothing outside: no child. Given up: no further call. */
static void test_kernel_has_nothing_to_do(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        sweeps_init(false);
        i = add(&h, 10);
        i->placement.migrate = MIGRATE_KERNEL;
        move_begin(i, fake.now);
        assert_false(i->moving);
        assert_int_equal(i->progress.passes, 1);
        i->by_node[0].anon_bytes = i->by_node[2].anon_bytes = i->by_node[3].anon_bytes = MIB(1);
        move_begin(i, fake.now);
        assert_true(i->moving);
        instance_restart(i, fake.now);
        assert_false(i->moving || move_kernel_runs(i));
        __atomic_store_n(&fake.sweeps->go, true, __ATOMIC_RELEASE);
        (void)usleep(100000);
        assert_in_range(fake.sweeps->n, 0, 1); /* the one that it was in */
        (void)munmap(fake.sweeps, sizeof(Sweeps));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bindings_go_first),
                cmocka_unit_test(test_moves_take_turns),
                cmocka_unit_test(test_a_slice_ends),
                cmocka_unit_test(test_pending_goes_down),
                cmocka_unit_test(test_counted_for_the_policy),
                cmocka_unit_test(test_rate),
                cmocka_unit_test(test_another_program),
                cmocka_unit_test(test_what_a_pass_left),
                cmocka_unit_test(test_what_the_kernel_moved),
                cmocka_unit_test(test_told_at_start_and_end),
                cmocka_unit_test(test_a_little_is_not_told),
                cmocka_unit_test(test_pace),
                cmocka_unit_test(test_pressure_of_others),
                cmocka_unit_test(test_time_left_by_what_was_reached),
                cmocka_unit_test(test_kernel),
                cmocka_unit_test(test_kernel_has_nothing_to_do),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
