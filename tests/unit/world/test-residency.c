/* How much memory is on which node, from a fake cgroup of a machine with the nodes 0, 2 and 5. */
#include <math.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/world/instances.h"

static const Node nodes[3] = { { .id = 0 }, { .id = 2 }, { .id = 5 } };
static const Topology topology = { .nodes = (Node *)nodes, .n_nodes = 3 };

static void assert_memory(const NodeMemory *memory, uint64_t anon, uint64_t file, uint64_t shmem) {
        assert_int_equal(memory->anon_bytes, anon);
        assert_int_equal(memory->file_bytes, file);
        assert_int_equal(memory->shmem_bytes, shmem);
}

static int read_text(const char *text, NodeMemory *by_node) {
        _cleanup_fake_ FakeTree tree;
        _cleanup_close_ int fd = -EBADF;

        fake_init(&tree);
        fake_write(&tree, "sys/fs/cgroup/a/cgroup.procs", "");
        if (text)
                fake_write(&tree, "sys/fs/cgroup/a/memory.numa_stat", text);
        assert_int_equal(cgroup_open(&tree.sysroot, "/a", &fd), 0);
        return residency_read(&topology, fd, by_node);
}

TEST(read) {
        NodeMemory by_node[3];

        memset(by_node, 0xa5, sizeof(by_node));
        assert_int_equal(read_text("anon N5=4096 N0=8192\n"
                                   "file N0=100 N5=50 N2=7\n"
                                   "shmem N0=30 N5=60 N2=0\n"
                                   "anon_thp N0=1 N2=1\n",
                                   by_node),
                         0);
        assert_memory(&by_node[0], 8192, 70, 30); /* the kernel's `file` has shmem in it */
        assert_memory(&by_node[1], 0, 7, 0);
        assert_memory(&by_node[2], 4096, 0, 60); /* never below zero */
}

/* A node that the topology does not know takes the place of no other. */
TEST(unknown_node) {
        NodeMemory by_node[3];

        assert_int_equal(read_text("anon N0=1 N1=2 N2=4\n", by_node), 0);
        assert_memory(&by_node[0], 1, 0, 0);
        assert_memory(&by_node[1], 4, 0, 0);
        assert_memory(&by_node[2], 0, 0, 0);
        /* Also one that came beside all the others. */
        assert_int_equal(read_text("anon N0=1 N1=2 N2=4 N5=8\n", by_node), 0);
        assert_memory(&by_node[2], 8, 0, 0);
}

TEST(not_readable) {
        NodeMemory by_node[3] = { { .anon_bytes = 7 } };

        assert_int_equal(read_text(NULL, by_node), -EOPNOTSUPP);
        assert_int_equal(read_text("", by_node), -EBADMSG);
        assert_int_equal(read_text("anon N0=x\n", by_node), -EBADMSG);
        assert_int_equal(by_node[0].anon_bytes, 7);
}

FAKE_TEST(gone) {
        _cleanup_close_ int fd = -EBADF;
        NodeMemory by_node[3];

        fake_mkdir(tree, "sys/fs/cgroup/a");
        assert_int_equal(cgroup_open(&tree->sysroot, "/a", &fd), 0);
        fake_remove(tree, "sys/fs/cgroup/a");
        assert_int_equal(residency_read(&topology, fd, by_node), -ESRCH);
}

TEST(outside) {
        static const NodeMemory by_node[3] = { { .anon_bytes = 100, .file_bytes = 1000 },
                                               { .anon_bytes = 200, .shmem_bytes = 2000 },
                                               { .anon_bytes = 700 } };
        NodeSet all = node_set("0,2,5"), two = node_set("2"), none = node_set(""),
                others = node_set("1,3-4");

        assert_int_equal(residency_outside(&topology, by_node, &two).anon_bytes, 800);
        assert_int_equal(residency_outside(&topology, by_node, &all).anon_bytes, 0);
        assert_int_equal(residency_outside(&topology, by_node, &none).anon_bytes, 1000);
        /* By the kernel's numbers, not by the place in the table. */
        assert_int_equal(residency_outside(&topology, by_node, &others).anon_bytes, 1000);
}

TEST(mapped_outside) {
        static const NodeMemory by_node[3] = { { .anon_bytes = 100, .mapped_bytes = 1 },
                                               { .shmem_bytes = 2000, .mapped_bytes = 20 },
                                               { .file_bytes = 700, .mapped_bytes = 300 } };
        NodeSet all = node_set("0,2,5"), two = node_set("2");

        assert_int_equal(residency_outside(&topology, by_node, &two).mapped_bytes, 301);
        assert_int_equal(residency_outside(&topology, by_node, &all).mapped_bytes, 0);
}

TEST(ratio) {
        static const NodeMemory by_node[3] = { { .anon_bytes = 100, .file_bytes = 1000 },
                                               { .anon_bytes = 200 },
                                               { .anon_bytes = 700 } },
                                files[3] = { { .file_bytes = 1000 } };
        NodeSet all = node_set("0,2,5"), two = node_set("2"), none = node_set("");

        assert_true(fabs(residency_ratio(&topology, by_node, &two) - 0.8) < 1e-9);
        assert_true(residency_ratio(&topology, by_node, &all) == 0);
        assert_true(residency_ratio(&topology, by_node, &none) == 1);
        assert_true(isnan(residency_ratio(&topology, files, &two)));
}

/* A quarter and what the kernel tells late may be missing. */
TEST(covers) {
        const uint64_t late = (UINT64_C(64) << 20) + UINT64_C(2) * 64 * page_size_bytes();
        const NodeMemory by_node[3] = { { .anon_bytes = UINT64_C(1) << 30,
                                          .file_bytes = UINT64_C(9) << 30 },
                                        { .anon_bytes = UINT64_C(2) << 30 },
                                        { .shmem_bytes = UINT64_C(9) << 30 } };
        const NodeMemory nothing[3] = { { .mapped_bytes = 0 } };
        Node two_cpus[3] = { { .id = 0 }, { .id = 2 }, { .id = 5 } };
        const Topology t = { .nodes = two_cpus, .n_nodes = 3 };

        two_cpus[1].cpus = cpu_set("1,700");
        assert_true(residency_covers(&t, by_node, 0));
        assert_true(residency_covers(&t, by_node, UINT64_C(3) << 30));
        assert_true(residency_covers(&t, by_node, ((UINT64_C(3) << 30) + late) / 3 * 4));
        assert_false(residency_covers(&t, by_node, ((UINT64_C(3) << 30) + late) / 3 * 4 + 8));
        assert_true(residency_covers(&t, nothing, late));
        assert_false(residency_covers(&t, nothing, 2 * late));
}
