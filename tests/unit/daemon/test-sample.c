/* What the daemon makes of samples: of this very process, on this host's nodes and one more, which
 * has a CPU and nothing of it. */
#include <math.h>

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "capture.h"
#include "published.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/world/topology-load.h"

#define SEC(n) ((uint64_t)(n)*1000000)

enum { ELSEWHERE = 1023 };

static unsigned n_draws;

int __real_sampler_draw(const Topology *topology, const ProcHandle *process, size_t n_pages,
                        uint64_t seed, Draws *ret);
int __wrap_sampler_draw(const Topology *topology, const ProcHandle *process, size_t n_pages,
                        uint64_t seed, Draws *ret);
int __wrap_sampler_draw(const Topology *topology, const ProcHandle *process, size_t n_pages,
                        uint64_t seed, Draws *ret) {
        n_draws++;
        return __real_sampler_draw(topology, process, n_pages, seed, ret);
}

typedef struct TestHost {
        FakeTree runtime;
        Args args;
        Rooms rooms;
        Sampling *sampling;
        NodeSet here, elsewhere;
        Policy policy;
        PolicyInfo counters[2];
        Instance *instance;
        Capture said;
} TestHost;

static Process self(pid_t pid) {
        return (Process){ .id = { pid, 100 },
                          .exe = strdup("/x"),
                          .unit = strdup("tidb-4000.service") };
}

/* The same process once more: it counts as often. */
static void add(TestHost *h, unsigned n) {
        for (unsigned k = 0; k < n; k++) {
                Process process = self(getpid() + (pid_t)h->instance->n_members);
                ProcHandle handle = PROC_HANDLE_NONE;

                assert_int_equal(proc_open(&h->rooms.host.sysroot, getpid(), &handle), 0);
                assert_int_equal(instance_add_process(h->instance, &process, &handle), 0);
        }
}

static void remove_all_but(TestHost *h, size_t n) {
        while (h->instance->n_members > n)
                instance_remove_process(h->instance, h->instance->n_members - 1);
}

/* It is to be there, and is only observed. Empty: it has no place. */
static void place(TestHost *h, const NodeSet *nodes) {
        h->policy.place = (Place){ .count = 1, .nodes = *nodes };
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        place_refresh(&h->rooms.placing);
        binding_work(&h->rooms.binding, h->instance, WORK_POLICY, clock_monotonic_usec());
        reconcile_due(&h->rooms.binding, clock_monotonic_usec());
}

static void host_init(TestHost *h) {
        Topology *t = &h->rooms.host.topology;
        ProcHandle handle = PROC_HANDLE_NONE;
        Process process = self(getpid());

        *h = (TestHost){ .rooms = { .host.sysroot = SYSROOT_NONE },
                         .sampling = &h->rooms.sampling,
                         .elsewhere = node_set("1023"),
                         .policy = { .name = (char *)"tidb", .file = (char *)"p.yaml" } };
        n_draws = 0;
        assert_int_equal(sysroot_open(NULL, &h->rooms.host.sysroot), 0);
        assert_int_equal(topology_load(&h->rooms.host.sysroot, t), 0);
        h->here = topology_nodes(t);
        t->nodes = reallocarray(t->nodes, t->n_nodes + 1, sizeof(*t->nodes));
        assert_non_null(t->nodes);
        t->nodes[t->n_nodes++] =
                (Node){ .id = ELSEWHERE, .memory_bytes = 1 << 30, .cpus = cpu_set("8191") };
        free(t->distances);
        t->distances = NULL;
        fake_init(&h->runtime);
        journal_init(&h->rooms.host.journal, false);
        h->rooms.host.args = &h->args;
        h->rooms.host.runtime_fd = h->runtime.fd;
        h->rooms.host.policies = (PolicySet){ .policies = &h->policy,
                                              .n_policies = 1,
                                              .mode = ENFORCEMENT_OBSERVE,
                                              .sampling_interval_usec = SEC(10),
                                              .sampling_budget_ppm = 10000 };
        h->rooms.host.policies_known = true;
        h->rooms.host.backend.why_not = "it is a test";
        h->rooms.host.policy_counters = h->counters;
        rooms_wire(&h->rooms);
        assert_int_equal(proc_open(&h->rooms.host.sysroot, getpid(), &handle), 0);
        h->instance = rooms_add(&h->rooms, &h->policy, &process, &handle);
        sampling_begin_round(h->sampling, clock_monotonic_usec());
        CAPTURE_STDERR(&h->said, place(h, &h->here));
}

static void host_done(TestHost *h) {
        rooms_free_instances(&h->rooms);
        sampling_done(h->sampling);
        topology_done(&h->rooms.host.topology);
        sysroot_close(&h->rooms.host.sysroot);
        fake_done(&h->runtime);
}
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

/* A clock that does not advance: no pass reaches its time limit. */
static uint64_t still(void) {
        return 1;
}

/* A clock that advances by 3 ms each time it is read: two processes fit into a pass of 5 ms. */
static uint64_t slow(void) {
        static uint64_t now; /* only its differences count */

        return now += 3000;
}

static void draw(TestHost *h, uint64_t (*clock_usec)(void), int error) {
        CAPTURE_STDERR(&h->said,
                       assert_int_equal(sample_draw(h->sampling, h->instance, clock_usec), error));
}

static void draw_often(TestHost *h) {
        for (size_t n = 0; n < 20; n++)
                draw(h, still, 0);
}

/* As it is published: how it is known, where it is, and how much. */
static void assert_published(TestHost *h, const char *method, double remote, uint64_t least,
                             uint64_t most) {
        _cleanup_status_ Snapshot s = { 0 };
        const InstanceInfo *i;
        uint64_t bytes = 0;

        rooms_publish(&h->rooms, &h->runtime, &s);
        assert_int_equal(s.n_instances, 1);
        i = &s.instances[0];
        if (!method) {
                assert_null(i->memory_method);
                assert_true(isnan(i->remote_ratio));
                return;
        }
        assert_string_equal(i->memory_method, method);
        assert_true(fabs(i->remote_ratio - remote) < 0.00001);
        for (size_t n = 0; n < i->n_memory; n++)
                bytes += i->memory_by_node[n].anon_bytes;
        assert_in_range(bytes, least, most);
}

static void assert_sampled(TestHost *h, double remote) {
        assert_published(h, "sampled", remote, 100000, UINT64_MAX);
}

/* How often a complete sample has been reported. */
static unsigned n_reported(TestHost *h, const char *method) {
        const double n =
                rooms_metric(&h->rooms, &h->runtime,
                             fmt("tidbnumad_sample_duration_seconds_count{method=\"%s\"}", method));

        return isnan(n) ? 0 : (unsigned)n;
}

HOST_TEST(drawn) {
        assert_published(h, NULL, 0, 0, 0);
        assert_true(isnan(sample_ratio(h->instance, &h->here)));
        draw(h, still, 0);
        assert_sampled(h, 0);
        assert_false(h->instance->memory_known); /* nothing is decided by it */
        assert_true(sample_ratio(h->instance, &h->here) == 0);
        assert_true(isnan(sample_ratio(h->instance, &h->elsewhere))); /* that was not asked */
        assert_int_equal(n_reported(h, "sampled"), 1);
        assert_int_equal(n_reported(h, "numa_stat"), 0);
        place(h, &h->elsewhere);
        draw(h, still, 0);
        assert_sampled(h, 1);
}

/* A worker that answers when it is asked again, and has needed a quarter of a second. */
int __wrap_worker_draw(Workers *workers, const Topology *topology, const ProcHandle *process,
                       size_t n_pages, uint64_t seed, Draws *ret, uint64_t *ret_cpu_usec);
int __wrap_worker_draw(_unused_ Workers *workers, const Topology *topology,
                       const ProcHandle *process, size_t n_pages, uint64_t seed, Draws *ret,
                       uint64_t *ret_cpu_usec) {
        static bool asked;

        asked = !asked;
        if (asked)
                return -EAGAIN;
        *ret_cpu_usec = 250000;
        return __real_sampler_draw(topology, process, n_pages, seed, ret);
}

/* The duration of a sample has the time of the worker, as the budget has. */
HOST_TEST(by_a_worker) {
        h->rooms.host.workers = (Workers *)h; /* any */
        draw(h, still, -EAGAIN);
        draw(h, still, 0);
        h->rooms.host.workers = NULL;
        assert_int_equal(n_reported(h, "sampled"), 1);
        assert_true(rooms_metric(&h->rooms, &h->runtime,
                                 "tidbnumad_sample_duration_seconds_sum{method=\"sampled\"}") >=
                    0.25);
        sampling_begin_round(h->sampling, 0);
        assert_true(sampling_interval_usec(h->sampling) >= SEC(25)); /* by one per cent */
}

/* Not bound: outside of where its threads ran. */
HOST_TEST(without_a_place) {
        Topology *t = &h->rooms.host.topology;
        const CpuSet cpus = topology_cpus(t);
        const NodeSet none = node_set("1000");

        for (size_t n = 0; n < t->n_nodes; n++)
                t->nodes[n].cpus = t->nodes[n].id == ELSEWHERE ? cpus : cpu_set("");
        place(h, &none);
        draw(h, still, 0);
        assert_sampled(h, 1);
}

/* The interval is ten seconds, the longest pause ten minutes. */
HOST_TEST(what_rests_is_drawn_less_often) {
        uint64_t now;

        assert_true(sample_is_due(h->instance, 0)); /* never drawn */
        draw(h, still, 0);
        assert_true(sample_is_due(h->instance, clock_monotonic_usec() + SEC(10)));
        draw_often(h);
        now = clock_monotonic_usec();
        assert_false(sample_is_due(h->instance, now + SEC(540)));
        assert_true(sample_is_due(h->instance, now + SEC(600)));
        add(h, 1);
        assert_true(sample_is_due(h->instance, now));
        draw_often(h);
        assert_false(sample_is_due(h->instance, clock_monotonic_usec()));
        move_progress_add(&h->rooms.binding, h->instance, 4096);
        assert_true(sample_is_due(h->instance, clock_monotonic_usec()));
        draw_often(h);
        assert_false(sample_is_due(h->instance, clock_monotonic_usec()));
        place(h, &h->elsewhere);
        assert_true(sample_is_due(h->instance, clock_monotonic_usec()));
        draw(h, still, 0);
        assert_true(sample_is_due(h->instance, clock_monotonic_usec() + SEC(10)));
        /* On request. */
        draw_often(h);
        assert_false(sample_is_due(h->instance, clock_monotonic_usec() + SEC(10)));
        sampling_forget_steady(h->sampling);
        assert_true(sample_is_due(h->instance, clock_monotonic_usec()));
        draw(h, still, 0);
        assert_true(sample_is_due(h->instance, clock_monotonic_usec() + SEC(10)));
}

/* Of five processes, two in a pass; all in one, were it so quick. */
HOST_TEST(a_pass_ends) {
        add(h, 4);
        draw(h, slow, -EAGAIN);
        assert_int_equal(n_draws, 2);
        assert_published(h, NULL, 0, 0, 0); /* not from a part */
        assert_int_equal(n_reported(h, "sampled"), 0);
        draw(h, slow, -EAGAIN);
        assert_int_equal(n_draws, 4);
        draw(h, slow, 0);
        assert_int_equal(n_draws, 5);
        assert_published(h, "sampled", 0, 500000, UINT64_MAX);
        assert_int_equal(n_reported(h, "sampled"), 1);
        draw(h, still, 0);
        assert_int_equal(n_draws, 10);
}

/* What is known stands while the next draw is under way; another round, or other processes, and
 * the draw begins anew. */
HOST_TEST(turns_of_one_round) {
        add(h, 4);
        draw(h, still, 0);
        assert_false(sample_is_due(h->instance, clock_monotonic_usec()));
        draw(h, slow, -EAGAIN);
        assert_sampled(h, 0);
        assert_true(sample_is_due(h->instance, clock_monotonic_usec()));
        sampling_begin_round(h->sampling, clock_monotonic_usec());
        draw(h, slow, -EAGAIN);
        draw(h, slow, -EAGAIN);
        add(h, 1);
        n_draws = 0;
        draw(h, still, 0);
        assert_int_equal(n_draws, 6);
        draw(h, slow, -EAGAIN);
        remove_all_but(h, 0);
        draw(h, slow, -E2BIG);
        assert_true(isnan(sample_ratio(h->instance, &h->here)));
}

/* Why, once; not of what has ended, nor of what is gone while it is looked at. */
HOST_TEST(why_not) {
        static const char why[] = "memory of tidb-4000 cannot be sampled: it has too many";
        Process gone = self(getpid());
        ProcHandle handle = PROC_HANDLE_NONE;

        for (unsigned k = 0; k < 2; k++) {
                add(h, 99);
                draw(h, still, -E2BIG);
                assert_contains(h->said.text, why);
                draw(h, still, -E2BIG);
                assert_string_equal(h->said.text, "");
                remove_all_but(h, 1);
                draw(h, still, 0);
                assert_sampled(h, 0);
        }
        remove_all_but(h, 0);
        draw(h, still, -E2BIG);
        assert_string_equal(h->said.text, "");
        assert_true(isnan(sample_ratio(h->instance, &h->here)));
        handle.pid = getpid();
        handle.dir_fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* no such file there */
        assert_int_equal(instance_add_process(h->instance, &gone, &handle), 0);
        draw(h, still, -ESRCH);
        assert_string_equal(h->said.text, "");
}

/* --- counted --- */

static void group_count(const FakeTree *tree, const char *anon_bytes) {
        fake_write(tree, "sys/fs/cgroup/a/memory.numa_stat",
                   fmt("anon N0=%s\nfile N0=0\n", anon_bytes));
}

static void assert_counted(TestHost *h, const FakeTree *tree, int error) {
        _cleanup_close_ int fd = -EBADF;

        assert_int_equal(cgroup_open(&tree->sysroot, "/a", &fd), 0);
        assert_int_equal(sample_count(h->sampling, h->instance, fd), error);
}

/* A group that came to count late is not believed, and what was drawn stands. */
HOST_TEST(counted_takes_its_place) {
        static const struct {
                const char *anon_bytes, *status; /* of a second process */
                bool counts;
        } rows[] = {
                { "4096", "Name:\tx\n", true }, /* it has just ended */
                { "4096", "Name:\tx\nRssAnon:\t400000000 kB\nRssFile:\t0 kB\nRssShmem:\t0 kB\n",
                  false },
                { "409600000000",
                  "Name:\tx\nRssAnon:\t400000000 kB\nRssFile:\t0 kB\nRssShmem:\t0 kB\n", true },
        };
        _cleanup_fake_ FakeTree tree;

        fake_init(&tree);
        group_count(&tree, "4096");
        draw(h, still, 0);
        assert_counted(h, &tree, 0);
        assert_int_equal(n_reported(h, "numa_stat"), 1);
        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Process second = self(getpid() + 1);
                ProcHandle handle = PROC_HANDLE_NONE;

                draw(h, still, 0);
                assert_sampled(h, 0);
                fake_write(&tree, "proc/9/status", rows[k].status);
                handle.pid = 9;
                handle.dir_fd =
                        openat(tree.sysroot.proc_fd, "9", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_int_equal(instance_add_process(h->instance, &second, &handle), 0);
                group_count(&tree, rows[k].anon_bytes);
                assert_counted(h, &tree, rows[k].counts ? 0 : -ENODATA);
                assert_true(isnan(sample_ratio(h->instance, &h->here)) == rows[k].counts);
                assert_true(sample_halfwidth(h->instance) == 0 || !rows[k].counts);
                remove_all_but(h, 1);
        }
        assert_int_equal(n_reported(h, "numa_stat"), 3);
}

/* --- rounds --- */

/* So much of the CPU, since the last one. */
static void round_costs(TestHost *h, uint64_t usec) {
        Begun begun = cost_begin();

        begun.cpu_usec -= usec;
        cost_pause(h->sampling, begun);
}

/* The budget allows a second each 100 s, once the round is over that has cost it. */
HOST_TEST(interval_from_the_last_round) {
        const uint64_t begun = SEC(1000);

        assert_int_equal(sampling_interval_usec(h->sampling), SEC(10));
        round_costs(h, SEC(1));
        assert_int_equal(sampling_interval_usec(h->sampling), SEC(10));
        sampling_begin_round(h->sampling, begun);
        assert_in_range(sampling_interval_usec(h->sampling), SEC(100), SEC(101));
        assert_false(sampling_is_due(h->sampling, begun + SEC(60)));
        assert_true(sampling_is_due(h->sampling, begun + SEC(102)));
        sampling_begin_round(h->sampling, begun);
        assert_int_equal(sampling_interval_usec(h->sampling), SEC(10));
        assert_false(sampling_is_due(h->sampling, begun + SEC(9)));
        assert_true(sampling_is_due(h->sampling, begun + SEC(10) - 100000)); /* an early timer */
}
