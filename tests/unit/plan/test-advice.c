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
HOST_TEST(product_of_an_instance, 1, 4, 16 * GIB) {
        Policy tidb = { .match.exe = (char *)"tidb-server" };

        host_add(host, "a", NULL, "0")->policy = &tidb;
        host_add(host, "b", "/bin/tikv-server", "0")->policy = &tidb;
        host_add(host, "c", NULL, "0");
        host_advise(host);
        assert_int_equal(host->report.subjects[0].product, PRODUCT_TIDB);
        assert_int_equal(host->report.subjects[1].product, PRODUCT_TIKV);
        assert_int_equal(host->report.subjects[2].product, PRODUCT_OTHER);
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
                uint64_t procs, readpool;
        } cases[] = {
                { 1, 1, 4 }, { 2, 2, 4 },    { 5, 5, 4 },    { 6, 6, 4 },    { 7, 7, 5 },
                { 8, 8, 6 }, { 15, 15, 12 }, { 16, 16, 12 }, { 17, 17, 13 }, { 512, 512, 409 }
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const uint32_t n = cases[i].cpus;

                assert_int_equal(value_for("tidb-server", "performance.max-procs", n, GIB),
                                 cases[i].procs);
                assert_int_equal(
                        value_for("tikv-server", "readpool.unified.max-thread-count", n, GIB),
                        cases[i].readpool);
        }
}

/* On CPUs of its own TiKV's own values suit. */
TEST(pools_on_shared_cpus) {
        static const struct {
                const char *beside; /* NULL: nothing */
                uint32_t cpus;
                bool grpc, others;
        } cases[] = {
                { NULL, 4, false, false },           { "tidb-server", 4, true, true },
                { "tidb-server", 14, true, true },   { "tidb-server", 16, false, true },
                { "tidb-server", 18, false, false }, { "tikv-server", 8, false, true },
                { "pd-server", 4, false, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ Host host;

                host_init(&host, 1, cases[i].cpus, GIB);
                host_add(&host, "x", "tikv-server", "0");
                if (cases[i].beside)
                        host_add(&host, "y", cases[i].beside, "0");
                host_advise(&host);
                print_message("%zu\n", i);
                assert_int_equal(host_find(&host, "x", "server.grpc-concurrency") != NULL,
                                 cases[i].grpc);
                assert_int_equal(host_find(&host, "x", "storage.scheduler-worker-pool-size") !=
                                         NULL,
                                 cases[i].others);
                assert_int_equal(host_find(&host, "x", "rocksdb.max-background-jobs") != NULL,
                                 cases[i].others);
                assert_int_equal(host_find(&host, "x", "rocksdb.max-sub-compactions") != NULL,
                                 cases[i].others);
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

/* Less than TiDB accepts is reported as too little. */
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

HOST_TEST(haproxy_reasons, 2, 64, 64 * GIB) {
        const Advice *advice;

        host_add(host, "one", "haproxy", "0");
        host_add(host, "two", "haproxy", "0-1");
        host_advise(host);
        advice = host_find(host, "one", "nbthread");
        assert_null(strstr(advice->reason, "thread group"));
        assert_int_equal(advice->where, IN_HAPROXY);
        assert_int_equal(advice->effect, HOLDS_RELOAD);
        assert_non_null(strstr(host_find(host, "two", "nbthread")->reason, "thread group"));
        assert_int_equal(host_find(host, "one", "maxconn")->cost_bytes, 20000 * 33 * KIB);
}

static void assert_text(const Host *host, const char *name, const char *setting,
                        const char *expected) {
        const Advice *advice = host_find(host, name, setting);

        assert_non_null(advice);
        assert_int_equal(advice->unit, ADVICE_TEXT);
        assert_string_equal(advice->text, expected);
}

HOST_TEST(jvm, 4, 16, 64 * GIB) {
        host_add(host, "alone", "/opt/jdk/bin/java", "0");
        host_add(host, "beside", "java", "1");
        host_add(host, "tikv", "tikv-server", "1");
        host_add(host, "pair-1", "java", "2-3");
        host_add(host, "pair-2", "java", "2-3");
        host_advise(host);
        assert_text(host, "alone", "JAVA_TOOL_OPTIONS",
                    "-XX:ActiveProcessorCount=16 -XX:ParallelGCThreads=13 -Xmx39321m -XX:-UseNUMA");
        assert_text(host, "beside", "JAVA_TOOL_OPTIONS",
                    "-XX:ActiveProcessorCount=16 -XX:ParallelGCThreads=13 -Xmx9830m -XX:-UseNUMA");
        assert_text(host, "pair-2", "JAVA_TOOL_OPTIONS",
                    "-XX:ActiveProcessorCount=32 -XX:ParallelGCThreads=23 -Xmx39321m");
        assert_int_equal(host_find(host, "alone", "JAVA_TOOL_OPTIONS")->where, IN_ENVIRONMENT);
}

/* Of a machine without sizes no heap is claimed. */
HOST_TEST(jvm_without_memory, 1, 8, 0) {
        host_add(host, "x", "java", "0");
        host_advise(host);
        assert_text(host, "x", "JAVA_TOOL_OPTIONS",
                    "-XX:ActiveProcessorCount=8 -XX:ParallelGCThreads=8 -XX:-UseNUMA");
}

/* PD takes no part in the division, so its number is that of all its CPUs. */
HOST_TEST(pd, 1, 16, 64 * GIB) {
        const Advice *advice;

        host_add(host, "pd", "pd-server", "0");
        host_add(host, "tidb", "tidb-server", "0");
        host->instances[0].running = true;
        host->instances[0].gomaxprocs = 64;
        host_advise(host);
        advice = host_find(host, "pd", "GOMAXPROCS");
        assert_int_equal(advice->value, 16);
        assert_int_equal(advice->where, IN_ENVIRONMENT);
        assert_int_equal(advice->effect, HOLDS_RESTART);
        assert_non_null(strstr(advice->note, "{gomaxprocs}"));
}

TEST(pools) {
        assert_int_equal(value_for("tikv-server", "raftstore.store-pool-size", 15, GIB), NONE);
        assert_int_equal(value_for("tikv-server", "raftstore.store-pool-size", 16, GIB), 3);
        assert_int_equal(value_for("tikv-server", "raftstore.apply-pool-size", 64, GIB), 3);
}

/* R12, each server in its own words. */
HOST_TEST(address, 4, 8, GIB) {
        host_add(host, "tidb", "tidb-server", "0")->card = "eth0";
        host_add(host, "tikv", "tikv-server", "1")->card = "eth1";
        host_add(host, "pd", "pd-server", "2")->card = "eth2";
        host_add(host, "none", "tidb-server", "3");
        host->instances[1].address = "10.0.1.5";
        host_advise(host);
        assert_text(host, "tidb", "--advertise-address", "(the address of eth0)");
        assert_text(host, "tikv", "--advertise-addr", "10.0.1.5");
        assert_text(host, "pd", "--advertise-client-urls", "(the address of eth2)");
        assert_null(host_find(host, "none", "--advertise-address"));
}

/* Threads on half of the CPUs use no more, however many the place has. */
HOST_TEST(cpus_that_are_left, 1, 16, 64 * GIB) {
        host_add(host, "x", "tidb-server", "0")->by_hand.thread_cpus = cpu_set("0-7,16-23");
        host_advise(host);
        assert_int_equal(host->report.subjects[0].n_cpus, 8);
        host_assert(host, "x", "performance.max-procs", 8);
}
