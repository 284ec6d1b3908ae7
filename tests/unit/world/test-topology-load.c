/* Machines of a few files: what whole dumps show is the golden suite's. */
#include <sched.h>
#include <sys/mman.h>

#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "fake-machine.h"
#include "tidbnumad/world/topology-load.h"

MACHINE_TEST(gaps_and_memory_only) {
        _cleanup_topology_ Topology t = { 0 };

        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
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

MACHINE_TEST(cpu_that_is_offline) {
        _cleanup_topology_ Topology t = { 0 };

        fake_write(tree, CPUS "online", "0-2\n");
        fake_write(tree, CPUS "cpu3/online", "0\n");
        fake_write(tree, NODES "node2/cpumap", "4\n");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(topology_cpus(&t), "0-2");
}

/* hwloc itself would end the program. */
MACHINE_TEST(list_of_nodes_that_is_none) {
        static const char *const lists[] = { "0--1\n", "-1\n", "5-3\n", "7-\n" };
        Topology t;

        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                fake_write(tree, NODES "online", lists[i]);
                assert_int_equal(topology_load(&tree->sysroot, &t), -EINVAL);
        }
}

/* Threads of one core, as SMT machines number them, and a core whose first thread is offline. */
MACHINE_TEST(threads_of_a_core) {
        _cleanup_topology_ Topology t = { 0 };

        for (unsigned cpu = 0; cpu < 4; cpu++) {
                static const char *const files[] = { "thread_siblings", "core_cpus" };

                for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                        fake_write(tree, fmt(CPUS "cpu%u/topology/%s", cpu, files[i]),
                                   cpu < 2 ? "3\n" : "c\n");
                }
        }
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(topology_one_per_core(&t, &t.nodes[0].cpus), "0");
        assert_ids(topology_one_per_core(&t, &t.nodes[1].cpus), "2");
        assert_ids(topology_core(&t, 1), "0-1");
        assert_ids(t.offline_cpus, "");
        topology_done(&t);
        fake_write(tree, CPUS "online", "0-1,3\n");
        fake_write(tree, CPUS "cpu2/online", "0\n");
        fake_remove(tree, CPUS "cpu2/topology");
        fake_write(tree, CPUS "cpu3/topology/thread_siblings", "8\n");
        fake_write(tree, CPUS "cpu3/topology/core_cpus", "8\n");
        fake_write(tree, NODES "node2/cpumap", "8\n");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(topology_one_per_core(&t, &t.nodes[1].cpus), "3");
        assert_ids(t.offline_cpus, "2");
}

/* Sockets that are empty are possible, not offline. */
MACHINE_TEST(cpus_that_are_set_apart) {
        _cleanup_topology_ Topology t = { 0 };

        fake_write(tree, CPUS "possible", "0-63\n");
        fake_write(tree, CPUS "present", "0-5\n");
        fake_write(tree, CPUS "isolated", "1\n");
        fake_write(tree, CPUS "nohz_full", "1-2\n");
        fake_write(tree, "sys/fs/cgroup/cpuset.cpus.isolated", "3\n");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(t.offline_cpus, "4-5");
        assert_ids(t.isolated_cpus, "1,3");
        assert_ids(t.nohz_full_cpus, "1-2");
        assert_ids(t.hidden_cpus, "");
        assert_ids(t.hidden_nodes, "");
        topology_done(&t);
        /* A dump without content: what hwloc knows and does not show. */
        fake_write(tree, CPUS "present", "\n");
        fake_write(tree, CPUS "online", "0-2\n");
        fake_write(tree, CPUS "cpu3/online", "0\n");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(t.offline_cpus, "3");
        topology_done(&t);
        /* Without nohz_full=, as kernels before 6.11 say it. */
        fake_write(tree, CPUS "nohz_full", "  (null)\n");
        fake_write(tree, CPUS "isolated", "\n");
        fake_remove(tree, "sys/fs/cgroup/cpuset.cpus.isolated");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(t.isolated_cpus, "");
        assert_ids(t.nohz_full_cpus, "");
}

MACHINE_TEST(cpus_of_a_partition) {
        _cleanup_topology_ Topology t = { 0 };

        fake_write(tree, "sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
        fake_write(tree, "sys/fs/cgroup/a/cpuset.cpus.partition", "member\n");
        fake_write(tree, "sys/fs/cgroup/a/b/cpuset.cpus.partition", "root invalid (Parent)\n");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(t.taken_cpus, "");
        assert_string_equal(t.taken_by, "");
        topology_done(&t);
        fake_write(tree, "sys/fs/cgroup/cpuset.cpus.effective", "0,2-3\n");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(t.taken_cpus, "1");
        assert_string_equal(t.taken_by, ""); /* by whom is not found */
        topology_done(&t);
        fake_write(tree, "sys/fs/cgroup/a/b/cpuset.cpus.partition", "isolated\n");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_string_equal(t.taken_by, "/a/b");
        assert_ids(topology_withheld_cpus(&t), "1");
}

static void assert_note(const Topology *t, unsigned number, const char *expected) {
        _cleanup_text_ Text note = { 0 };

        topology_append_note(t, number, &note);
        assert_string_equal(note.data ? note.data : "", expected);
}

static void assert_no_notes(const Topology *t) {
        for (unsigned i = 0; i < TOPOLOGY_NOTES; i++)
                assert_note(t, i, "");
}

/* hwloc's own words, up to twelve lines, must not reach the operator. */
static void load_quietly(const FakeTree *tree, Topology *t) {
        _cleanup_close_ int said = memfd_create("said", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
        int r;

        assert_true(said >= 0 && saved >= 0 && dup2(said, STDERR_FILENO) >= 0);
        r = topology_load(&tree->sysroot, t);
        assert_true(dup2(saved, STDERR_FILENO) >= 0);
        assert_int_equal(r, 0);
        assert_int_equal(lseek(said, 0, SEEK_END), 0);
}

/* Nothing about a machine whose files agree. */
MACHINE_TEST(no_notes) {
        _cleanup_topology_ Topology t = { 0 };

        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_no_notes(&t);
}

/* Faulty firmware and numa=fake: hwloc drops the second node that lists a CPU. */
MACHINE_TEST(nodes_with_the_same_cpus) {
        _cleanup_topology_ Topology t = { 0 };

        fake_node(tree, 0, "f\n", "10 11 12\n", 1000);
        fake_node(tree, 2, "f\n", "21 10 13\n", 2000);
        fake_node(tree, 5, "f\n", "22 23 10\n", 4000);
        fake_remove(tree, NODES "has_cpu");
        load_quietly(tree, &t);
        assert_ids(topology_nodes(&t), "0,2,5");
        assert_ids(topology_homes(&t), "0");
        assert_ids(t.nodes[0].cpus, "0-3");
        assert_ids(t.nodes[1].cpus, "");
        assert_int_equal(t.nodes[1].memory_bytes, 2000 * 1024);
        assert_int_equal(topology_distance(&t, 5, 2), 23);
        assert_string_equal(topology_why_no_home(&t.nodes[2]), "lists CPUs of another node");
        assert_note(&t, 0,
                    "nodes 2,5 list CPUs that a node with a lower number lists too (faulty "
                    "firmware or numa=fake): they are kept as memory, and no instance is placed "
                    "on them");
}

/* Each CPU stays in one node, and none is taken for offline; a node that shares CPUs with
 * another one is no candidate. */
MACHINE_TEST(nodes_that_cross) {
        _cleanup_topology_ Topology t = { 0 };

        fake_node(tree, 2, "e\n", "21 10 28\n", 2000);
        load_quietly(tree, &t);
        assert_ids(t.nodes[0].cpus, "0-1");
        assert_ids(t.nodes[1].cpus, "2-3");
        assert_ids(t.offline_cpus, "");
        assert_ids(topology_homes(&t), "0");
        assert_note(&t, 0,
                    "node 2 lists CPUs that a node with a lower number lists too (faulty firmware "
                    "or numa=fake): it is kept as memory, and no instance is placed on it");
}

MACHINE_TEST(node_that_cannot_be_read) {
        _cleanup_topology_ Topology t = { 0 };

        fake_write(tree, NODES "online", "0,2,5,7\n");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(topology_nodes(&t), "0,2,5");
        assert_note(&t, 1, "node 7 is online, but its CPUs cannot be read: it is not used");
}

TEST(unknown_packages) {
        static const char *const ids[] = { "-1\n", "7\n", "many\n", NULL };

        for (size_t i = 0; i < ELEMENTSOF(ids); i++) {
                _cleanup_topology_ Topology t = { 0 };
                _cleanup_fake_ FakeTree tree;

                fake_machine(&tree);
                /* Of two CPUs of node 2 the other is in package 1. */
                if (ids[i])
                        fake_write(&tree, CPUS "cpu3/topology/physical_package_id", ids[i]);
                else
                        fake_remove(&tree, CPUS "cpu3/topology/physical_package_id");
                assert_int_equal(topology_load(&tree.sysroot, &t), 0);
                assert_int_equal(t.nodes[0].package, 0);
                assert_int_equal(t.nodes[1].package, PACKAGE_UNKNOWN);
                assert_note(&t, 2,
                            "node 2 has no known socket (physical_package_id of its CPUs is "
                            "missing or differs): it shares a socket with no other node");
                assert_false(topology_same_package(&t.nodes[0], &t.nodes[1]));
                assert_true(topology_same_package(&t.nodes[1], &t.nodes[1]));
        }
}

/* PowerPC: no CPU knows its socket, and two unknown ones are not the same. */
MACHINE_TEST(no_packages) {
        _cleanup_topology_ Topology t = { 0 };

        for (unsigned cpu = 0; cpu < 4; cpu++) {
                fake_write(tree, fmt(CPUS "cpu%u/topology/physical_package_id", cpu), "-1\n");
        }
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        for (size_t i = 0; i < t.n_nodes; i++)
                assert_int_equal(t.nodes[i].package, PACKAGE_UNKNOWN);
        assert_false(topology_same_package(&t.nodes[0], &t.nodes[1]));
        assert_note(&t, 2,
                    "nodes 0,2 have no known socket (physical_package_id of their CPUs is missing "
                    "or differs): no two of them share a socket");
}

/* The mask of socket 0 has a CPU of socket 1 as well: hwloc drops socket 1 and writes a banner of
 * twelve lines to standard error. */
MACHINE_TEST(package_with_a_wrong_mask) {
        _cleanup_topology_ Topology t = { 0 };

        for (unsigned cpu = 0; cpu < 2; cpu++) {
                static const char *const files[] = { "core_siblings", "package_cpus" };

                for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                        fake_write(tree, fmt(CPUS "cpu%u/topology/%s", cpu, files[i]), "7\n");
                }
        }
        load_quietly(tree, &t);
        assert_int_equal(t.nodes[0].package, 0);
        assert_int_equal(t.nodes[1].package, 1);
        assert_note(&t, 3,
                    "node 2 has a socket whose CPU mask contradicts physical_package_id: the "
                    "latter is used");
}

MACHINE_TEST(unknown_memory) {
        _cleanup_topology_ Topology t = { 0 };

        fake_remove(tree, NODES "node2/meminfo");
        fake_node(tree, 5, "0\n", "17 28 10\n", 0);
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_false(t.nodes[0].memory_unknown);
        assert_true(t.nodes[1].memory_unknown);
        assert_false(t.nodes[2].memory_unknown); /* it has none, and says so */
        assert_ids(topology_homes(&t), "0,2");
        assert_ids(topology_memory_nodes(&t), "0,2");
        assert_string_equal(topology_why_no_home(&t.nodes[2]), "no CPUs, no memory");
        assert_note(&t, 4,
                    "node 2 has memory of unknown size: no instance's need is compared with it");
}

MACHINE_TEST(memory_of_a_gpu) {
        _cleanup_topology_ Topology t = { 0 };

        fake_write(tree, "proc/driver/nvidia/gpus/0000:04:00.0/numa_status",
                   "Node:           5\nStatus:         online\n");
        assert_int_equal(topology_load(&tree->sysroot, &t), 0);
        assert_ids(topology_nodes(&t), "0,2,5");
        assert_int_equal(t.nodes[2].kind, NODE_GPU);
        assert_int_equal(t.nodes[2].memory_bytes, 4000 * 1024);
        assert_ids(t.nodes[2].cpus, "");
        assert_string_equal(topology_why_no_home(&t.nodes[2]), "GPU memory");
        assert_no_notes(&t);
}

LIVE_TEST(this_machine) {
        _cleanup_topology_ Topology t = { 0 };
        char text[ID_SET_LIST_MAX];
        cpu_set_t before, after;
        CpuSet cpus, firsts;

        assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
        assert_int_equal(topology_load(sysroot, &t), 0);
        assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
        assert_true(CPU_EQUAL(&before, &after));
        assert_true(path_read(sysroot->sys_fd, text, sizeof(text), "devices/system/cpu/online") >
                    0);
        assert_ids(topology_cpus(&t), text);
        assert_true(path_read(sysroot->sys_fd, text, sizeof(text), "devices/system/node/online") >
                    0);
        assert_ids(topology_nodes(&t), text);
        /* What we may run on ourselves is not hidden; nor is what is offline hidden. */
        cpus = topology_cpus(&t);
        assert_true(id_set_is_subset(&t.hidden_cpus, &cpus));
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
                assert_false(CPU_ISSET(cpu, &before) && id_set_has(&t.hidden_cpus, (uint32_t)cpu));
        assert_false(id_set_intersects(&t.offline_cpus, &cpus));
        firsts = topology_one_per_core(&t, &cpus);
        assert_true(id_set_is_subset(&firsts, &cpus));
        assert_false(id_set_is_empty(&firsts));
}

/* --- own-cpuset --- */

/* What a cgroup leaves of the machine, on either version. */

#define GROUPS "sys/fs/cgroup/"

FAKE_TEST(v2) {
        CpuSet cpus = cpu_set("99");
        NodeSet nodes;

        fake_process(tree, 7, 1, "/x", "/system.slice/a.service", "0-3");
        fake_write(tree, GROUPS "cgroup.controllers", "cpuset cpu\n");
        /* By this file the kernel's groups are known to be there. */
        fake_write(tree, GROUPS "cgroup.procs", "");
        fake_write(tree, GROUPS "system.slice/cgroup.procs", "");
        fake_write(tree, GROUPS "system.slice/a.service/cgroup.procs", "7\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), -EOPNOTSUPP);
        assert_ids(cpus, "99");
        fake_write(tree, GROUPS "cpuset.cpus.effective", "0-15\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "0-15");
        fake_write(tree, GROUPS "system.slice/cpuset.cpus.effective", "0-7\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "0-7");
        fake_write(tree, GROUPS "system.slice/a.service/cpuset.cpus.effective", "0-5\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "0-5");
        assert_int_equal(own_cpuset_read_nodes(&tree->sysroot, 7, &nodes), 0);
        assert_ids(nodes, "0-1");
        assert_int_equal(own_cpuset_read_nodes(&tree->sysroot, 8, &nodes), -ESRCH);
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 8, &cpus), -ESRCH);
}

FAKE_TEST(v1) {
        CpuSet cpus;

        fake_process(tree, 7, 1, "/x", "/", "0-3");
        fake_write(tree, "proc/7/cgroup", "4:cpuset:/a/b\n1:name=systemd:/c\n");
        fake_write(tree, "proc/self/mountinfo",
                   "33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
        fake_write(tree, GROUPS "cpuset/cpuset.effective_cpus", "0-15\n");
        fake_write(tree, GROUPS "cpuset/a/cpuset.effective_cpus", "0-7\n");
        fake_write(tree, GROUPS "cpuset/a/b/cpuset.effective_cpus", "\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "0-7");
        fake_write(tree, GROUPS "cpuset/a/b/cpuset.effective_cpus", "4-5\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "4-5");
}
