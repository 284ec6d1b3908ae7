/* Each rule of the sizing advice at its boundaries. */

#include "../../support/test.h"

#include "advice-host.h"

TEST(products) {
        assert_int_equal(advice_product_of("tidb-server"), PRODUCT_TIDB);
        assert_int_equal(advice_product_of("/srv/tikv-20160/bin/tikv-server"), PRODUCT_TIKV);
        assert_int_equal(advice_product_of("pd-server"), PRODUCT_PD);
        assert_int_equal(advice_product_of("/usr/sbin/haproxy"), PRODUCT_HAPROXY);
        assert_int_equal(advice_product_of("/opt/jdk/bin/java"), PRODUCT_JAVA);
        assert_int_equal(advice_product_of("/srv/tidb-server/bin/x"), PRODUCT_OTHER);
        assert_int_equal(advice_product_of("tidb-server2"), PRODUCT_OTHER);
        assert_int_equal(advice_product_of("*"), PRODUCT_OTHER);
        assert_int_equal(advice_product_of("other"), PRODUCT_OTHER);
        assert_int_equal(advice_product_of(""), PRODUCT_OTHER);
        assert_int_equal(advice_product_of(NULL), PRODUCT_OTHER);
}

TEST(products_of_patterns) {
        assert_int_equal(advice_product_of_pattern("tikv-server"), PRODUCT_TIKV);
        assert_int_equal(advice_product_of_pattern("/srv/*/bin/tikv-server"), PRODUCT_TIKV);
        assert_int_equal(advice_product_of_pattern("/srv/tidb-*"), PRODUCT_TIDB);
        assert_int_equal(advice_product_of_pattern("/srv/*-server"), PRODUCT_OTHER);
        assert_int_equal(advice_product_of_pattern("*"), PRODUCT_OTHER);
        assert_int_equal(advice_product_of_pattern(NULL), PRODUCT_OTHER);
}

/* The program that runs counts, then the policy. */
TEST(product_of_an_instance) {
        _cleanup_host_ Host host;
        Policy tidb = { .match.exe = (char *)"tidb-server" };

        host_init(&host, 1, 4, 16 * GIB);
        host_add(&host, "a", NULL, "0")->policy = &tidb;
        host_add(&host, "b", "/bin/tikv-server", "0")->policy = &tidb;
        host_add(&host, "c", NULL, "0");
        host_advise(&host);
        assert_int_equal(host.report.subjects[0].product, PRODUCT_TIDB);
        assert_int_equal(host.report.subjects[1].product, PRODUCT_TIKV);
        assert_int_equal(host.report.subjects[2].product, PRODUCT_OTHER);
}

static uint64_t value_for(const char *exe, const char *setting, uint32_t cpus, uint64_t memory) {
        _cleanup_host_ Host host;
        const Advice *advice;

        host_init(&host, 1, cpus, memory);
        host_add(&host, "x", exe, "0");
        host_advise(&host);
        advice = host_find(&host, "x", setting);
        return advice ? advice->value : UINT64_MAX;
}

#define NONE UINT64_MAX

TEST(threads) {
        static const struct {
                uint32_t cpus;
                uint64_t procs, readpool, grpc, scheduler, jobs, sub;
        } cases[] = {
                { 1, 1, 1, 2, 2, 3, 1 },
                { 2, 2, 1, 2, 2, 3, 1 },
                { 5, 5, 4, 2, 2, 3, 1 },
                { 8, 8, 6, 2, 2, 3, 1 },
                { 9, 9, 7, 2, 4, NONE, NONE },
                { 15, 15, 12, 2, 4, NONE, NONE },
                { 16, 16, 12, 2, 8, NONE, NONE },
                { 17, 17, 13, 4, 8, NONE, NONE },
                { 512, 512, 409, 4, 8, NONE, NONE },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const uint32_t n = cases[i].cpus;

                assert_int_equal(value_for("tidb-server", "performance.max-procs", n, GIB),
                                 cases[i].procs);
                assert_int_equal(
                        value_for("tikv-server", "readpool.unified.max-thread-count", n, GIB),
                        cases[i].readpool);
                assert_int_equal(value_for("tikv-server", "server.grpc-concurrency", n, GIB),
                                 cases[i].grpc);
                assert_int_equal(
                        value_for("tikv-server", "storage.scheduler-worker-pool-size", n, GIB),
                        cases[i].scheduler);
                assert_int_equal(value_for("tikv-server", "rocksdb.max-background-jobs", n, GIB),
                                 cases[i].jobs);
                assert_int_equal(value_for("tikv-server", "rocksdb.max-sub-compactions", n, GIB),
                                 cases[i].sub);
        }
}

TEST(memory_limit) {
        assert_int_equal(value_for("tidb-server", "tidb_server_memory_limit", 4, 10 * GIB),
                         8 * GIB);
        /* whole MiB, downwards */
        assert_int_equal(value_for("tidb-server", "tidb_server_memory_limit", 4, 32 * GIB),
                         26214 * MIB);
        assert_int_equal(value_for("tidb-server", "tidb_server_memory_limit", 4, 640 * MIB),
                         512 * MIB);
        assert_int_equal(value_for("tidb-server", "tidb_server_memory_limit", 4, 1), 512 * MIB);
        assert_int_equal(value_for("tidb-server", "tidb_server_memory_limit", 4, 0), NONE);
        assert_int_equal(value_for("tidb-server", "tidb_server_memory_limit", 4, UINT64_MAX),
                         UINT64_C(14073748835532) * MIB);
}

/* What is less than TiDB takes is told to be too little. */
TEST(memory_limit_says_too_little) {
        for (uint64_t memory = 640 * MIB - 1; memory <= 640 * MIB; memory++) {
                _cleanup_host_ Host host;
                const char *reason;

                host_init(&host, 1, 4, memory);
                host_add(&host, "x", "tidb-server", "0");
                host_advise(&host);
                reason = host_find(&host, "x", "tidb_server_memory_limit")->reason;
                assert_int_equal(!!strstr(reason, "too little"), memory < 640 * MIB);
        }
}

TEST(block_cache) {
        assert_int_equal(value_for("tikv-server", "storage.block-cache.capacity", 4, 20 * GIB),
                         9 * GIB);
        assert_int_equal(value_for("tikv-server", "storage.block-cache.capacity", 4, 16 * GIB),
                         7372 * MIB);
        assert_int_equal(value_for("tikv-server", "storage.block-cache.capacity", 4, 1), MIB);
        assert_int_equal(value_for("tikv-server", "storage.block-cache.capacity", 4, 0), NONE);
        assert_int_equal(value_for("tikv-server", "storage.block-cache.capacity", 4, UINT64_MAX),
                         UINT64_C(7916483719987) * MIB);
}

TEST(haproxy) {
        assert_int_equal(value_for("haproxy", "nbthread", 1, GIB), 1);
        assert_int_equal(value_for("haproxy", "nbthread", 64, GIB), 64);
        assert_int_equal(value_for("haproxy", "nbthread", 65, GIB), 64);
        assert_int_equal(value_for("haproxy", "maxconn", 1, 64 * GIB), 20000);
        assert_int_equal(value_for("haproxy", "maxconn", 1, GIB), 3177);
        /* not below what it has by itself */
        assert_int_equal(value_for("haproxy", "maxconn", 1, 10 * 2001 * 33 * KIB), 2001);
        assert_int_equal(value_for("haproxy", "maxconn", 1, 10 * 2001 * 33 * KIB - 1), NONE);
        assert_int_equal(value_for("haproxy", "maxconn", 1, 0), NONE);
}

TEST(haproxy_reasons) {
        _cleanup_host_ Host host;
        const Advice *advice;

        host_init(&host, 2, 64, 64 * GIB);
        host_add(&host, "one", "haproxy", "0");
        host_add(&host, "two", "haproxy", "0-1");
        host_advise(&host);
        advice = host_find(&host, "one", "nbthread");
        assert_null(strstr(advice->reason, "thread group"));
        assert_int_equal(advice->where, IN_HAPROXY);
        assert_int_equal(advice->effect, HOLDS_RELOAD);
        assert_non_null(strstr(host_find(&host, "two", "nbthread")->reason, "thread group"));
        assert_int_equal(host_find(&host, "one", "maxconn")->cost_bytes, 20000 * 33 * KIB);
}
