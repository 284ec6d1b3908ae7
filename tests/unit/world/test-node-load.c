/* Counters of nodes, from a fake machine with the nodes 0 and 2. */
#include <math.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "../../support/id-sets.h"
#include "tidbnumad/world/memory.h"

static Node nodes[] = { { .id = 0 }, { .id = 2 } };
static const Topology topology = { .nodes = nodes, .n_nodes = 2 };

static void load_after(const FakeTree *tree, NodeTimes *times, NodeCounters *ret) {
        nodes[0].cpus = cpu_set("0,2");
        nodes[1].cpus = cpu_set("1,5");
        assert_int_equal(node_load(&tree->sysroot, &topology, times, ret), 0);
}

static void load(const FakeTree *tree, NodeCounters *ret) {
        _cleanup_node_times_ NodeTimes times = { 0 };

        load_after(tree, &times, ret);
}

static void assert_seconds(const NodeCounters *node, NodeMode mode, double ticks) {
        assert_true(fabs(node->cpu_seconds[mode] - ticks / (double)sysconf(_SC_CLK_TCK)) < 1e-6);
}

FAKE_TEST(all) {
        NodeCounters n[2];

        fake_write(tree, "proc/stat",
                   "cpu  0 0 0 0 0 0 0 0\n"
                   "cpu0 1 20 300 4000 50000 600000 7000000 80000000\n"
                   "cpu1 1 1 1 1 1 1 1 1\ncpu2 1 1 1 1 1 1 1 1\ncpu9 5 5 5 5 5 5 5 5\n");
        fake_write(tree, "sys/devices/system/node/node2/meminfo",
                   "Node 2 MemTotal: 100 kB\nNode 2 MemFree: 10 kB\nNode 2 FilePages: 20 kB\n"
                   "Node 2 Shmem: 5 kB\nNode 2 AnonPages: 30 kB\n");
        fake_write(tree, "sys/devices/system/node/node2/numastat",
                   "numa_hit 1\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\n"
                   "other_node 6\n");
        load(tree, n);
        assert_seconds(&n[0], MODE_USER, 23);
        assert_seconds(&n[0], MODE_SYSTEM, 301);
        assert_seconds(&n[0], MODE_IDLE, 4001);
        assert_seconds(&n[0], MODE_IOWAIT, 50001);
        assert_seconds(&n[0], MODE_IRQ, 600001);
        assert_seconds(&n[0], MODE_SOFTIRQ, 7000001);
        assert_seconds(&n[0], MODE_STEAL, 80000001);
        assert_seconds(&n[1], MODE_USER, 2); /* CPU 5 is offline */
        assert_true(n[0].cpu_known && n[1].cpu_known);
        assert_false(n[0].memory_known || n[0].events_known);
        assert_true(n[1].memory_known && n[1].events_known);
        assert_int_equal(n[1].total_bytes, 100 * 1024);
        assert_int_equal(n[1].free_bytes, 10 * 1024);
        assert_int_equal(n[1].file_bytes, 15 * 1024);
        assert_int_equal(n[1].anon_bytes, 30 * 1024);
        for (unsigned e = 0; e < N_NODE_EVENTS; e++)
                assert_int_equal(n[1].events[e], e + 1);
}

/* Each line of numastat is needed, and under its very name. */
TEST(events_that_lack_one) {
        static const char *const texts[] = {
                "numa_hits 1\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\n"
                "other_node 6\n",
                "numa_hit 1\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\n",
                "numa_hit\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\n"
                "other_node 6\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_fake_ FakeTree tree;
                NodeCounters n[2];

                fake_init(&tree);
                fake_write(&tree, "sys/devices/system/node/node2/numastat", texts[i]);
                load(&tree, n);
                assert_false(n[1].events_known);
        }
}

/* All before it are online: its line is the last that is read. */
FAKE_TEST(highest_cpu) {
        NodeCounters n[2];

        fake_write(tree, "proc/stat",
                   "cpu  0 0 0 0 0 0 0 0\ncpu0 1 0 0 0 0 0 0 0\ncpu1 1 0 0 0 0 0 0 0\n"
                   "cpu2 1 0 0 0 0 0 0 0\ncpu3 1 0 0 0 0 0 0 0\ncpu4 1 0 0 0 0 0 0 0\n"
                   "cpu5 7 0 0 0 0 0 0 0\ncpu6 1 0 0 0 0 0 0 0\n");
        load(tree, n);
        assert_seconds(&n[1], MODE_USER, 8);
}

/* User, idle and iowait; seconds of a reading after the first. */
static void assert_grown(const FakeTree *tree, NodeTimes *times, const char *stat, double user,
                         double idle, double iowait) {
        NodeCounters n[2];

        fake_write(tree, "proc/stat", stat);
        load_after(tree, times, n);
        assert_seconds(&n[1], MODE_USER, user);
        assert_seconds(&n[1], MODE_IDLE, idle);
        assert_seconds(&n[1], MODE_IOWAIT, iowait);
}

/* A wait that turns out to be another CPU's: the sum stays until there is more of it. */
FAKE_TEST(no_step_back) {
        _cleanup_node_times_ NodeTimes times = { 0 };

        assert_grown(tree, &times, "cpu1 100 0 0 5000 700 0 0 0\n", 100, 5000, 700);
        assert_grown(tree, &times, "cpu1 101 0 0 5000 690 0 0 0\n", 101, 5000, 700);
        assert_grown(tree, &times, "cpu1 101 0 0 5010 699 0 0 0\n", 101, 5010, 700);
        assert_grown(tree, &times, "cpu1 101 0 0 5010 705 0 0 0\n", 101, 5010, 705);
}

/* Its time stays counted; idle time starts again with it, and time that was not read is not
 * counted. */
FAKE_TEST(offline_and_back) {
        _cleanup_node_times_ NodeTimes times = { 0 };

        assert_grown(tree, &times, "cpu1 100 0 0 50000 7 0 0 0\n", 100, 50000, 7);
        assert_grown(tree, &times, "cpu0 1 0 0 1 1 0 0 0\n", 100, 50000, 7);
        assert_grown(tree, &times, "cpu1 104 0 0 20 7 0 0 0\n", 104, 50000, 7);
        assert_grown(tree, &times, "cpu1 105 0 0 50 7 0 0 0\n", 105, 50030, 7);
        assert_grown(tree, &times, "cpu1 105 0 0 50 7 0 0 0\ncpu5 900 0 0 900 900 0 0 0\n", 105,
                     50030, 7);
        assert_grown(tree, &times, "cpu1 105 0 0 50 7 0 0 0\ncpu5 901 0 0 902 903 0 0 0\n", 106,
                     50032, 10);
}

/* A highest CPU that comes later has a place, too. */
FAKE_TEST(more_cpus) {
        _cleanup_node_times_ NodeTimes times = { 0 };
        NodeCounters n[2];

        fake_write(tree, "proc/stat", "cpu0 5 0 0 0 0 0 0 0\n");
        nodes[0].cpus = cpu_set("0");
        nodes[1].cpus = (CpuSet){ 0 };
        assert_int_equal(node_load(&tree->sysroot, &topology, &times, n), 0);
        assert_seconds(&n[0], MODE_USER, 5);
        assert_false(n[1].cpu_known);
        fake_write(tree, "proc/stat", "cpu0 6 0 0 0 0 0 0 0\ncpu5 1 0 0 0 0 0 0 0\n");
        load_after(tree, &times, n);
        assert_seconds(&n[0], MODE_USER, 6);
        assert_true(n[1].cpu_known);
        assert_seconds(&n[1], MODE_USER, 0);
}

FAKE_TEST(nothing_there) {
        NodeCounters n[2] = { { .cpu_known = true } };

        load(tree, n);
        for (unsigned i = 0; i < 2; i++)
                assert_false(n[i].cpu_known || n[i].memory_known || n[i].events_known);
}
