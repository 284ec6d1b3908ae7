/* The daemon's own binding on cgroup v1: processes join the directory of their instance, one at a
 * time, by a worker; what others change is repaired, and the guard adds nodes. The kernel is the
 * files of a folder, the worker has joined a process when the test says so, and time is the
 * test's. */
#include "../../support/test.h"

enum { NODES = 3, CPUS_A_NODE = 2, SERVICES = 4 };

#include "capture.h"
#include "service-host.h"
#include "tidbnumad/change/cgroup1.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

#define MSEC(n) ((uint64_t)(n)*1000)
#define CPUSET "sys/fs/cgroup/cpuset/"
#define POLL MSEC(10)

static struct {
        FakeTree tree;
        uint64_t now;
        WorkerAnswerHandler on_joined;
        void *userdata;

        /* The join that is under way; pid 0: none. */
        ProcessId joins;
        char instance[64];
        CpuSet cpus;
        bool crowded; /* the worker has others to join */
        int error;    /* with which it comes back */
        unsigned n_joined;

        NodeSet forbidden; /* no directory may have these */
        int mems_error;    /* of the next writes of memory nodes */
} kernel;

/* --- the kernel --- */

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return kernel.now;
}

int __wrap_cgroup1_open(const Sysroot *sysroot, const char *controller, int *ret_fd);
int __wrap_cgroup1_open(_unused_ const Sysroot *sysroot, const char *controller, int *ret_fd) {
        *ret_fd = openat(kernel.tree.fd, fmt("sys/fs/cgroup/%s", controller),
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return *ret_fd < 0 ? -errno : 0;
}

int __wrap_backend_affinity_set(Backend *backend, const ProcHandle *handle, const CpuSet *cpus,
                                bool all);
int __wrap_backend_affinity_set(_unused_ Backend *backend, const ProcHandle *handle,
                                const CpuSet *cpus, _unused_ bool all) {
        fake_thread(&kernel.tree, handle->pid, handle->pid, id_set_list(cpus), 0);
        return 0;
}

/* Bound by their threads alone, without a directory. */
static int threads_set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                            _unused_ BackendCall *call) {
        for (size_t k = 0; k < target->n_members; k++)
                (void)__wrap_backend_affinity_set(backend, target->members[k].handle, cpus, true);
        return 1;
}

static void group_show(const char *group, const char *kind, const char *list) {
        fake_write(&kernel.tree, fmt(CPUSET "%s/cpuset.%s", group, kind), fmt("%s\n", list));
        fake_write(&kernel.tree, fmt(CPUSET "%s/cpuset.effective_%s", group, kind),
                   fmt("%s\n", list));
}

static const char *group_of(const char *instance) {
        char name[CGROUP1_NAME_MAX];

        cgroup1_name(instance, name);
        return fmt(CGROUP1_FOLDER "/%s", name);
}

static void group_make(const char *instance) {
        const char *group = group_of(instance);

        if (faccessat(kernel.tree.fd, fmt(CPUSET "%s", group), F_OK, 0) == 0)
                return;
        group_show(CGROUP1_FOLDER, "cpus", "0-5");
        group_show(CGROUP1_FOLDER, "mems", "0-2");
        group_show(group, "cpus", "0-5");
        group_show(group, "mems", "0-2");
}

static void process_show_group(pid_t pid, const char *group) {
        fake_write(&kernel.tree, fmt("proc/%d/cgroup", pid),
                   fmt("3:cpuset:/%s\n2:memory:/%d.service\n1:name=systemd:/system.slice/"
                       "%d.service\n",
                       group, pid / 10, pid / 10));
}

/* --- the workers --- */

int __wrap_workers_new(const char *program, sd_event *event, WorkerHungHandler on_hung,
                       void *userdata, Workers **ret);
int __wrap_workers_new(_unused_ const char *program, _unused_ sd_event *event,
                       _unused_ WorkerHungHandler on_hung, _unused_ void *userdata,
                       _unused_ Workers **ret) {
        return 0;
}

void __wrap_workers_on_answer(Workers *workers, WorkerJob job, WorkerAnswerHandler handler,
                              void *userdata);
void __wrap_workers_on_answer(_unused_ Workers *workers, WorkerJob job, WorkerAnswerHandler handler,
                              void *userdata) {
        if (job != WORKER_GROUP)
                return;
        kernel.on_joined = handler;
        kernel.userdata = userdata;
}

bool __wrap_workers_write_group_of(const Workers *workers, const ProcessId *process);
bool __wrap_workers_write_group_of(_unused_ const Workers *workers, const ProcessId *process) {
        return process_id_equal(process, &kernel.joins);
}

int __wrap_worker_join_group(Workers *workers, const Member *member, const char *instance,
                             const CpuSet *cpus);
int __wrap_worker_join_group(_unused_ Workers *workers, const Member *member, const char *instance,
                             const CpuSet *cpus) {
        if (kernel.crowded || kernel.joins.pid > 0)
                return -EAGAIN;
        kernel.joins = member->process.id;
        kernel.cpus = *cpus;
        (void)snprintf(kernel.instance, sizeof(kernel.instance), "%s", instance);
        return 0;
}

int __wrap_worker_take_joined(Workers *workers, const ProcessId *process, uint64_t *n_pid_reuses,
                              int *ret_refused);
int __wrap_worker_take_joined(_unused_ Workers *workers, _unused_ const ProcessId *process,
                              _unused_ uint64_t *n_pid_reuses, int *ret_refused) {
        *ret_refused = 0;
        return kernel.error;
}

int __wrap_worker_make_group(Workers *workers, const ProcHandle *process, const char *instance);
int __wrap_worker_make_group(_unused_ Workers *workers, _unused_ const ProcHandle *process,
                             const char *instance) {
        group_make(instance);
        return 0;
}

int __wrap_worker_write_mems(Workers *workers, const ProcHandle *process, int group_fd,
                             const NodeSet *mems, bool widen);
int __wrap_worker_write_mems(_unused_ Workers *workers, _unused_ const ProcHandle *process,
                             int group_fd, const NodeSet *mems, _unused_ bool widen) {
        static const char *const files[] = { "cpuset.mems", "cpuset.effective_mems" };
        const char *list = id_set_list(mems);

        if (kernel.mems_error < 0)
                return kernel.mems_error;
        if (id_set_intersects(mems, &kernel.forbidden))
                return -ENODEV;
        for (size_t k = 0; k < ELEMENTSOF(files); k++) {
                _cleanup_close_ int fd = openat(group_fd, files[k], O_WRONLY | O_TRUNC | O_CLOEXEC);

                assert_int_equal(write(fd, list, strlen(list)), strlen(list));
        }
        return 0;
}

int __wrap_worker_probe_members(Workers *workers, const Members *members);
int __wrap_worker_probe_members(_unused_ Workers *workers, _unused_ const Members *members) {
        return 0;
}

/* --- the daemon --- */

static void daemon_start(TestHost *h) {
        Rooms *m = &h->rooms;

        rooms_start(h, &kernel.tree);
        backend_init(&m->host.backend, &m->host.sysroot, NULL);
        m->host.backend.ops = &backend_cgroup1_ops;
        m->host.backend.all_cpus = cpu_set("0-5");
        m->host.backend.all_nodes = node_set("0-2");
        drift_start(&m->binding);
        assert_int_equal(unresponsive_start(&m->binding, "none"), 0);
}

static void daemon_stop(TestHost *h) {
        drift_stop(&h->rooms.binding);
        rooms_stop(h);
        backend_done(&h->rooms.host.backend);
}

static void set_memory(unsigned node, unsigned free_mib) {
        rooms_set_memory(&kernel.tree, node, free_mib, 0);
}

static void host_init(TestHost *h) {
        memset(&kernel, 0, sizeof(kernel));
        kernel.now = SEC(1000000000); /* the real one is far from it, so that no timer fires */
        fake_init(&kernel.tree);
        group_show(".", "cpus", "0-5");
        group_show(".", "mems", "0-2");
        fake_mkdir(&kernel.tree, "sys/fs/cgroup/memory");
        machine_init(h, &kernel.tree);
        daemon_start(h);
}

static void host_done(TestHost *h) {
        daemon_stop(h);
        fake_done(&kernel.tree);
}
#define HOST_TEST(test) TEST_WITH(test, TestHost, d, host_init, host_done)

/* The loop, which is woken by its timers: as often as anything can be due. */
static void run(TestHost *d, uint64_t usec) {
        const uint64_t end = kernel.now + usec;

        do {
                while (sd_event_run(d->rooms.host.event, 0) > 0)
                        ;
                reconcile_due(&d->rooms.binding, kernel.now);
                kernel.now += POLL;
        } while (kernel.now < end);
}

/* The worker has put the process into the group of its instance, or could not. */
static void join_ends(int error) {
        const ProcessId process = kernel.joins;

        assert_true(process.pid > 0);
        kernel.joins = (ProcessId){ 0 };
        kernel.error = error;
        if (error == 0) {
                group_make(kernel.instance);
                group_show(group_of(kernel.instance), "cpus", id_set_list(&kernel.cpus));
                process_show_group(process.pid, group_of(kernel.instance));
                kernel.n_joined++;
        }
        kernel.on_joined(&process, WORKER_GROUP, kernel.userdata);
}

/* Until the worker has a process to join; how long that took is the daemon's. */
static void run_until_asked(TestHost *d) {
        for (unsigned n = 0; n < 100 && kernel.joins.pid == 0; n++)
                run(d, POLL);
        assert_int_not_equal(kernel.joins.pid, 0);
}

/* All that has to join does so at once. */
static void run_and_join(TestHost *d, uint64_t usec) {
        const uint64_t end = kernel.now + usec;

        while (kernel.now < end) {
                run(d, POLL);
                if (kernel.joins.pid > 0)
                        join_ends(0);
        }
}

static Process process_of(pid_t pid) {
        Process p = { .id = { .pid = pid }, .exe = strdup("/x") };

        fake_process(&kernel.tree, pid, 1, "/x", "/", "0-5");
        process_show_group(pid, "");
        return p;
}

/* A service of node 1 starts; its processes are `10 * number` and what follows. */
static Instance *starts(TestHost *d, int number) {
        Process process = process_of(10 * number);

        fake_write(&kernel.tree, fmt("sys/fs/cgroup/memory/%d.service/memory.numa_stat", number),
                   "total=0 N0=0 N1=0 N2=0\nhierarchical_anon=0 N0=0 N1=0 N2=0\n"
                   "hierarchical_file=0 N0=0 N1=0 N2=0\n");
        fake_write(&kernel.tree, fmt("sys/fs/cgroup/memory/%d.service/cgroup.procs", number),
                   fmt("%d\n", 10 * number));
        process.unit = strdup(fmt("%d.service", number));
        return rooms_notice(d, &process, "1", MEMORY_BIND, kernel.now);
}

static void forks(TestHost *d, Instance *i) {
        ProcHandle handle = PROC_HANDLE_NONE;
        const pid_t pid = i->members[i->n_members - 1].process.id.pid + 1;
        Process process = process_of(pid);

        assert_int_equal(proc_open(&kernel.tree.sysroot, pid, &handle), 0);
        process.id.start_ticks = handle.start_ticks;
        assert_int_equal(instance_add_process(i, &process, &handle), 0);
        assert_int_equal(registry_enter(&d->rooms.registry, i, &i->members[i->n_members - 1]), 0);
        fake_write(&kernel.tree, fmt("sys/fs/cgroup/memory/%d.service/cgroup.procs", pid / 10),
                   fmt("%d\n%d\n", pid - 1, pid));
        binding_work(&d->rooms.binding, i, WORK_JOINED, kernel.now);
}

static Instance *serve(TestHost *d) {
        Instance *i = starts(d, 1);

        run_and_join(d, SEC(1));
        return i;
}

/* --- what is there then --- */

static void assert_group(const Instance *i, const char *file, const char *expected) {
        char text[ID_SET_LIST_MAX];

        assert_true(path_read(kernel.tree.fd, text, sizeof(text), CPUSET "%s/cpuset.%s",
                              group_of(i->name), file) >= 0);
        assert_string_equal(text, expected);
}

static void assert_state(const TestHost *d, const Instance *i, InstanceState state, Reason code) {
        const Verdict v = reconcile_verdict(&d->rooms.binding, i);

        if (v.state != state || v.code != code)
                fail_msg("%s, %s: %s", instance_state_to_string(v.state), reason_to_string(v.code),
                         v.reason);
}

/* By all policies. */
static unsigned n_failures(const TestHost *d) {
        unsigned n = 0;

        for (size_t k = 0; k < SERVICES; k++)
                for (Reason code = 0; code < N_REASONS; code++)
                        n += (unsigned)d->counters[k].bind_failures[code];
        return n;
}

static unsigned n_repairs(const TestHost *d, DriftKind kind) {
        return (unsigned)d->counters[0].drift_repairs[kind];
}

/* --- joins --- */

HOST_TEST(joined_and_bound) {
        Instance *i = starts(d, 1);

        run_until_asked(d);
        assert_int_equal(kernel.joins.pid, 10);
        assert_int_equal(reconcile_verdict(&d->rooms.binding, i).state, INSTANCE_WAITING);
        join_ends(0);
        run(d, MSEC(200));
        assert_state(d, i, INSTANCE_BOUND, REASON_NONE);
        assert_group(i, "cpus", "2-3");
        assert_group(i, "mems", "1");
        assert_int_equal(kernel.n_joined, 1);
        assert_int_equal(n_failures(d), 0);
}

/* The worker's answer is awaited for longer than what the loop waits for; that it did not come is
 * one failure. */
HOST_TEST(a_join_that_is_not_answered) {
        Instance *i = starts(d, 1);

        run_until_asked(d);
        run(d, WORKER_JOIN_USEC - 2 * POLL);
        assert_int_equal(n_failures(d), 0);
        run(d, MSEC(50));
        assert_int_equal(d->counters[0].bind_failures[REASON_NO_ANSWER], 1);
        assert_int_equal(reconcile_verdict(&d->rooms.binding, i).code, REASON_NO_ANSWER);
        /* The late answer counts all the same. */
        join_ends(0);
        run_and_join(d, SEC(60));
        assert_state(d, i, INSTANCE_BOUND, REASON_NONE);
        assert_int_equal(kernel.n_joined, 1);
}

/* Its turn comes within that time, or it is a failure, which is tried again. */
enum { TURN_SECONDS = 10 };

HOST_TEST(a_turn_is_awaited_for_ten_seconds) {
        Instance *i;

        kernel.crowded = true;
        i = starts(d, 1);
        run(d, SEC(TURN_SECONDS) - MSEC(50));
        assert_int_equal(n_failures(d), 0);
        assert_state(d, i, INSTANCE_WAITING, REASON_NONE);
        run(d, MSEC(200));
        assert_int_equal(d->counters[0].bind_failures[REASON_NO_ANSWER], 1);
        assert_int_equal(reconcile_verdict(&d->rooms.binding, i).code, REASON_NO_ANSWER);
        kernel.crowded = false;
        run_and_join(d, SEC(10));
        assert_state(d, i, INSTANCE_BOUND, REASON_NONE);
        assert_int_equal(n_failures(d), 1);
}

/* Of several processes each has its own time for that, which begins when the one before it has
 * joined. */
TEST(the_next_process_has_its_own_time) {
        for (unsigned in_time = 0; in_time < 2; in_time++) {
                Instance *i;
                TestHost d;

                host_init(&d);
                kernel.crowded = true;
                i = starts(&d, 1);
                forks(&d, i);
                run(&d, SEC(5));
                kernel.crowded = false;
                run_until_asked(&d);
                kernel.crowded = true; /* others have come before its second process */
                join_ends(0);
                run(&d, SEC(TURN_SECONDS) - MSEC(150));
                assert_int_equal(n_failures(&d), 0);
                assert_int_equal(kernel.joins.pid, 0);
                if (!in_time)
                        run(&d, MSEC(300));
                assert_int_equal(n_failures(&d), !in_time);
                kernel.crowded = false;
                run_and_join(&d, SEC(10));
                assert_state(&d, i, INSTANCE_BOUND, REASON_NONE);
                assert_int_equal(kernel.n_joined, 2);
                host_done(&d);
        }
}

/* Not only when it would look again by itself. */
HOST_TEST(a_free_worker_takes_the_next_instance) {
        Instance *its[2] = { starts(d, 1), starts(d, 2) };

        run_until_asked(d);
        run(d, MSEC(50));
        assert_int_equal(kernel.joins.pid, 10);
        join_ends(0);
        run(d, 2 * POLL);
        assert_int_equal(kernel.joins.pid, 20);
        join_ends(0);
        run(d, SEC(1));
        for (unsigned k = 0; k < ELEMENTSOF(its); k++)
                assert_state(d, its[k], INSTANCE_BOUND, REASON_NONE);
        assert_int_equal(n_failures(d), 0);
}

HOST_TEST(a_join_that_fails_is_tried_again) {
        Instance *i = starts(d, 1);

        run_until_asked(d);
        join_ends(-ENOSPC);
        assert_int_equal(n_failures(d), 1);
        assert_contains(reconcile_verdict(&d->rooms.binding, i).reason, "trying again");
        run_and_join(d, SEC(10));
        assert_state(d, i, INSTANCE_BOUND, REASON_NONE);
        assert_int_equal(n_failures(d), 1);
}

/* --- drift --- */

static void others_write_cpus(const Instance *i, const char *cpus) {
        group_show(group_of(i->name), "cpus", cpus);
}

/* Also while systemd reads its unit files, which set nothing here. */
TEST(drift_of_a_directory) {
        for (unsigned reload = 0; reload < 2; reload++) {
                Instance *i;
                Capture c;
                TestHost d;

                host_init(&d);
                i = serve(&d);
                assert_int_equal(n_repairs(&d, DRIFT_CPUS), 0);
                d.rooms.host.units_reload_usec = reload ? kernel.now + SEC(100) : 0;
                d.rooms.host.journal.max_priority = LOG_NOTICE;
                others_write_cpus(i, "0-5");
                CAPTURE_STDERR(&c, run_and_join(&d, MSEC(500)));
                assert_contains(c.text, "something else changed its CPUs to 0-5 instead of 2-3");
                assert_group(i, "cpus", "2-3");
                assert_int_equal(n_repairs(&d, DRIFT_CPUS), 1);
                assert_int_equal(n_repairs(&d, DRIFT_MEMS), 0);
                host_done(&d);
        }
}

/* A process that is not in the directory yet has not left it. */
HOST_TEST(a_new_process_is_no_drift) {
        Instance *i = serve(d);

        forks(d, i);
        run_and_join(d, SEC(1));
        assert_int_equal(kernel.n_joined, 2);
        assert_state(d, i, INSTANCE_BOUND, REASON_NONE);
        for (DriftKind k = 0; k < N_DRIFTS; k++)
                assert_int_equal(n_repairs(d, k), 0);
}

/* Threads have no file of which the kernel reports a write: the next round finds them. */
HOST_TEST(drift_of_threads) {
        BackendOps by_threads = backend_affinity_ops;
        const BackendOps *const all[] = { [BACKEND_SYSTEMD] = &backend_systemd_ops,
                                          [BACKEND_CGROUP1] = &backend_cgroup1_ops,
                                          [BACKEND_AFFINITY] = &by_threads };
        ProcStatus status;
        Instance *i;

        by_threads.set_cpus = threads_set_cpus;
        d->rooms.host.backend.ops = &by_threads;
        d->rooms.host.backend.all = all;
        i = serve(d);
        forks(d, i);
        run(d, SEC(1));
        assert_int_equal(n_repairs(d, DRIFT_THREADS), 0); /* a new one had none of its CPUs */
        fake_thread(&kernel.tree, 10, 10, "0-5", 0);
        reconcile_all(&d->rooms.binding, kernel.now);
        run(d, SEC(1));
        assert_int_equal(n_repairs(d, DRIFT_THREADS), 1);
        assert_int_equal(n_repairs(d, DRIFT_CPUS), 0);
        assert_int_equal(proc_status_read(i->members[0].handle, 10, &status), 0);
        assert_ids(status.cpus_allowed, "2-3");
}

/* --- the full-node guard --- */

static uint64_t second(TestHost *d) {
        uint64_t wait;

        kernel.now += SEC(1);
        wait = guard_tick(&d->rooms.binding, kernel.now);
        run_and_join(d, 20 * POLL);
        return wait;
}

static void seconds(TestHost *d, unsigned n) {
        for (unsigned k = 0; k < n; k++)
                (void)second(d);
}

HOST_TEST(a_full_node_is_widened_and_left_again) {
        Instance *i = serve(d);
        Capture c;

        assert_int_equal(second(d), GUARD_INTERVAL_USEC);
        set_memory(1, 5);
        set_memory(2, 801);
        CAPTURE_STDERR(&c, assert_int_equal(second(d), GUARD_FAST_INTERVAL_USEC));
        assert_contains(c.text, "it may use memory of node 2 as well");
        assert_group(i, "mems", "1-2");
        assert_state(d, i, INSTANCE_WIDENED, REASON_NODE_FULL);
        assert_int_equal(d->counters[0].memory_widenings, 1);
        set_memory(1, 500);
        seconds(d, 70);
        assert_group(i, "mems", "1");
        assert_state(d, i, INSTANCE_BOUND, REASON_NONE);
        assert_int_equal(n_repairs(d, DRIFT_MEMS), 0);
}

/* Its directory is ours, whether or not a record shows who has made it narrow. A process that is
 * not in it is not confined by it. */
TEST(whose_directory_it_is) {
        static const struct {
                const char *what, *mems;
                bool outside, watched;
        } rows[] = {
                { "narrow", "1", .watched = true },
                { "wide", "0-2" },
                { "narrow elsewhere", "0" },
                { "not in it", "1", .outside = true },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                uint64_t wait;
                Instance *i;
                TestHost d;

                host_init(&d);
                i = serve(&d);
                daemon_stop(&d);
                fake_remove(&kernel.tree, "undo");
                daemon_start(&d);
                i = starts(&d, 1);
                process_show_group(10, rows[k].outside ? "" : group_of(i->name));
                group_show(group_of(i->name), "mems", rows[k].mems);
                kernel.mems_error = -ETIME; /* it stays as it was found */
                kernel.crowded = true;
                set_memory(1, 0);
                run(&d, SEC(TURN_SECONDS + 1));
                wait = guard_tick(&d.rooms.binding, kernel.now);
                if ((wait != INSTANCE_NEVER) != rows[k].watched)
                        fail_msg("%s: %ju us", rows[k].what, (uintmax_t)wait);
                host_done(&d);
        }
}

/* How the kernel answers, or the worker that writes. */
TEST(widenings_that_fail) {
        static const struct {
                const char *forbidden;
                int error;
                const char *mems, *reason;
        } rows[] = {
                { "0", 0, "1-2", NULL }, /* the next one, then */
                { "0,2", 0, "1", "no other node" },
                { "", -ENOMEM, "1", "no memory to widen" },
                { "", -ETIME, "1", "one of its processes is stalled" },
                { "", -ECHILD, "1", "no memory to widen" }, /* for a worker */
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Instance *i;
                Capture c;
                TestHost d;

                host_init(&d);
                i = serve(&d);
                set_memory(1, 5);
                kernel.forbidden = node_set(rows[k].forbidden);
                kernel.mems_error = rows[k].error;
                CAPTURE_STDERR(&c, (void)second(&d));
                assert_group(i, "mems", rows[k].mems);
                if (rows[k].reason) {
                        assert_contains(c.text, rows[k].reason);
                        assert_contains(reconcile_verdict(&d.rooms.binding, i).reason,
                                        rows[k].reason);
                } else {
                        assert_state(&d, i, INSTANCE_WIDENED, REASON_NODE_FULL);
                }
                host_done(&d);
        }
}

/* The answer about a process that was on its way into the directory is not lost by that, good or
 * bad. */
TEST(widened_while_a_process_joins) {
        static const int answers[] = { 0, -ENOSPC };

        for (size_t k = 0; k < ELEMENTSOF(answers); k++) {
                Instance *i;
                TestHost d;

                host_init(&d);
                i = serve(&d);
                forks(&d, i);
                run_until_asked(&d);
                assert_int_equal(kernel.joins.pid, 11);
                set_memory(1, 5);
                (void)guard_tick(&d.rooms.binding, kernel.now);
                assert_group(i, "mems", "0-1");
                join_ends(answers[k]);
                assert_int_equal(n_failures(&d), answers[k] < 0);
                run_and_join(&d, SEC(10));
                assert_int_equal(kernel.n_joined, 2);
                assert_state(&d, i, INSTANCE_WIDENED, REASON_NODE_FULL);
                host_done(&d);
        }
}
