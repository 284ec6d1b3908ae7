/* The table: columns, wrapping, and those without advice. */

#include "../../support/test.h"

#include "tidbnumad/publish/advice.h"

#include "advice-example.h"

static void assert_table(const AdviceReport *report, unsigned width, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "what was there before");
        assert_int_equal(advice_render_table(report, width, &text), 0);
        assert_string_equal(text.data, expected);
}

ADVICE_TEST(whole_table) {
        assert_table(
                &e->report, 0,
                "SETTING                            VALUE    RULE  INSTANCES\n"
                "performance.max-procs              8        A1    tidb-4000\n"
                "tidb_server_memory_limit           13107MB  A2    tidb-4000\n"
                "GOGC                               200      A3    tidb-4000\n"
                "readpool.unified.max-thread-count  6        A4    tikv-20161\n"
                "gc.max-write-bytes-per-sec         300KB    A8    tikv-20161\n"
                "storage.block-cache.capacity       7GB      A9    tikv-20161\n"
                "nbthread                           16       A10   haproxy\n"
                "maxconn                            20000    A10   haproxy\n"
                "\n"
                "Why:\n"
                "  A1, tidb-4000: It has 8 of the 16 CPUs of node 1, shared with tikv-20161. Now\n"
                "    GOMAXPROCS=64. It takes effect after a restart.\n"
                "  A2, tidb-4000: 80 % of its 16 GiB of the 32 GiB of node 1, shared with "
                "tikv-20161.\n"
                "  A3, tidb-4000: 2.5 GiB beside 3 GiB. It takes effect after a restart.\n"
                "  A4, tikv-20161: 80 % of its CPUs.\n"
                "  A8, tikv-20161: nvme0n1 serves pd-2379.\n"
                "  A9, tikv-20161: 45 % of its 16 GiB of the 32 GiB of node 1, shared with "
                "tidb-4000.\n"
                "  A10, haproxy: It is bound to 16 CPUs of node 1.\n"
                "  A10, haproxy: They take 644 MiB.\n"
                "tidb-4001: no advice: no nodes are left\n"
                "app: no advice: it has no place\n");
}

/* Instances with one value share a row, and those with one reason its sentence. */
ADVICE_TEST(shared_rows) {
        e->items[1] = e->items[0];
        e->items[1].subject = EXAMPLE_TIKV;
        e->report.n_items = 2;
        e->report.n_subjects = 2;
        assert_table(&e->report, 80,
                     "SETTING                VALUE  RULE  INSTANCES\n"
                     "performance.max-procs  8      A1    tidb-4000, tikv-20161\n"
                     "\n"
                     "Why:\n"
                     "  A1, tidb-4000: It has 8 of the 16 CPUs of node 1, shared with tikv-20161.\n"
                     "    Now GOMAXPROCS=64. It takes effect after a restart.\n");
}

ADVICE_TEST(no_items) {
        e->report.n_items = 0;
        assert_table(&e->report, 40,
                     "No advice: no instance that has a place needs any.\n"
                     "tidb-4001: no advice: no nodes are left\n"
                     "app: no advice: it has no place\n");
        e->report.n_subjects = 0;
        assert_table(&e->report, 40, "No advice: no instance that has a place needs any.\n");
}

ADVICE_TEST(hostile_names) {
        _cleanup_text_ Text text = { 0 };

        e->subjects[EXAMPLE_TIDB].name = "a\nb\x1b[2J";
        e->subjects[EXAMPLE_NOWHERE].name = "c\rd";
        assert_int_equal(advice_render_table(&e->report, 0, &text), 0);
        assert_non_null(strstr(text.data, "A1    a\\x0ab\\x1b[2J"));
        assert_non_null(strstr(text.data, "shared with a\\x0ab\\x1b[2J."));
        assert_non_null(strstr(text.data, "\nc\\x0dd: no advice"));
        assert_null(strchr(text.data, '\x1b'));
}

/* Columns hold together where names have more bytes than columns. */
ADVICE_TEST(columns_count_characters) {
        e->subjects[EXAMPLE_TIDB].name = "тидб";
        e->subjects[EXAMPLE_TIDB].running = false;
        e->items[0].reason = "x";
        e->items[0].note = "";
        e->report.n_items = 1;
        e->report.n_subjects = 1;
        assert_table(&e->report, 0,
                     "SETTING                VALUE  RULE  INSTANCES\n"
                     "performance.max-procs  8      A1    тидб\n"
                     "\n"
                     "Why:\n"
                     "  A1, тидб: x\n");
}
