/* How instances share what they are placed on, and the whole advice for the hosts of the field. */

#include "../../support/test.h"

#include "advice-host.h"

/* Three such hosts ran TPC-C with these figures: 16 CPUs, 32 GB, a TiDB, a TiKV and a PD. */
HOST_TEST(small_mixed_host, 1, 16, 32 * GIB) {
        host_add(host, "tidb", "tidb-server", "0");
        host_add(host, "tikv", "tikv-server", "0")->device = "sda";
        host_add(host, "pd", "pd-server", "0")->device = "sda";
        host_advise(host);
        host_assert(host, "tidb", "performance.max-procs", 8);
        host_assert(host, "tidb", "tidb_server_memory_limit", 13107 * MIB);
        assert_int_equal(host_count(host, "tidb"), 2);
        host_assert(host, "tikv", "readpool.unified.max-thread-count", 6);
        assert_null(host_find(host, "tikv", "server.grpc-concurrency"));
        host_assert(host, "tikv", "storage.scheduler-worker-pool-size", 2);
        host_assert(host, "tikv", "rocksdb.max-background-jobs", 3);
        host_assert(host, "tikv", "rocksdb.max-sub-compactions", 1);
        host_assert(host, "tikv", "rocksdb.rate-bytes-per-sec", 200 * MIB);
        host_assert(host, "tikv", "storage.block-cache.capacity", 7372 * MIB);
        assert_int_equal(host_count(host, "tikv"), 6);
        assert_int_equal(host_count(host, "pd"), 1); /* GOMAXPROCS */
        assert_int_equal(host->report.n_items, 9);
        for (size_t i = 1; i < host->report.n_items; i++) { /* by instance, then by rule */
                const Advice *a = &host->report.items[i - 1], *b = &host->report.items[i];

                assert_true(a->subject < b->subject ||
                            (a->subject == b->subject && a->rule <= b->rule));
        }
}

/* 8 nodes of 16 CPUs and 64 GiB: a TiKV a node each at its own NVMe. */
HOST_TEST(epyc_with_eight_tikv, 8, 16, 64 * GIB) {
        static const char *const nodes[] = { "0", "1", "2", "3", "4", "5", "6", "7" };
        static const char *const devices[] = { "nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1",
                                               "nvme4n1", "nvme5n1", "nvme6n1", "nvme7n1" };

        for (size_t i = 0; i < 8; i++)
                host_add(host, nodes[i], "tikv-server", nodes[i])->device = devices[i];
        host_advise(host);
        for (size_t i = 0; i < 8; i++) {
                host_assert(host, nodes[i], "readpool.unified.max-thread-count", 12);
                host_assert(host, nodes[i], "storage.block-cache.capacity", 29491 * MIB);
                host_assert(host, nodes[i], "raftstore.store-pool-size", 3);
                host_assert(host, nodes[i], "raftstore.apply-pool-size", 3);
                assert_int_equal(host_count(host, nodes[i]), 4);
        }
}

/* The same with 4 TiKV on two nodes each. */
HOST_TEST(epyc_with_four_tikv, 8, 16, 64 * GIB) {
        static const char *const nodes[] = { "0-1", "2-3", "4-5", "6-7" };

        for (size_t i = 0; i < 4; i++)
                host_add(host, nodes[i], "tikv-server", nodes[i]);
        host_advise(host);
        for (size_t i = 0; i < 4; i++) {
                host_assert(host, nodes[i], "readpool.unified.max-thread-count", 25);
                host_assert(host, nodes[i], "storage.block-cache.capacity", 58982 * MIB);
        }
}

/* 2 × Xeon 6252, 48 CPUs and 192 GiB a socket: a TiDB a socket, PD and HAProxy between. */
HOST_TEST(two_xeons, 2, 48, 192 * GIB) {
        host_add(host, "tidb-0", "tidb-server", "0");
        host_add(host, "tidb-1", "tidb-server", "1");
        host_add(host, "pd", "pd-server", "0");
        host_add(host, "haproxy", "haproxy", "1");
        host_advise(host);
        for (size_t i = 0; i < 2; i++) {
                const char *name = host->instances[i].name;

                host_assert(host, name, "performance.max-procs", 48);
                host_assert(host, name, "tidb_server_memory_limit", 157286 * MIB);
                host_assert(host, name, "tidb_gogc_tuner_max_value", 1000);
                assert_int_equal(host->report.subjects[i].n_sharers, 0);
        }
        host_assert(host, "haproxy", "nbthread", 48);
        host_assert(host, "haproxy", "maxconn", 20000);
}

/* Mixed on both sockets: TiDB and TiKV share each. */
HOST_TEST(two_xeons_mixed, 2, 48, 192 * GIB) {
        host_add(host, "tidb-0", "tidb-server", "0");
        host_add(host, "tikv-0", "tikv-server", "0");
        host_add(host, "tidb-1", "tidb-server", "1");
        host_add(host, "tikv-1", "tikv-server", "1");
        host_advise(host);
        host_assert(host, "tidb-0", "performance.max-procs", 24);
        host_assert(host, "tikv-1", "readpool.unified.max-thread-count", 19);
        host_assert(host, "tikv-1", "storage.block-cache.capacity", 44236 * MIB);
        assert_int_equal(host->report.subjects[0].n_sharers, 1);
        assert_int_equal(host->report.subjects[0].sharers[0], 1);
        assert_int_equal(host->report.subjects[3].sharers[0], 2);
}

/* Each node is divided among those that are on it. */
HOST_TEST(partial_overlap, 3, 10, 10 * GIB) {
        host_add(host, "wide", "tikv-server", "0-1");
        host_add(host, "a", "tidb-server", "1");
        host_add(host, "b", "tidb-server", "1");
        host_add(host, "c", "tidb-server", "2");
        host_advise(host);
        /* 10 + 10/3 */
        assert_int_equal(host->report.subjects[0].cpu_share, 13);
        assert_int_equal(host->report.subjects[0].memory_share_bytes, 10 * GIB + 10 * GIB / 3);
        assert_int_equal(host->report.subjects[0].memory_bytes, 20 * GIB);
        assert_int_equal(host->report.subjects[0].n_cpus, 20);
        assert_int_equal(host->report.subjects[0].n_sharers, 2);
        assert_int_equal(host->report.subjects[1].cpu_share, 3);
        assert_int_equal(host->report.subjects[1].n_sharers, 2);
        assert_int_equal(host->report.subjects[3].cpu_share, 10);
        assert_int_equal(host->report.subjects[3].n_sharers, 0);
}

/* Parts add up: twelve sixths are two CPUs and not one. */
TEST(parts_add_up) {
        for (uint32_t n = 1; n <= 24; n++) {
                _cleanup_host_ Host host;

                host_init(&host, 1, 2 * n, GIB);
                for (uint32_t i = 0; i < n; i++)
                        host_add(&host, "x", i % 2 ? "tidb-server" : "tikv-server", "0");
                host_advise(&host);
                for (uint32_t i = 0; i < n; i++)
                        assert_int_equal(host.report.subjects[i].cpu_share, 2);
        }
}

HOST_TEST(more_instances_than_cpus, 1, 1, GIB) {
        for (size_t i = 0; i < 5; i++)
                host_add(host, "x", "tidb-server", "0");
        host_advise(host);
        host_assert(host, "x", "performance.max-procs", 1);
}

/* CPUs of its own on a node that it shares: the memory is divided, the CPUs are not. */
HOST_TEST(own_cpus, 2, 16, 32 * GIB) {
        host_add(host, "tidb", "tidb-server", "0");
        host->choices[0].placement.cpus = cpu_set("0-9");
        host_add(host, "tikv", "tikv-server", "0");
        host->choices[1].placement.cpus = cpu_set("10-15");
        host_advise(host);
        host_assert(host, "tidb", "performance.max-procs", 10);
        host_assert(host, "tikv", "readpool.unified.max-thread-count", 4);
        host_assert(host, "tikv", "storage.block-cache.capacity", 7372 * MIB);
        assert_int_equal(host->report.subjects[0].n_sharers, 1);
        assert_false(host->report.subjects[0].whole_nodes);
}

HOST_TEST(light_instances_take_no_part, 1, 16, 32 * GIB) {
        host_add(host, "tidb", "tidb-server", "0");
        host_add(host, "pd", "pd-server", "0");
        host_add(host, "haproxy", "haproxy", "0");
        host_add(host, "jvm", "java", "0");
        host_advise(host);
        host_assert(host, "tidb", "performance.max-procs", 16);
        host_assert(host, "tidb", "tidb_server_memory_limit", 26214 * MIB);
        host_assert(host, "haproxy", "nbthread", 16);
        assert_int_equal(host->report.subjects[2].n_sharers, 1); /* it knows the TiDB */
        assert_true(host->report.subjects[0].whole_nodes);
}

/* A plan without CPUs means those of the nodes. */
HOST_TEST(cpus_by_the_nodes, 2, 4, GIB) {
        host_add(host, "x", "tidb-server", "1");
        host->choices[0].placement.cpus = (CpuSet){ 0 };
        host_advise(host);
        assert_ids(host->report.subjects[0].cpus, "4-7");
        assert_true(host->report.subjects[0].whole_nodes);
        host_assert(host, "x", "performance.max-procs", 4);
}

HOST_TEST(memory_of_several_nodes_does_not_overflow, 2, 4, UINT64_MAX) {
        host_add(host, "x", "tikv-server", "0-1");
        host_advise(host);
        assert_true(host->report.subjects[0].memory_bytes == UINT64_MAX);
        assert_true(host->report.subjects[0].memory_share_bytes == UINT64_MAX);
}
