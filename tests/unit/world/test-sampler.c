/* The sampler on real processes of this host, judged by numa_maps, which reads every page. */
#include <math.h>

#include "holder.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/world/sampling.h"

/* The host's first nodes, by other code than ours: what is there by name. */
static Node nodes[64];
static Topology topology = { .nodes = nodes };

static int find_nodes(void **state) {
        char path[64];

        (void)state;
        for (uint32_t id = 0; id < 64; id++) {
                (void)snprintf(path, sizeof(path), "/sys/devices/system/node/node%" PRIu32, id);
                if (access(path, F_OK) == 0)
                        nodes[topology.n_nodes++].id = id;
        }
        return topology.n_nodes > 0 ? 0 : -1;
}

static NodeSet all_nodes(void) {
        NodeSet set = { 0 };

        for (size_t i = 0; i < topology.n_nodes; i++)
                id_set_add(&set, nodes[i].id);
        return set;
}

static void hold_dense(void) {
        const uint64_t size = UINT64_C(128) << 20;

        memset(map(size, MAP_PRIVATE), 1, size);
}

TEST(dense) {
        const NodeSet all = all_nodes(), none = { 0 };
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid = start(hold_dense, &handle);
        uint64_t on_nodes = 0;
        Estimate e;

        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        assert_true(draws.n_anon >= SAMPLER_PAGES);
        assert_true(draws.n_anon < SAMPLER_PAGES + 512); /* and then it ends */
        assert_true(draws.n_asked < SAMPLER_PAGES * 3);
        assert_false(draws.whole);
        for (size_t i = 0; i < topology.n_nodes; i++)
                on_nodes += draws.by_node[i].n_anon;
        assert_int_equal(on_nodes, draws.n_anon);
        e = sampler_outside(&topology, &draws, &all);
        assert_true(e.ratio == 0 && estimate_halfwidth(&e) > 0 && estimate_halfwidth(&e) < 0.01);
        e = sampler_outside(&topology, &draws, &none);
        assert_true(e.ratio > 0.999999);
        child_end(pid);
}

/* One page in 32: what the probe met by then does not count a second time. */
static void hold_thin(void) {
        const uint64_t size = UINT64_C(128) << 20;
        char *area = map(size, MAP_PRIVATE);

        (void)madvise(area, size, MADV_NOHUGEPAGE);
        for (uint64_t at = 0; at < size; at += UINT64_C(32) * 4096)
                area[at] = 1;
}

TEST(thin) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        _cleanup_close_ int fd = -EBADF;
        pid_t pid = start(hold_thin, &handle);
        uint64_t truth = anon_pages(pid), at = 0;
        int r;

        assert_int_equal(pagemap_open(&handle, &fd), 0);
        r = pagemap_skip(fd, &at, page_size_bytes());
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        child_end(pid);
        if (r == -EOPNOTSUPP)
                skip_because("a kernel without PAGEMAP_SCAN");
        assert_true(draws.whole);
        assert_in_range(draws.n_anon, truth - 2, truth + 2);
}

static void hold_shared(void) {
        const uint64_t size = UINT64_C(64) << 20;

        memset(map(size, MAP_SHARED), 1, size);
}

TEST(shared_apart) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        NodeMemory *by_node = calloc(topology.n_nodes, sizeof(*by_node));
        uint64_t anon = 0, file = 0, shmem = 0;
        double seen = 0;
        ProcMemory memory;
        pid_t pid = start(hold_shared, &handle);

        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        assert_int_equal(proc_memory_read(&handle, &memory), 0);
        assert_true(memory.shmem_bytes >= UINT64_C(64) << 20);
        assert_true(memory.shmem_bytes < UINT64_C(65) << 20);
        assert_true(draws.shmem_pages > 16384 * 0.9 && draws.shmem_pages < 16384 * 1.1);
        assert_true(draws.n_anon < 16384); /* of 64 MiB none is among them */
        for (size_t i = 0; i < topology.n_nodes; i++) {
                const Estimate e = sampler_shmem_on(&draws, i);

                seen += e.ratio;
                /* As of one or two thousand pages, and not of those that they stand for. */
                assert_true(estimate_halfwidth(&e) > 0.001 && estimate_halfwidth(&e) < 0.04);
        }
        assert_true(fabs(seen - 1) < 1e-9);
        sampler_add_bytes(&topology, &draws, &memory, by_node);
        for (size_t i = 0; i < topology.n_nodes; i++) {
                anon += by_node[i].anon_bytes;
                file += by_node[i].file_bytes;
                shmem += by_node[i].shmem_bytes;
                assert_int_equal(by_node[i].mapped_bytes,
                                 by_node[i].file_bytes + by_node[i].shmem_bytes);
        }
        assert_in_range(shmem, memory.shmem_bytes - 64, memory.shmem_bytes + 64);
        assert_in_range(anon, memory.anon_bytes - 64, memory.anon_bytes + 64);
        assert_in_range(file, memory.file_bytes - 64, memory.file_bytes + 64);
        free(by_node);
        child_end(pid);
}

static void churn(void) {
        for (;;) {
                char *area = map(UINT64_C(1) << 20, MAP_PRIVATE);

                memset(area, 1, UINT64_C(1) << 20);
                (void)munmap(area, UINT64_C(1) << 20);
        }
}

/* It changes its mappings all the time. Nothing fails, and what stays is seen. */
TEST(churn) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        pid_t pid = child_fork();

        if (pid == 0) {
                hold_dense();
                churn();
        }
        open_process(pid, &handle);
        while (anon_pages(pid) < 32768) /* 128 MiB */
                (void)usleep(1000);
        for (uint64_t seed = 1; seed <= 20; seed++) {
                _cleanup_draws_ Draws draws = { 0 };

                assert_int_equal(sampler_draw(&topology, &handle, 1024, seed, &draws), 0);
                assert_true(draws.n_anon >= 1024);
        }
        child_end(pid);
}

TEST(gone) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Draws draws = { .n_anon = 7 };
        pid_t pid = start(hold_shared, &handle);

        child_end(pid);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), -ESRCH);
        assert_int_equal(draws.n_anon, 7);
}

TEST(bytes_by_share) {
        static Node two[2] = { { .id = 0 }, { .id = 5 } };
        const Topology t = { .nodes = two, .n_nodes = 2 };
        NodeDraws by_node[2] = { { .n_anon = 3, .file_pages = 1 },
                                 { .n_anon = 1, .shmem_pages = 2.5 } };
        const Draws draws = {
                .by_node = by_node, .n_anon = 4, .file_pages = 1, .shmem_pages = 2.5, .n_hidden = 1
        };
        const ProcMemory memory = { 4000, 100, 50, 400 };
        NodeMemory bytes[2] = { { .anon_bytes = 1 } };
        NodeSet at_5 = { 0 };
        Estimate e;

        sampler_add_bytes(&t, &draws, &memory, bytes);
        assert_int_equal(bytes[0].anon_bytes, 3301);
        assert_int_equal(bytes[1].anon_bytes, 1100);
        assert_int_equal(bytes[0].file_bytes, 100);
        assert_int_equal(bytes[1].shmem_bytes, 50);
        id_set_add(&at_5, 5);
        e = sampler_outside(&t, &draws, &at_5);
        assert_true(fabs(e.ratio - 0.75) < 1e-12);
        assert_true(fabs(e.unknown - 0.2 * 0.75) < 1e-12);
}

TEST_GROUP(find_nodes, NULL)
