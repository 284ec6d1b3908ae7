/* Pools by node, and what processes have mapped of them. */
#include "../../support/test.h"

#include <sys/mman.h>

#include "../../support/fake-tree.h"
#include "../../support/id-sets.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/world/memory.h"

enum { MIB2 = 2 << 20, GIB1 = 1 << 30 };

#define HOST "sys/kernel/mm/hugepages/hugepages-"
#define NODE "sys/devices/system/node/node"

static Node nodes[] = { { .id = 0 }, { .id = 3 } };
static const Topology topology = { .nodes = nodes, .n_nodes = 2 };

FAKE_TEST(pools) {
        _cleanup_huge_pools_ HugePools pools = { 0 };

        fake_write(tree, HOST "1048576kB/nr_hugepages", "2\n");
        fake_write(tree, HOST "2048kB/nr_hugepages", "40\n");
        fake_write(tree, HOST "2048kB/resv_hugepages", "24\n");
        fake_write(tree, HOST "64kB/nr_hugepages", "0\n"); /* no pool */
        fake_write(tree, NODE "0/hugepages/hugepages-2048kB/nr_hugepages", "20\n");
        fake_write(tree, NODE "0/hugepages/hugepages-2048kB/free_hugepages", "19\n");
        fake_write(tree, NODE "3/hugepages/hugepages-2048kB/nr_hugepages", "20\n");
        fake_write(tree, NODE "3/hugepages/hugepages-2048kB/free_hugepages", "18\n");
        fake_write(tree, NODE "3/hugepages/hugepages-1048576kB/nr_hugepages", "2\n");
        fake_write(tree, NODE "3/hugepages/hugepages-1048576kB/free_hugepages", "1\n");
        assert_int_equal(huge_pools_load(&tree->sysroot, &topology, &pools), 0);
        assert_int_equal(pools.n, 2);
        assert_int_equal(pools.list[0].page_bytes, MIB2);
        assert_int_equal(pools.list[0].n_reserved, 24);
        assert_int_equal(pools.list[0].n_free[0], 19);
        assert_int_equal(pools.list[0].n_free[1], 18);
        assert_int_equal(pools.list[0].n_pages[1], 20);
        assert_int_equal(pools.list[1].page_bytes, GIB1);
        assert_int_equal(pools.list[1].n_free[0], 0); /* the node has none of that size */
        assert_int_equal(pools.list[1].n_free[1], 1);
}

FAKE_TEST(a_host_without_any) {
        _cleanup_huge_pools_ HugePools pools = { 0 };

        fake_write(tree, HOST "2048kB/nr_hugepages", "0\n");
        assert_int_equal(huge_pools_load(&tree->sysroot, &topology, &pools), 0);
        assert_int_equal(pools.n, 0);
}

/* --- of several processes --- */

static HugeMapping private_of(uint64_t n_mapped, uint64_t n_touched, uint64_t n_inside) {
        return (HugeMapping){ .page_bytes = MIB2,
                              .n_mapped = n_mapped,
                              .n_touched = n_touched,
                              .n_inside = n_inside };
}

static HugeMapping file_of(uint64_t inode, uint64_t n_mapped, uint64_t n_touched,
                           uint64_t n_inside) {
        HugeMapping m = private_of(n_mapped, n_touched, n_inside);

        m.device = 17;
        m.inode = inode;
        return m;
}

static void assert_use(const HugeMaps *maps, uint64_t n_reserved, uint64_t n_mapped,
                       uint64_t n_touched, uint64_t n_inside) {
        const HugePools pools = { .list = { { .page_bytes = MIB2, .n_reserved = n_reserved } },
                                  .n = 1 };
        const HugeNeed need = huge_maps_need(maps, &pools);

        assert_int_equal(need.n, 1);
        assert_int_equal(need.list[0].n_mapped, n_mapped);
        assert_int_equal(need.list[0].n_touched, n_touched);
        assert_int_equal(need.list[0].n_inside, n_inside);
}

TEST(private_ones_add_up) {
        HugeMaps all = { 0 };

        huge_maps_merge(&all, &(HugeMaps){ .list = { private_of(26, 2, 1) }, .n = 1 });
        huge_maps_merge(&all, &(HugeMaps){ .list = { private_of(10, 10, 4) }, .n = 1 });
        assert_use(&all, 24, 36, 12, 5);
}

/* As of PostgreSQL: each process has touched some of the one file. */
TEST(a_shared_file_is_one) {
        HugeMaps all = { 0 };

        huge_maps_merge(&all, &(HugeMaps){ .list = { file_of(5, 100, 10, 10) }, .n = 1 });
        huge_maps_merge(&all, &(HugeMaps){ .list = { file_of(5, 100, 40, 30) }, .n = 1 });
        huge_maps_merge(&all, &(HugeMaps){ .list = { file_of(5, 100, 20, 20) }, .n = 1 });
        assert_use(&all, 1000, 100, 40, 30);
        /* Only so much of it is still reserved: others have touched the rest. */
        assert_use(&all, 20, 100, 80, 60);
        assert_use(&all, 0, 100, 100, 75);
        huge_maps_merge(&all, &(HugeMaps){ .list = { file_of(6, 10, 0, 0) }, .n = 1 });
        assert_use(&all, 1000, 110, 40, 30);
}

/* A mapping may have no reservation (MAP_NORESERVE), so that of private ones this is no bound. */
TEST(private_ones_may_be_touched_without_a_reservation) {
        const HugeMaps maps = { .list = { private_of(26, 2, 2) }, .n = 1 };

        assert_use(&maps, 0, 26, 2, 2);
}

TEST(what_is_not_known_may_be_all_that_is_reserved) {
        HugeMaps maps = { .partial = true };

        assert_use(&maps, 24, 24, 0, 0);
        maps = (HugeMaps){ .list = { private_of(10, 4, 4) }, .n = 1, .partial = true };
        assert_use(&maps, 24, 28, 4, 4);
        assert_use(&maps, 3, 10, 4, 4);
}

TEST(more_files_than_are_kept) {
        HugeMaps all = { 0 };

        for (uint64_t i = 1; i <= HUGE_MAPPINGS_MAX; i++)
                huge_maps_merge(&all, &(HugeMaps){ .list = { file_of(i, 1, 1, 1) }, .n = 1 });
        assert_false(all.partial);
        huge_maps_merge(&all, &(HugeMaps){ .list = { file_of(99, 5, 0, 0) }, .n = 1 });
        assert_true(all.partial);
        assert_use(&all, 5, 32 + 5, 32, 32);
}

/* --- a process of this machine --- */

/* NULL: the machine has none to give, or not to us. */
static char *map_huge(size_t n_pages, int flags) {
        char *p = mmap(NULL, n_pages * MIB2, PROT_READ | PROT_WRITE,
                       flags | MAP_ANONYMOUS | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT, -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

LIVE_TEST(of_this_process) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        const NodeSet all = node_set("0-63"), none = node_set("");
        char *one, *two;
        HugeMaps maps;

        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        assert_int_equal(huge_maps_read(sysroot, &handle, &all, &maps), 0);
        assert_int_equal(maps.n, 0);
        assert_false(maps.partial);
        one = map_huge(3, MAP_PRIVATE);
        two = one ? map_huge(2, MAP_SHARED) : NULL;
        if (!two) {
                if (one)
                        (void)munmap(one, 3 * MIB2);
                sysroot_close(sysroot); /* nothing is done after a skip */
                skip();
        }
        one[MIB2] = two[0] = 1;
        assert_int_equal(huge_maps_read(sysroot, &handle, &all, &maps), 0);
        assert_int_equal(maps.n, 2);
        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(maps.list[i].page_bytes, MIB2);
                assert_int_equal(maps.list[i].n_mapped, maps.list[i].inode ? 2 : 3);
                assert_int_equal(maps.list[i].n_touched, 1);
                assert_int_equal(maps.list[i].n_inside, 1);
        }
        (void)munmap(two, 2 * MIB2);
        assert_int_equal(huge_maps_read(sysroot, &handle, &none, &maps), 0);
        assert_int_equal(maps.n, 1);
        assert_int_equal(maps.list[0].n_touched, 1);
        assert_int_equal(maps.list[0].n_inside, 0);
        (void)munmap(one, 3 * MIB2);
}
