/* Machines of a few files: what whole dumps show is the golden suite's. */
#include <errno.h>
#include <sched.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "fake-machine.h"
#include "tidbnumad/observe/topology-load.h"

TEST(gaps_and_memory_only) {
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_fake_ FakeTree tree;

        fake_machine(&tree);
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

TEST(cpu_that_is_offline) {
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_fake_ FakeTree tree;

        fake_machine(&tree);
        fake_write(&tree, CPUS "online", "0-2\n");
        fake_write(&tree, CPUS "cpu3/online", "0\n");
        fake_write(&tree, NODES "node2/cpumap", "4\n");
        assert_int_equal(topology_load(&tree.sysroot, &t), 0);
        assert_ids(topology_cpus(&t), "0-2");
}

/* Threads of one core, as SMT machines number them, and a core whose first thread is offline. */
TEST(first_threads) {
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_fake_ FakeTree tree;

        fake_machine(&tree);
        for (unsigned cpu = 0; cpu < 4; cpu++) {
                static const char *const files[] = { "thread_siblings", "core_cpus" };
                char name[128];

                for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                        (void)snprintf(name, sizeof(name), CPUS "cpu%u/topology/%s", cpu, files[i]);
                        fake_write(&tree, name, cpu < 2 ? "3\n" : "c\n");
                }
        }
        assert_int_equal(topology_load(&tree.sysroot, &t), 0);
        assert_ids(t.nodes[0].first_threads, "0");
        assert_ids(t.nodes[1].first_threads, "2");
        assert_ids(t.nodes[2].first_threads, "");
        assert_ids(t.offline_cpus, "");
        topology_done(&t);
        fake_write(&tree, CPUS "online", "0-1,3\n");
        fake_write(&tree, CPUS "cpu2/online", "0\n");
        fake_remove(&tree, CPUS "cpu2/topology");
        fake_write(&tree, CPUS "cpu3/topology/thread_siblings", "8\n");
        fake_write(&tree, CPUS "cpu3/topology/core_cpus", "8\n");
        fake_write(&tree, NODES "node2/cpumap", "8\n");
        assert_int_equal(topology_load(&tree.sysroot, &t), 0);
        assert_ids(t.nodes[1].first_threads, "3");
        assert_ids(t.offline_cpus, "2");
}

/* Sockets that are empty are possible, not offline. */
TEST(cpus_that_are_set_apart) {
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_fake_ FakeTree tree;

        fake_machine(&tree);
        fake_write(&tree, CPUS "possible", "0-63\n");
        fake_write(&tree, CPUS "present", "0-5\n");
        fake_write(&tree, CPUS "isolated", "1\n");
        fake_write(&tree, CPUS "nohz_full", "1-2\n");
        fake_write(&tree, "sys/fs/cgroup/cpuset.cpus.isolated", "3\n");
        assert_int_equal(topology_load(&tree.sysroot, &t), 0);
        assert_ids(t.offline_cpus, "4-5");
        assert_ids(t.isolated_cpus, "1,3");
        assert_ids(t.nohz_full_cpus, "1-2");
        assert_ids(t.hidden_cpus, "");
        assert_ids(t.hidden_nodes, "");
        topology_done(&t);
        /* A dump without content: what hwloc knows and does not show. */
        fake_write(&tree, CPUS "present", "\n");
        fake_write(&tree, CPUS "online", "0-2\n");
        fake_write(&tree, CPUS "cpu3/online", "0\n");
        assert_int_equal(topology_load(&tree.sysroot, &t), 0);
        assert_ids(t.offline_cpus, "3");
        topology_done(&t);
        /* Without nohz_full=, as kernels before 6.11 say it. */
        fake_write(&tree, CPUS "nohz_full", "  (null)\n");
        fake_write(&tree, CPUS "isolated", "\n");
        fake_remove(&tree, "sys/fs/cgroup/cpuset.cpus.isolated");
        assert_int_equal(topology_load(&tree.sysroot, &t), 0);
        assert_ids(t.isolated_cpus, "");
        assert_ids(t.nohz_full_cpus, "");
}

TEST(this_machine) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_topology_ Topology t = { 0 };
        char text[ID_SET_LIST_MAX];
        cpu_set_t before, after;
        CpuSet cpus, others;

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
        assert_int_equal(topology_load(&sysroot, &t), 0);
        assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
        assert_true(CPU_EQUAL(&before, &after));
        assert_true(read_file_at(sysroot.sys_fd, "devices/system/cpu/online", text, sizeof(text)) >
                    0);
        assert_ids(topology_cpus(&t), text);
        assert_true(read_file_at(sysroot.sys_fd, "devices/system/node/online", text, sizeof(text)) >
                    0);
        assert_ids(topology_nodes(&t), text);
        /* What we may run on ourselves is not hidden; nor is what is offline hidden. */
        cpus = topology_cpus(&t);
        assert_true(id_set_is_subset(&t.hidden_cpus, &cpus));
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
                assert_false(CPU_ISSET(cpu, &before) && id_set_has(&t.hidden_cpus, (uint32_t)cpu));
        assert_false(id_set_intersects(&t.offline_cpus, &cpus));
        for (size_t i = 0; i < t.n_nodes; i++) {
                others = t.nodes[i].first_threads;
                assert_true(id_set_is_subset(&others, &t.nodes[i].cpus));
                assert_int_equal(id_set_is_empty(&others), id_set_is_empty(&t.nodes[i].cpus));
        }
}
