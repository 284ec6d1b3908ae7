/* Sizing advice: the most GOGC, what a running process has, what a disk shares, and none at all. */

#include "../../support/test.h"

#include "advice-host.h"

static const char setting[] = "tidb_gogc_tuner_max_value";

static bool gogc_fits(Host *host, const char *name) {
        host_advise(host);
        return host_find(host, name, setting);
}

/* 80 % of what it needs at most: 2 GiB grow to 16 GiB. */
static bool gogc_fits_with(uint64_t memory, uint64_t resident, uint64_t pd_resident) {
        _cleanup_host_ Host host;

        host_init(&host, 1, 4, memory);
        host_add(&host, "x", "tidb-server", "0")->resident_bytes = resident;
        host_add(&host, "pd", "pd-server", "0")->resident_bytes = pd_resident;
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

        host_add(host, "busy", "tidb-server", "0")->resident_bytes = 3 * GIB;
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
        host_add(host, "pd", "pd-server", "0-1")->resident_bytes = 30 * GIB;
        /* a: 16 - 15/2 = 8.5; c: 32 - 15 = 17 */
        assert_false(gogc_fits(host, "a"));
        advice_report_done(&host->report);
        assert_true(gogc_fits(host, "c"));
        advice_report_done(&host->report);
        host->instances[3].resident_bytes = 34 * GIB; /* 32 - 17 = 15 */
        assert_false(gogc_fits(host, "c"));
}

/* All of a PD that has the same two nodes. */
HOST_TEST(gogc_on_two_nodes, 2, 4, 15 * GIB) {
        host_add(host, "a", "tidb-server", "0-1");
        host_add(host, "pd", "pd-server", "0-1")->resident_bytes = 9 * GIB; /* 24 - 9 = 15 */
        assert_false(gogc_fits(host, "a"));
        advice_report_done(&host->report);
        host->instances[1].resident_bytes = 8 * GIB;
        assert_true(gogc_fits(host, "a"));
}

TEST(max_procs_of_a_running_process) {
        static const struct {
                bool running;
                uint32_t gomaxprocs;
                AdviceEffect effect;
                const char *note;
                GoCount go;
                bool late;
        } cases[] = {
                { false, 0, HOLDS_RESTART, NULL },
                { false, 4, HOLDS_RESTART, NULL }, /* there is none that could have it */
                { true, 0, HOLDS_RESTART, "unknown" },
                { true, 64, HOLDS_RESTART, "has {gomaxprocs}: a Go" },
                { true, 4, HOLDS_ALREADY, "already has {gomaxprocs}" },
                { true, 4, HOLDS_ALREADY, "already has {gomaxprocs}", GO_ONCE, true },
                { true, 0, HOLDS_RESTART, "that started before it was bound", GO_ONCE, true },
                { true, 0, HOLDS_RESTART, "has read the number when it started", GO_ONCE, false },
                { true, 0, HOLDS_RESTART, "Go 1.25 or later and follows", GO_FOLLOWS, true },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ Host host;
                AdviceInstance *instance;
                const Advice *advice;

                host_init(&host, 1, 4, GIB);
                instance = host_add(&host, "x", "tidb-server", "0");
                instance->running = cases[i].running;
                instance->gomaxprocs = cases[i].gomaxprocs;
                instance->go = cases[i].go;
                instance->bound_after_start = cases[i].late;
                host_advise(&host);
                advice = host_find(&host, "x", "performance.max-procs");
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
        host_add(host, "f", "tikv-server", "3")->device = "";
        host_add(host, "g", "tikv-server", "3")->device = "";
        host_advise(host);
        advice = host_find(host, "a", "rocksdb.rate-bytes-per-sec");
        assert_int_equal(advice->value, 200 * MIB);
        assert_int_equal(advice->unit, ADVICE_BYTES_PER_SEC);
        assert_int_equal(host->report.subjects[0].n_device_sharers, 1);
        assert_int_equal(host->report.subjects[0].device_sharers[0], 1);
        for (const char *name = "bcdefg"; /* PD has no such bound */ *name; name++) {
                const char instance[] = { *name, '\0' };

                assert_null(host_find(host, instance, "rocksdb.rate-bytes-per-sec"));
        }
}

/* An instance that is not placed writes to its disk all the same. */
HOST_TEST(disk_rate_with_one_not_placed, 1, 4, 16 * GIB) {
        host_add(host, "a", "tikv-server", "0")->device = "sda";
        host_add(host, "b", "tikv-server", "")->device = "sda";
        host->choices[1].placement.cpus = cpu_set("0-3");
        host_advise(host);
        host_assert(host, "a", "rocksdb.rate-bytes-per-sec", 200 * MIB);
        host_assert(host, "a", "readpool.unified.max-thread-count", 4); /* it has all CPUs */
        assert_int_equal(host_count(host, "b"), 0);
}

HOST_TEST(no_advice, 1, 4, 16 * GIB) {
        host_add(host, "tiflash", "tiflash", "0");
        host_add(host, "cat", "/bin/cat", "0");
        host_add(host, "other", "/bin/sleep", "0");
        host_add(host, "nowhere", "tidb-server", "");
        host->choices[3].refusal = REFUSAL_TOO_FEW_NODES;
        host_add(host, "watched", "tidb-server", "");
        host->choices[4].placement.reason = "watched";
        host_add(host, "unknown", "tidb-server", "");
        host->choices[5].placement.reason = NULL;
        host_advise(host);
        assert_int_equal(host->report.n_items, 0);
        assert_string_equal(host->report.subjects[0].unplaced, "");
        assert_string_equal(host->report.subjects[3].unplaced,
                            placement_refusal_to_string(REFUSAL_TOO_FEW_NODES));
        assert_string_equal(host->report.subjects[4].unplaced, "watched");
        assert_string_equal(host->report.subjects[5].unplaced, "it has no place");
}

HOST_TEST(empty_and_wrong_input, 1, 4, 16 * GIB) {
        AdviceReport report = { .n_items = 7 };
        AdviceInput input = { .topology = &host->topology, .plan = &host->plan, .n_instances = 1 };

        host_advise(host);
        assert_int_equal(host->report.n_items, 0);
        assert_int_equal(advice_build(&input, &report), -EINVAL);
        assert_int_equal(report.n_items, 7); /* untouched */
}
