/* Machines of a few files: what whole dumps show is the golden suite's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/observe/topology-load.h"

#define NODES "sys/devices/system/node/"
#define CPUS "sys/devices/system/cpu/"

static void add_node(const FakeTree *tree, unsigned id, const char *cpumap, const char *distance,
                     unsigned kib) {
        char name[128], text[256];

        (void)snprintf(name, sizeof(name), NODES "node%u/cpumap", id);
        fake_write(tree, name, cpumap);
        (void)snprintf(name, sizeof(name), NODES "node%u/distance", id);
        fake_write(tree, name, distance);
        (void)snprintf(name, sizeof(name), NODES "node%u/meminfo", id);
        (void)snprintf(text, sizeof(text), "Node %u MemTotal: %u kB\nNode %u MemFree: 0 kB\n", id,
                       kib, id);
        fake_write(tree, name, text);
}

static void add_cpu(const FakeTree *tree, unsigned cpu, unsigned package) {
        char name[128], text[32];

        (void)snprintf(name, sizeof(name), CPUS "cpu%u/topology/physical_package_id", cpu);
        (void)snprintf(text, sizeof(text), "%u\n", package);
        fake_write(tree, name, text);
        (void)snprintf(name, sizeof(name), CPUS "cpu%u/topology/core_id", cpu);
        (void)snprintf(text, sizeof(text), "%u\n", cpu);
        fake_write(tree, name, text);
        (void)snprintf(text, sizeof(text), "%x\n", 1u << cpu);
        (void)snprintf(name, sizeof(name), CPUS "cpu%u/topology/thread_siblings", cpu);
        fake_write(tree, name, text);
        (void)snprintf(name, sizeof(name), CPUS "cpu%u/topology/core_cpus", cpu);
        fake_write(tree, name, text);
        (void)snprintf(text, sizeof(text), "%x\n", package == 0 ? 0x3 : 0xc);
        (void)snprintf(name, sizeof(name), CPUS "cpu%u/topology/core_siblings", cpu);
        fake_write(tree, name, text);
        (void)snprintf(name, sizeof(name), CPUS "cpu%u/topology/package_cpus", cpu);
        fake_write(tree, name, text);
}

/* Nodes 0 and 2 with two CPUs each, node 5 with memory alone. */
static void init(FakeTree *tree) {
        fake_init(tree);
        for (unsigned cpu = 0; cpu < 4; cpu++)
                add_cpu(tree, cpu, cpu / 2);
        fake_write(tree, CPUS "online", "0-3\n");
        fake_write(tree, CPUS "possible", "0-3\n");
        fake_write(tree, CPUS "present", "0-3\n");
        fake_write(tree, NODES "online", "0,2,5\n");
        add_node(tree, 0, "3\n", "10 21 17\n", 1000);
        add_node(tree, 2, "c\n", "21 10 28\n", 2000);
        add_node(tree, 5, "0\n", "17 28 10\n", 4000);
        fake_write(tree, NODES "has_cpu", "0,2\n");
}

static void test_gaps_and_memory_only(void **state) {
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_fake_ FakeTree tree;

        (void)state;
        init(&tree);
        assert_int_equal(topology_load(&tree.sysroot, &t), 0);
        assert_int_equal(t.n_nodes, 3);
        assert_int_equal(t.nodes[0].id, 0);
        assert_int_equal(t.nodes[1].id, 2);
        assert_int_equal(t.nodes[2].id, 5);
        assert_ids(t.nodes[0].cpus, "0-1");
        assert_ids(t.nodes[1].cpus, "2-3");
        assert_ids(t.nodes[2].cpus, "");
        assert_int_equal(t.nodes[1].memory_bytes, 2000 * 1024);
        assert_int_equal(t.nodes[1].package, 1);
        assert_int_equal(topology_distance(&t, 0, 2), 21);
        assert_int_equal(topology_distance(&t, 5, 2), 28);
        assert_int_equal(topology_distance(&t, 5, 5), 10);
        /* The environment through which it was pointed there is as before. */
        assert_null(getenv("HWLOC_FSROOT"));
        assert_null(getenv("HWLOC_THISSYSTEM"));
        assert_null(getenv("HWLOC_COMPONENTS"));
}

static void test_cpu_that_is_offline(void **state) {
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_fake_ FakeTree tree;

        (void)state;
        init(&tree);
        fake_write(&tree, CPUS "online", "0-2\n");
        fake_write(&tree, CPUS "cpu3/online", "0\n");
        fake_write(&tree, NODES "node2/cpumap", "4\n");
        assert_int_equal(topology_load(&tree.sysroot, &t), 0);
        assert_ids(topology_cpus(&t), "0-2");
}

static void test_this_machine(void **state) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_topology_ Topology t = { 0 };
        char text[ID_SET_LIST_MAX];

        (void)state;
        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(topology_load(&sysroot, &t), 0);
        assert_true(read_file_at(sysroot.sys_fd, "devices/system/cpu/online", text, sizeof(text)) >
                    0);
        assert_ids(topology_cpus(&t), text);
        assert_true(read_file_at(sysroot.sys_fd, "devices/system/node/online", text, sizeof(text)) >
                    0);
        assert_ids(topology_nodes(&t), text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_gaps_and_memory_only),
                cmocka_unit_test(test_cpu_that_is_offline),
                cmocka_unit_test(test_this_machine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
