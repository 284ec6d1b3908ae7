/* What the daemon makes of samples: of this very process, on this host's first nodes. */
#include <math.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "../../support/id-sets.h"
#include "capture.h"
#include "rooms.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/world/topology-load.h"

typedef struct TestHost {
        Rooms rooms;
        Instance instance;
        ProcHandle handle;
        Member members[1];
        Policy policy;
        Capture said;
} TestHost;

static void host_init(TestHost *h) {
        *h = (TestHost){ .rooms = { .host.sysroot = SYSROOT_NONE } };
        assert_int_equal(sysroot_open(NULL, &h->rooms.host.sysroot), 0);
        assert_int_equal(topology_load(&h->rooms.host.sysroot, &h->rooms.host.topology), 0);
        assert_int_equal(proc_open(&h->rooms.host.sysroot, getpid(), &h->handle), 0);
        h->members[0].handle = &h->handle;
        journal_init(&h->rooms.host.journal, false);
        rooms_wire(&h->rooms);
        h->policy = (Policy){ .name = (char *)"tidb" };
        h->rooms.host.policies.sampling_interval_usec = 10000000;
        h->rooms.host.policies.sampling_budget_ppm = 10000;
        h->instance = (Instance){
                .name = (char *)"tidb-4000",
                .policy = &h->policy,
                .members = h->members,
                .n_members = 1,
                .sampling.remote_ratio = NAN,
        };
        h->instance.by_node = calloc(h->rooms.host.topology.n_nodes, sizeof(NodeMemory));
        h->instance.binding.placement.nodes = topology_nodes(&h->rooms.host.topology);
}

static void host_done(TestHost *h) {
        free(h->instance.by_node);
        proc_close(&h->handle);
        topology_done(&h->rooms.host.topology);
        sysroot_close(&h->rooms.host.sysroot);
}
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

/* A clock that does not advance: no pass reaches its time limit. */
static uint64_t still(void) {
        return 1;
}

/* A clock that advances by 3 ms each time it is read. */
static uint64_t slow(void) {
        static uint64_t now; /* only its differences count */

        return now += 3000;
}

static uint64_t anon_bytes(const TestHost *h) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < h->rooms.host.topology.n_nodes; i++)
                bytes += h->instance.by_node[i].anon_bytes;
        return bytes;
}

HOST_TEST(drawn) {
        const NodeSet elsewhere = node_set("1023");

        assert_true(isnan(sample_ratio(&h->instance, &h->instance.binding.placement.nodes)));
        assert_true(sample_halfwidth(&h->instance) == 0);
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        assert_true(h->instance.sampling.sampled);
        assert_false(h->instance.memory_known); /* nothing is decided by it */
        assert_true(anon_bytes(h) > 100000);
        assert_true(h->instance.sampling.remote_ratio == 0);
        assert_true(sample_ratio(&h->instance, &h->instance.binding.placement.nodes) == 0);
        assert_true(isnan(sample_ratio(&h->instance, &elsewhere))); /* that was not asked */
        assert_int_equal(h->rooms.sampling.rounds.durations[SAMPLE_DRAWN].n, 1);
        assert_int_equal(h->rooms.sampling.rounds.durations[SAMPLE_NUMA_STAT].n, 0);
        h->instance.binding.placement.nodes = elsewhere;
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        assert_true(h->instance.sampling.remote_ratio > 0.999999);
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
        return sampler_draw(topology, process, n_pages, seed, ret);
}

/* The duration of a sample has the time of the worker, as the budget has. */
HOST_TEST(by_a_worker) {
        const SampleRounds *rounds = &h->rooms.sampling.rounds;

        h->rooms.host.workers = (Workers *)h; /* any */
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), -EAGAIN);
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        assert_int_equal(rounds->durations[SAMPLE_DRAWN].n, 1);
        assert_true(rounds->durations[SAMPLE_DRAWN].sum >= 0.25);
        assert_true(rounds->cost_usec >= 250000);
}

/* The interval is ten seconds, the longest pause ten minutes. */
HOST_TEST(what_rests_is_drawn_less_often) {
        const uint64_t minute = UINT64_C(60) * 1000000;
        uint64_t now;

        h->rooms.sampling.rounds.interval_usec = 10000000;
        assert_true(sample_is_due(&h->instance, 0)); /* never drawn */
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        now = clock_monotonic_usec();
        assert_true(sample_is_due(&h->instance, now + 10000000));
        for (size_t n = 0; n < 20; n++)
                assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        now = clock_monotonic_usec();
        assert_false(sample_is_due(&h->instance, now + 9 * minute));
        assert_true(sample_is_due(&h->instance, now + 10 * minute));

        h->instance.n_member_changes++; /* a process has come */
        assert_true(sample_is_due(&h->instance, now));
        h->instance.n_member_changes--;
        h->instance.binding.migrated_bytes += 4096;
        assert_true(sample_is_due(&h->instance, now));
        h->instance.binding.migrated_bytes -= 4096;
        assert_false(sample_is_due(&h->instance, now));

        h->instance.binding.placement.nodes = node_set("1023"); /* another place */
        assert_true(sample_is_due(&h->instance, now));
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        assert_true(sample_is_due(&h->instance, clock_monotonic_usec() + 10000000));
}

TEST(a_request_draws_what_rests) {
        TestHost h;
        Instance *list[] = { &h.instance };

        host_init(&h);
        h.rooms.registry.instances = list;
        h.rooms.registry.n_instances = 1;
        h.rooms.sampling.rounds.interval_usec = 10000000;
        for (size_t n = 0; n < 20; n++)
                assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, still), 0);
        assert_false(sample_is_due(&h.instance, clock_monotonic_usec() + 10000000));
        sampling_forget_steady(&h.rooms.sampling);
        assert_true(sample_is_due(&h.instance, clock_monotonic_usec()));
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, still), 0);
        assert_true(sample_is_due(&h.instance, clock_monotonic_usec() + 10000000));
        h.rooms.registry.n_instances = 0;
        host_done(&h);
}

/* Not bound: outside of where its threads ran. */
HOST_TEST(without_a_place) {
        h->instance.binding.placement.nodes = (NodeSet){ 0 };
        h->instance.binding.observed.last_nodes = node_set("1023");
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        assert_true(h->instance.sampling.remote_ratio > 0.999999);
}

HOST_TEST(nothing_known_of_what_ended) {
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        h->instance.n_members = 0;
        assert_true(sample_draw(&h->rooms.sampling, &h->instance, still) < 0);
        assert_false(h->instance.sampling.sampled);
        assert_true(isnan(h->instance.sampling.remote_ratio));
        assert_true(isnan(sample_ratio(&h->instance, &h->instance.binding.placement.nodes)));
}

enum { PROCESSES = 5 };

/* The same process, five times: at 3 ms each, two of them fit into a pass of 5 ms. */
static void five(TestHost *h, Member members[static PROCESSES]) {
        host_init(h);
        for (size_t i = 0; i < PROCESSES; i++)
                members[i] = (Member){ .handle = &h->handle };
        h->instance.members = members;
        h->instance.n_members = PROCESSES;
}

TEST(a_pass_ends) {
        Member members[PROCESSES];
        TestHost h;

        five(&h, members);
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, slow), -EAGAIN);
        assert_int_equal(h.rooms.sampling.rounds.n_draws, 2);
        assert_false(h.instance.sampling.sampled); /* not from a part */
        assert_int_equal(h.rooms.sampling.rounds.durations[SAMPLE_DRAWN].n, 0);
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, slow), -EAGAIN);
        assert_int_equal(h.rooms.sampling.rounds.n_draws, 4);
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, slow), 0);
        assert_int_equal(h.rooms.sampling.rounds.n_draws, 5);
        assert_true(h.instance.sampling.sampled);
        assert_true(h.instance.sampling.remote_ratio == 0);
        assert_true(anon_bytes(&h) > 5 * 100000); /* of all five */
        assert_int_equal(h.rooms.sampling.rounds.durations[SAMPLE_DRAWN].n, 1);
        assert_null(h.instance.sampling.drawing);
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, still),
                         0); /* all in one pass, were it so quick */
        assert_int_equal(h.rooms.sampling.rounds.n_draws, 10);
        host_done(&h);
}

/* What is known stands while the next draw is under way; another round, or other processes, and
 * the draw begins anew. */
TEST(turns_of_one_round) {
        Member members[PROCESSES];
        TestHost h;

        five(&h, members);
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, still), 0);
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, slow), -EAGAIN);
        assert_true(h.instance.sampling.sampled);
        sampling_begin_round(&h.rooms.sampling, clock_monotonic_usec());
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, slow), -EAGAIN);
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, slow), -EAGAIN);
        h.instance.n_member_changes++;
        h.rooms.sampling.rounds.n_draws = 0;
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, still), 0);
        assert_int_equal(h.rooms.sampling.rounds.n_draws, PROCESSES);
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, slow), -EAGAIN);
        h.instance.n_members = 0;
        assert_int_equal(sample_draw(&h.rooms.sampling, &h.instance, slow), -E2BIG);
        assert_null(h.instance.sampling.drawing);
        host_done(&h);
}

static void draw_in_vain(TestHost *h, int error) {
        CAPTURE_STDERR(
                &h->said,
                assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), error));
}

/* Why, once; not of what has ended, nor of what is gone while it is looked at. */
HOST_TEST(why_not) {
        Member members[100];
        ProcHandle elsewhere = h->handle;

        for (size_t i = 0; i < 100; i++)
                members[i] = (Member){ .handle = &h->handle };
        h->instance.members = members;
        h->instance.n_members = 100;
        draw_in_vain(h, -E2BIG);
        assert_contains(h->said.text, "memory of tidb-4000 cannot be sampled: it has too many");
        draw_in_vain(h, -E2BIG);
        assert_string_equal(h->said.text, "");
        h->instance.n_members = 1;
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        h->instance.n_members = 100;
        draw_in_vain(h, -E2BIG);
        assert_contains(h->said.text, "cannot be sampled");
        h->instance.sampling.not_drawn_logged = false;
        h->instance.n_members = 0;
        draw_in_vain(h, -E2BIG);
        assert_string_equal(h->said.text, "");
        h->instance.n_members = 1;
        elsewhere.dir_fd = h->rooms.host.sysroot.sys_fd; /* there is no such file */
        members[0].handle = &elsewhere;
        draw_in_vain(h, -ESRCH);
        assert_string_equal(h->said.text, "");
}

HOST_TEST(counted_takes_its_place) {
        _cleanup_fake_ FakeTree tree;
        _cleanup_close_ int fd = -EBADF;

        fake_init(&tree);
        fake_write(&tree, "sys/fs/cgroup/a/memory.numa_stat", "anon N0=4096\nfile N0=0\n");
        assert_int_equal(cgroup_open(&tree.sysroot, "/a", &fd), 0);
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        h->instance.sampling.sampled_halfwidth = 0.5;
        assert_true(sample_halfwidth(&h->instance) > 0);
        assert_int_equal(sample_count(&h->rooms.sampling, &h->instance, fd), 0);
        assert_false(h->instance.sampling.sampled);
        assert_true(sample_halfwidth(&h->instance) == 0);
        assert_int_equal(anon_bytes(h), 4096);
        assert_int_equal(h->rooms.sampling.rounds.durations[SAMPLE_NUMA_STAT].n, 1);
}

static void set_resident(const FakeTree *tree, const char *kib) {
        char text[256];

        (void)snprintf(text, sizeof(text),
                       "Name:\tx\nRssAnon:\t%s kB\nRssFile:\t0 kB\nRssShmem:\t0 kB\n", kib);
        fake_write(tree, "proc/9/status", text);
}

/* A group that came to count late: it is not believed, and what was drawn stands. */
HOST_TEST(counted_in_part) {
        _cleanup_fake_ FakeTree tree;
        _cleanup_close_ int fd = -EBADF, dir_fd = -EBADF;
        ProcHandle other;
        Member members[2];
        uint64_t drawn;

        fake_init(&tree);
        fake_write(&tree, "sys/fs/cgroup/a/memory.numa_stat", "anon N0=4096\nfile N0=0\n");
        assert_int_equal(cgroup_open(&tree.sysroot, "/a", &fd), 0);
        assert_int_equal(sample_draw(&h->rooms.sampling, &h->instance, still), 0);
        drawn = anon_bytes(h);
        set_resident(&tree, "400000000");
        dir_fd = openat(tree.sysroot.proc_fd, "9", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        other = (ProcHandle){ .pid = 9, .dir_fd = dir_fd, .pidfd = -EBADF };
        members[0] = (Member){ .handle = &h->handle };
        members[1] = (Member){ .handle = &other };
        h->instance.members = members;
        h->instance.n_members = 2;
        assert_int_equal(sample_count(&h->rooms.sampling, &h->instance, fd), -ENODATA);
        assert_true(h->instance.sampling.sampled);
        assert_int_equal(anon_bytes(h), drawn);
        assert_int_equal(h->rooms.sampling.rounds.durations[SAMPLE_NUMA_STAT].n, 0);
        fake_write(&tree, "sys/fs/cgroup/a/memory.numa_stat", "anon N0=409600000000\nfile N0=0\n");
        assert_int_equal(sample_count(&h->rooms.sampling, &h->instance, fd), 0);
        assert_true(anon_bytes(h) == UINT64_C(409600000000));
        fake_write(&tree, "sys/fs/cgroup/a/memory.numa_stat", "anon N0=4096\nfile N0=0\n");
        fake_write(&tree, "proc/9/status", "Name:\tx\n"); /* it has just ended */
        assert_int_equal(sample_count(&h->rooms.sampling, &h->instance, fd), 0);
}

HOST_TEST(a_round_is_due_after_the_interval_in_force) {
        const uint64_t begun = UINT64_C(1000) * 1000 * 1000;

        h->rooms.sampling.rounds.cost_usec = 1000000; /* which the budget allows each 100 s */
        sampling_begin_round(&h->rooms.sampling, begun);
        assert_false(sampling_is_due(&h->rooms.sampling, begun + 60000000));
        assert_true(sampling_is_due(&h->rooms.sampling, begun + 100000000));
        sampling_begin_round(&h->rooms.sampling, begun);
        assert_false(sampling_is_due(&h->rooms.sampling, begun + 9000000));
        assert_true(
                sampling_is_due(&h->rooms.sampling, begun + 9900000)); /* a timer that is early */
}

HOST_TEST(interval_from_the_last_round) {
        assert_int_equal(sampling_interval_usec(&h->rooms.sampling), 10000000);
        h->rooms.sampling.rounds.cost_usec = 1000000;
        assert_int_equal(sampling_interval_usec(&h->rooms.sampling), 10000000); /* it is not over */
        sampling_begin_round(&h->rooms.sampling, clock_monotonic_usec());
        assert_int_equal(sampling_interval_usec(&h->rooms.sampling), 100000000);
        assert_int_equal(h->rooms.sampling.rounds.cost_usec, 0);
        sampling_begin_round(&h->rooms.sampling, clock_monotonic_usec());
        assert_int_equal(sampling_interval_usec(&h->rooms.sampling), 10000000);
}
