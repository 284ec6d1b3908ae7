/* Each rule of the sizing advice at its boundaries. */
#include "../../support/test.h"

#include "advice-host.h"

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

/* A server that starts bound counts the right CPUs by itself; beside another one, half of them are
 * its own. */
TEST(threads) {
        static const struct {
                uint32_t cpus;
                uint64_t procs, readpool;
        } cases[] = { { 2, 1, 4 },  { 4, 2, 4 },    { 10, 5, 4 },   { 14, 7, 5 },
                      { 16, 8, 6 }, { 32, 16, 12 }, { 34, 17, 13 }, { 1024, 512, 409 } };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const uint32_t n = cases[i].cpus;
                _cleanup_host_ Host host;

                assert_int_equal(value_for("tidb-server", "performance.max-procs", n, GIB), NONE);
                assert_int_equal(
                        value_for("tikv-server", "readpool.unified.max-thread-count", n, GIB),
                        NONE);
                host_init(&host, 1, n, GIB);
                host_add(&host, "tidb", "tidb-server", "0");
                host_add(&host, "tikv", "tikv-server", "0");
                host_advise(&host);
                host_assert(&host, "tidb", "performance.max-procs", cases[i].procs);
                host_assert(&host, "tikv", "readpool.unified.max-thread-count", cases[i].readpool);
        }
}

/* One that started before it was bound keeps its pools. */
HOST_TEST(threads_of_a_late_binding, 1, 16, GIB) {
        ServerInstance *tikv = host_add(host, "tikv", "tikv-server", "0");

        tikv->pid = 1;
        host_advise(host);
        assert_null(host_find(host, "tikv", "readpool.unified.max-thread-count"));
        assert_null(host_find(host, "tikv", "backup.num-threads"));
        advice_report_done(&host->report);
        tikv->bound_after_start = true;
        host_advise(host);
        host_assert(host, "tikv", "readpool.unified.max-thread-count", 12);
        assert_null(host_find(host, "tikv", "backup.num-threads")); /* 8 is the most anyway */
        advice_report_done(&host->report);
        tikv->cpu_quota = 650;
        host_advise(host);
        host_assert(host, "tikv", "readpool.unified.max-thread-count", 4);
        host_assert(host, "tikv", "backup.num-threads", 3);
}

/* What its unit sets, it sizes itself by. */
HOST_TEST(memory_that_its_unit_limits, 1, 16, 64 * GIB) {
        static const char *const settings[][2] = {
                { "tidb-server", "tidb_server_memory_limit" },
                { "tikv-server", "storage.block-cache.capacity" },
                { "tiflash", "profiles.default.max_memory_usage_for_all_queries" },
        };

        for (size_t i = 0; i < ELEMENTSOF(settings); i++)
                for (unsigned limited = 0; limited < 2; limited++) {
                        host->n = 0;
                        host_add(host, "x", settings[i][0], "0")->limit_bytes =
                                limited ? 64 * GIB - 1 : 64 * GIB;
                        host_advise(host);
                        assert_int_equal(host_find(host, "x", settings[i][1]) == NULL, limited);
                        assert_int_equal(host->report.subjects[0].limited, limited);
                        advice_report_done(&host->report);
                }
        host->n = 0;
}

TEST(tiflash) {
        assert_int_equal(value_for("tiflash", "profiles.default.max_memory_usage_for_all_queries",
                                   16, 100 * GIB),
                         80 * GIB);
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
                    "-XX:ActiveProcessorCount=8 -XX:ParallelGCThreads=8 -Xmx19660m -XX:-UseNUMA");
        assert_text(host, "pair-2", "JAVA_TOOL_OPTIONS",
                    "-XX:ActiveProcessorCount=16 -XX:ParallelGCThreads=13 -Xmx39321m");
        assert_int_equal(host_find(host, "alone", "JAVA_TOOL_OPTIONS")->where, IN_ENVIRONMENT);
}

/* Of a machine without sizes no heap is claimed. */
HOST_TEST(jvm_without_memory, 1, 8, 0) {
        host_add(host, "x", "java", "0");
        host_advise(host);
        assert_text(host, "x", "JAVA_TOOL_OPTIONS",
                    "-XX:ActiveProcessorCount=8 -XX:ParallelGCThreads=8 -XX:-UseNUMA");
}

/* What it was started with, in any order and with more beside it, is not advised again. */
HOST_TEST(what_was_given_at_the_start, 1, 8, 0) {
        static const struct {
                const char *exe, *setting, *given;
                bool advised;
        } rows[] = {
                { "java", "JAVA_TOOL_OPTIONS",
                  "-Da=b -XX:-UseNUMA -XX:ParallelGCThreads=8 -XX:ActiveProcessorCount=8", false },
                { "java", "JAVA_TOOL_OPTIONS",
                  "-XX:ActiveProcessorCount=80 -XX:ParallelGCThreads=8 -XX:-UseNUMA", true },
                { "java", "JAVA_TOOL_OPTIONS", "-XX:ActiveProcessorCount=8 -XX:ParallelGCThreads=8",
                  true },
                { "tidb-server", "--advertise-address", "10.0.1.5", false },
                { "tidb-server", "--advertise-address", "10.0.1.50", true },
                { "tikv-server", "--advertise-addr", "10.0.1.5:20160", false },
                { "tikv-server", "--advertise-addr", "110.0.1.5:20160", true },
                { "tikv-server", "--advertise-addr", "", true },
                { "pd-server", "--advertise-client-urls", "http://x:1,http://10.0.1.5:2379",
                  false },
                { "haproxy", "nbthread", "8", false },
                { "haproxy", "nbthread", "80", true },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                ServerInstance *instance;

                host->n = 0;
                instance = host_add(host, "x", rows[i].exe, "0");
                instance->card = "eth0";
                instance->address = "10.0.1.5";
                assert_int_equal(
                        server_report_add(&instance->given, rows[i].setting, rows[i].given), 0);
                host_advise(host);
                print_message("%s\n", rows[i].given);
                assert_int_equal(host_find(host, "x", rows[i].setting) != NULL, rows[i].advised);
                advice_report_done(&host->report);
                server_report_done(&instance->given);
        }
}

/* PD takes no part in the division, so its number is that of all its CPUs. */
HOST_TEST(pd, 1, 16, 64 * GIB) {
        const Advice *advice;

        host_add(host, "pd", "pd-server", "0");
        host_add(host, "tidb", "tidb-server", "0");
        host->instances[0].pid = 1;
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
        host_add(host, "x", "haproxy", "0")->by_hand.thread_cpus = cpu_set("0-7,16-23");
        host_advise(host);
        assert_int_equal(host->report.subjects[0].n_cpus, 8);
        host_assert(host, "x", "nbthread", 8);
}

/* --- Sizing advice: the most GOGC, what a running process has, what a disk shares, and none at all
 * --- */

static const char setting[] = "tidb_gogc_tuner_max_value";

static bool gogc_fits(Host *host, const char *name) {
        host_advise(host);
        return host_find(host, name, setting);
}

/* 80 % of what it needs at most: 2 GiB grow to 16 GiB. */
static bool gogc_fits_with(uint64_t memory, uint64_t resident, uint64_t pd_resident) {
        _cleanup_host_ Host host;

        host_init(&host, 1, 4, memory);
        host_add(&host, "x", "tidb-server", "0")->need_bytes = resident;
        host_add(&host, "pd", "pd-server", "0")->need_bytes = pd_resident;
        return gogc_fits(&host, "x");
}

TEST(gogc_fits) {
        assert_false(gogc_fits_with(0, 0, 0));
        assert_false(gogc_fits_with(20 * GIB - 1, 0, 0));
        assert_true(gogc_fits_with(20 * GIB, 0, 0));
        /* an idle TiDB is not taken for a small one */
        assert_false(gogc_fits_with(11 * GIB, MIB, 0));
        assert_true(gogc_fits_with(40 * GIB, 4 * GIB, 0));
        assert_false(gogc_fits_with(40 * GIB, 5 * GIB, 0));
        /* what others hold there is not to spare */
        assert_false(gogc_fits_with(20 * GIB, 0, 1));
        assert_false(gogc_fits_with(20 * GIB, 0, UINT64_MAX));
        assert_false(gogc_fits_with(UINT64_MAX, UINT64_MAX, 0));
}

HOST_TEST(gogc_costs, 1, 4, 256 * GIB) {
        const Advice *advice;

        host_add(host, "idle", "tidb-server", "0");
        host_advise(host);
        advice = host_find(host, "idle", setting);
        assert_int_equal(advice->value, 1000);
        assert_int_equal(advice->base_bytes, 2 * GIB);
        assert_int_equal(advice->cost_bytes, 14 * GIB);
        assert_int_equal(advice->where, IN_SQL);
        assert_int_equal(advice->unit, ADVICE_INTEGER);
        assert_int_equal(advice->effect, HOLDS_ONLINE);
        assert_non_null(strstr(advice->reason, "assumed size"));
        assert_non_null(strstr(advice->note, "7.5"));
        assert_null(host_find(host, "idle", "GOGC")); /* TiDB overrides it since 5.2 */
}

HOST_TEST(gogc_goes_by_the_resident_size, 1, 4, 256 * GIB) {
        const Advice *advice;

        host_add(host, "busy", "tidb-server", "0")->need_bytes = 3 * GIB;
        host_advise(host);
        advice = host_find(host, "busy", setting);
        assert_int_equal(advice->base_bytes, 3 * GIB);
        assert_non_null(strstr(advice->reason, "uses now"));
}

/* The PD of two nodes takes half of its memory from each; two TiDB share what is left. */
HOST_TEST(gogc_divides_what_others_hold, 2, 4, 40 * GIB) {
        host_add(host, "a", "tidb-server", "0");
        host_add(host, "b", "tidb-server", "0");
        host_add(host, "c", "tidb-server", "1");
        host_add(host, "pd", "pd-server", "0-1")->need_bytes = 30 * GIB;
        /* a: 16 - 15/2 = 8.5; c: 32 - 15 = 17 */
        assert_false(gogc_fits(host, "a"));
        advice_report_done(&host->report);
        assert_true(gogc_fits(host, "c"));
        advice_report_done(&host->report);
        host->instances[3].need_bytes = 34 * GIB; /* 32 - 17 = 15 */
        assert_false(gogc_fits(host, "c"));
}

/* All of a PD that has the same two nodes. */
HOST_TEST(gogc_on_two_nodes, 2, 4, 15 * GIB) {
        host_add(host, "a", "tidb-server", "0-1");
        host_add(host, "pd", "pd-server", "0-1")->need_bytes = 9 * GIB; /* 24 - 9 = 15 */
        assert_false(gogc_fits(host, "a"));
        advice_report_done(&host->report);
        host->instances[1].need_bytes = 8 * GIB;
        assert_true(gogc_fits(host, "a"));
}

/* Alone on its CPUs, and beside a TiKV with which it shares them. */
TEST(max_procs_of_a_running_process) {
        static const struct {
                bool shared, running;
                uint32_t gomaxprocs;
                bool given;
                AdviceEffect effect;
                const char *note;
                GoCount go;
                bool late;
        } cases[] = {
                { false, false, 0, false },
                { false, true, 0, false },
                { false, true, 4, false },
                { false, true, 0, false, .go = GO_FOLLOWS, .late = true },
                { false, true, 0, false, .go = GO_ONCE },
                { false, true, 64, true, HOLDS_RESTART, "has {gomaxprocs}: a Go" },
                { false, true, 0, true, HOLDS_RESTART, "that started before it was bound", GO_ONCE,
                  true },
                { true, false, 0, true, HOLDS_RESTART, NULL },
                { true, false, 2, true, HOLDS_RESTART,
                  NULL }, /* there is none that could have it */
                { true, true, 0, true, HOLDS_RESTART, "unknown" },
                { true, true, 2, true, HOLDS_ALREADY, "already has {gomaxprocs}" },
                { true, true, 2, true, HOLDS_ALREADY, "already has {gomaxprocs}", GO_ONCE, true },
                { true, true, 0, true, HOLDS_RESTART, "has read the number when it started",
                  GO_ONCE, false },
                { true, true, 0, true, HOLDS_RESTART, "Go 1.25 or later and follows", GO_FOLLOWS,
                  true },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ Host host;
                ServerInstance *instance;
                const Advice *advice;

                print_message("%zu\n", i);
                host_init(&host, 1, 4, GIB);
                instance = host_add(&host, "x", "tidb-server", "0");
                instance->pid = cases[i].running;
                instance->gomaxprocs = cases[i].gomaxprocs;
                instance->go = cases[i].go;
                instance->bound_after_start = cases[i].late;
                if (cases[i].shared)
                        host_add(&host, "y", "tikv-server", "0");
                host_advise(&host);
                advice = host_find(&host, "x", "performance.max-procs");
                assert_int_equal(advice != NULL, cases[i].given);
                if (!advice)
                        continue;
                assert_int_equal(advice->effect, cases[i].effect);
                if (cases[i].note)
                        assert_non_null(strstr(advice->note, cases[i].note));
                else
                        assert_string_equal(advice->note, "");
        }
}

HOST_TEST(disk_rate, 4, 4, 16 * GIB) {
        const Advice *advice;

        host_add(host, "a", "tikv-server", "0")->device = "nvme0n1";
        host_add(host, "b", "pd-server", "1")->device = "nvme0n1";
        host_add(host, "c", "tikv-server", "2")->device = "nvme1n1";
        host_add(host, "d", "tikv-server", "3");
        host_add(host, "e", "tikv-server", "3");
        host_advise(host);
        advice = host_find(host, "a", "rocksdb.rate-bytes-per-sec");
        assert_int_equal(advice->value, 200 * MIB);
        assert_int_equal(advice->unit, ADVICE_BYTES_PER_SEC);
        assert_int_equal(host->report.subjects[0].n_device_sharers, 1);
        assert_int_equal(host->report.subjects[0].device_sharers[0], 1);
        for (const char *name = "bcde"; /* PD has no such bound */ *name; name++) {
                const char instance[] = { *name, '\0' };

                assert_null(host_find(host, instance, "rocksdb.rate-bytes-per-sec"));
        }
}

/* The disk divided by the stores on it; PD is none. */
HOST_TEST(capacity, 4, 4, 16 * GIB) {
        static const char *const names[] = { "a", "b", "c", "d" };
        static const char *const exes[] = { "tikv-server", "tiflash", "pd-server", "tikv-server" };

        for (size_t i = 0; i < ELEMENTSOF(exes); i++) {
                ServerInstance *store = host_add(host, names[i], exes[i], "0");

                store->device = i < 3 ? "nvme0n1" : "nvme1n1";
                store->disk_bytes = 1000 * GIB + 512;
        }
        host_advise(host);
        host_assert(host, "a", "raftstore.capacity", 500 * GIB);
        for (size_t i = 1; i < ELEMENTSOF(exes); i++)
                assert_null(host_find(host, names[i], "raftstore.capacity"));
        advice_report_done(&host->report);
        host->instances[0].disk_bytes = 0;
        host_advise(host);
        assert_null(host_find(host, "a", "raftstore.capacity"));
}

/* An instance that is not placed writes to its disk all the same. */
HOST_TEST(disk_rate_with_one_not_placed, 1, 4, 16 * GIB) {
        host_add(host, "a", "tikv-server", "0")->device = "sda";
        host_add(host, "b", "tikv-server", "")->device = "sda";
        host->instances[1].cpus = cpu_set("0-3");
        host_advise(host);
        host_assert(host, "a", "rocksdb.rate-bytes-per-sec", 200 * MIB);
        assert_null(host_find(host, "a", "readpool.unified.max-thread-count")); /* all CPUs */
        assert_int_equal(host_count(host, "b"), 0);
}

HOST_TEST(no_advice, 1, 4, 16 * GIB) {
        host_add(host, "cdc", "cdc", "0");
        host_add(host, "cat", "/bin/cat", "0");
        host_add(host, "other", "/bin/sleep", "0");
        host_add(host, "nowhere", "tidb-server", "");
        host->instances[3].reason = placement_refusal_to_string(REFUSAL_TOO_FEW_NODES);
        host_add(host, "watched", "tidb-server", "");
        host->instances[4].reason = "watched";
        host_add(host, "unknown", "tidb-server", "");
        host->instances[5].reason = NULL;
        host_advise(host);
        assert_int_equal(host->report.n_items, 0);
        assert_string_equal(host->report.subjects[0].unplaced, "");
        assert_string_equal(host->report.subjects[3].unplaced,
                            placement_refusal_to_string(REFUSAL_TOO_FEW_NODES));
        assert_string_equal(host->report.subjects[4].unplaced, "watched");
        assert_string_equal(host->report.subjects[5].unplaced, "it has no place");
}

HOST_TEST(no_instances, 1, 4, 16 * GIB) {
        host_advise(host);
        assert_int_equal(host->report.n_items, 0);
}

/* --- How instances share what they are placed on, and the whole advice for the hosts of the field
 * --- */

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
        assert_int_equal(host_count(host, "pd"), 0);
        assert_int_equal(host->report.n_items, 8);
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
                host_assert(host, nodes[i], "storage.block-cache.capacity", 29491 * MIB);
                host_assert(host, nodes[i], "raftstore.store-pool-size", 3);
                host_assert(host, nodes[i], "raftstore.apply-pool-size", 3);
                assert_int_equal(host_count(host, nodes[i]), 3);
        }
}

/* The same with 4 TiKV on two nodes each. */
HOST_TEST(epyc_with_four_tikv, 8, 16, 64 * GIB) {
        static const char *const nodes[] = { "0-1", "2-3", "4-5", "6-7" };

        for (size_t i = 0; i < 4; i++)
                host_add(host, nodes[i], "tikv-server", nodes[i]);
        host_advise(host);
        for (size_t i = 0; i < 4; i++)
                host_assert(host, nodes[i], "storage.block-cache.capacity", 58982 * MIB);
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

/* Each node is divided among those that are on it, by the part of its weight that each has there.
 */
HOST_TEST(partial_overlap, 3, 10, 10 * GIB) {
        host_add(host, "wide", "tikv-server", "0-1");
        host_add(host, "a", "tidb-server", "1");
        host_add(host, "b", "tidb-server", "1");
        host_add(host, "c", "tidb-server", "2");
        host_advise(host);
        /* 10, and of the second node 4 of 4 + 8 + 8 */
        assert_int_equal(host->report.subjects[0].cpu_share, 12);
        assert_int_equal(host->report.subjects[0].memory_share_bytes, 12 * GIB);
        assert_int_equal(host->report.subjects[0].memory_bytes, 20 * GIB);
        assert_int_equal(host->report.subjects[0].n_cpus, 20);
        assert_int_equal(host->report.subjects[0].n_sharers, 2);
        assert_int_equal(host->report.subjects[1].cpu_share, 4);
        assert_int_equal(host->report.subjects[1].memory_share_bytes, 4 * GIB);
        assert_int_equal(host->report.subjects[1].n_sharers, 2);
        assert_int_equal(host->report.subjects[3].cpu_share, 10);
        assert_int_equal(host->report.subjects[3].n_sharers, 0);
}

/* The policy's weight counts before the product's. */
HOST_TEST(parts_by_weight, 1, 16, 32 * GIB) {
        Policy heavy = { .weight = 24 };

        host_add(host, "tidb", "tidb-server", "0")->policy = &heavy;
        host_add(host, "tikv", "tikv-server", "0");
        host_advise(host);
        assert_int_equal(host->report.subjects[0].cpu_share, 12);
        assert_int_equal(host->report.subjects[0].memory_share_bytes, 24 * GIB);
        assert_int_equal(host->report.subjects[1].cpu_share, 4);
        assert_int_equal(host->report.subjects[1].memory_share_bytes, 8 * GIB);
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
        assert_int_equal(host->report.subjects[4].cpu_share, 1);
}

/* CPUs of its own on a node that it shares: the memory is divided, the CPUs are not. */
HOST_TEST(own_cpus, 2, 16, 32 * GIB) {
        host_add(host, "tidb", "tidb-server", "0");
        host->instances[0].cpus = cpu_set("0-9");
        host_add(host, "tikv", "tikv-server", "0");
        host->instances[1].cpus = cpu_set("10-15");
        host_advise(host);
        assert_int_equal(host->report.subjects[0].cpu_share, 10);
        assert_int_equal(host->report.subjects[1].cpu_share, 6);
        host_assert(host, "tikv", "storage.block-cache.capacity", 7372 * MIB);
        assert_int_equal(host->report.subjects[0].n_sharers, 1);
        assert_false(host->report.subjects[0].whole_nodes);
}

HOST_TEST(light_instances_take_no_part, 1, 16, 32 * GIB) {
        host_add(host, "tidb", "tidb-server", "0");
        host_add(host, "pd", "pd-server", "0");
        host_add(host, "haproxy", "haproxy", "0");
        host_add(host, "prometheus", "prometheus", "0");
        host_advise(host);
        assert_int_equal(host->report.subjects[0].cpu_share, 16);
        host_assert(host, "tidb", "tidb_server_memory_limit", 26214 * MIB);
        host_assert(host, "haproxy", "nbthread", 16);
        assert_int_equal(host->report.subjects[2].n_sharers, 1); /* it knows the TiDB */
        assert_true(host->report.subjects[0].whole_nodes);
}

/* A plan without CPUs means those of the nodes. */
HOST_TEST(cpus_by_the_nodes, 2, 4, GIB) {
        host_add(host, "x", "tidb-server", "1");
        host->instances[0].cpus = (CpuSet){ 0 };
        host_advise(host);
        assert_ids(host->report.subjects[0].cpus, "4-7");
        assert_true(host->report.subjects[0].whole_nodes);
        assert_int_equal(host->report.subjects[0].cpu_share, 4);
}

HOST_TEST(memory_of_several_nodes_does_not_overflow, 2, 4, UINT64_MAX) {
        host_add(host, "x", "tikv-server", "0-1");
        host_advise(host);
        assert_true(host->report.subjects[0].memory_bytes == UINT64_MAX);
        assert_true(host->report.subjects[0].memory_share_bytes == UINT64_MAX);
}

/* --- what servers have said --- */

typedef struct Said {
        ServerSetting settings[4];
        ServerReport report;
} Said;

static void say(Said *said, uint32_t version, const char *name, const char *value) {
        said->settings[said->report.n_settings++] = (ServerSetting){ (char *)name, (char *)value };
        said->report.settings = said->settings;
        said->report.version = version;
}

/* What a server has so already is not advised, nor what is less where that is as good. */
TEST(what_is_so_already) {
        static const struct {
                const char *setting, *value; /* of a TiKV with half of 8 CPUs and of 32 GiB */
                bool advised;
        } rows[] = {
                { "readpool.unified.max-thread-count", "4", false },
                { "readpool.unified.max-thread-count", "3", true },
                { "readpool.unified.max-thread-count", "25", true },
                { "storage.block-cache.capacity", "7372MiB", false },
                { "storage.block-cache.capacity", "4GiB", false },
                { "storage.block-cache.capacity", "28GiB", true },
                { "storage.block-cache.capacity", "a lot", true },
                { "server.grpc-concurrency", "2", false },
                { "server.grpc-concurrency", "1", false },
                { "server.grpc-concurrency", "5", true },
                { "server.grpc-concurrency", "0", true },
                { "rocksdb.max-background-jobs", "9", true },
                { "rocksdb.max-background-jobs", "2", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Said said = { 0 };
                const Advice *advice;
                _cleanup_host_ Host host;

                say(&said, 0, rows[i].setting, rows[i].value);
                host_init(&host, 1, 8, 32 * GIB);
                host_add(&host, "tidb", "tidb-server", "0");
                host_add(&host, "tikv", "tikv-server", "0")->said = said.report;
                host_advise(&host);
                advice = host_find(&host, "tikv", rows[i].setting);
                print_message("%s = %s\n", rows[i].setting, rows[i].value);
                assert_int_equal(advice != NULL, rows[i].advised);
                if (advice)
                        assert_string_equal(advice->now, rows[i].value);
        }
}

/* From 8.5.5 on TiKV sizes its read pool by a part of its CPUs. */
HOST_TEST(settings_by_version, 1, 16, 64 * GIB) {
        ServerInstance *tidb = host_add(host, "tidb", "tidb-server", "0"),
                       *tikv = host_add(host, "tikv", "tikv-server", "0");
        Said said = { 0 };

        tikv->said.version = SERVER_VERSION(8, 5, 4);
        host_advise(host);
        host_assert(host, "tikv", "readpool.unified.max-thread-count", 6);
        assert_null(host_find(host, "tikv", "readpool.unified.cpu-threshold"));
        assert_non_null(host_find(host, "tidb", "tidb_gogc_tuner_max_value"));
        advice_report_done(&host->report);
        tikv->said.version = SERVER_VERSION(8, 5, 5);
        tidb->said.version = SERVER_VERSION(7, 1, 6);
        host_advise(host);
        assert_null(host_find(host, "tikv", "readpool.unified.max-thread-count"));
        host_assert(host, "tikv", "readpool.unified.cpu-threshold", 40);
        assert_null(host_find(host, "tidb", "tidb_gogc_tuner_max_value"));
        advice_report_done(&host->report);
        say(&said, tikv->said.version, "readpool.unified.cpu-threshold", "0.4");
        tikv->said = said.report;
        tidb->said.version = SERVER_VERSION(9, 0, 0);
        host_advise(host);
        assert_null(host_find(host, "tikv", "readpool.unified.cpu-threshold"));
        assert_non_null(strstr(host_find(host, "tidb", "tidb_server_memory_limit")->note, "95 %"));
}

/* Of two TiKV on a host, by what they and a PD there say; where nobody said anything, nothing. */
HOST_TEST(labels, 2, 16, 64 * GIB) {
        Said first = { 0 }, second = { 0 }, pd = { 0 };

        host_add(host, "a", "tikv-server", "0");
        host_add(host, "b", "tikv-server", "1");
        host_add(host, "pd", "pd-server", "1");
        host_advise(host);
        assert_null(host_find(host, "a", "server.labels.host"));
        advice_report_done(&host->report);
        say(&first, 0, "server.labels.rack", "r1");
        say(&second, 0, "server.labels.host", "db1");
        say(&pd, 0, "replication.location-labels", "");
        host->instances[0].said = first.report;
        host->instances[1].said = second.report;
        host->instances[2].said = pd.report;
        host_advise(host);
        assert_string_equal(host_find(host, "a", "server.labels.host")->text,
                            "(the name of this host)");
        assert_null(host_find(host, "b", "server.labels.host"));
        assert_string_equal(host_find(host, "pd", "replication.location-labels")->text, "host");
        advice_report_done(&host->report);
        pd.settings[0].value = (char *)"zone,rack"; /* by which PD tells hosts apart */
        host_advise(host);
        assert_null(host_find(host, "a", "server.labels.host"));
        assert_null(host_find(host, "pd", "replication.location-labels"));
        advice_report_done(&host->report);
        pd.settings[0].value = (char *)"";
        host->n = 1; /* one TiKV alone cannot have two replicas */
        host_advise(host);
        assert_null(host_find(host, "a", "server.labels.host"));
}
