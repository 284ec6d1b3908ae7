/* One screen: what is on it, in which order, and that it fits. */
#include <math.h>

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/ctl/top-view.h"

#define MIB (UINT64_C(1) << 20)

typedef struct Example {
        InstanceMemory memory[3][2];
        InstanceInfo instances[3];
        Snapshot status;
        StatusQuestion question;
        Node nodes[2];
        Topology topology;
        NodeCounters before[2], now[2];
        TopView view;
} Example;

static InstanceInfo instance(const char *name, InstanceState state, InstanceMemory memory[2]) {
        return (InstanceInfo){ .name = (char *)name,
                               .state = state,
                               .reason = "",
                               .nodes = node_set("0"),
                               .memory_by_node = memory,
                               .n_memory = 2,
                               .remote_ratio = (double)NAN,
                               .migration_left_seconds = (double)NAN };
}

static void init(Example *e) {
        *e = (Example){ .memory = { { { 0, 90 * MIB }, { 1, 10 * MIB } },
                                    { { 0, 50 * MIB }, { 1, 50 * MIB } },
                                    { { 0, 9 * MIB }, { 1, MIB } } },
                        .nodes = { { .id = 0 }, { .id = 1 } },
                        .topology = { .nodes = e->nodes, .n_nodes = 2 },
                        .before = { { .cpu_known = true } },
                        .now = { { .cpu_known = true,
                                   .total_bytes = 1000 * MIB,
                                   .free_bytes = 400 * MIB,
                                   .cpu_seconds = { [MODE_SOFTIRQ] = 1, [MODE_IDLE] = 7 } },
                                 { .total_bytes = 1000 * MIB, .free_bytes = 500 * MIB } } };
        e->instances[0] = instance("a", INSTANCE_BOUND, e->memory[0]);
        e->instances[1] = instance("b", INSTANCE_MOVING, e->memory[1]);
        e->instances[1].pending_bytes = 50 * MIB;
        e->instances[1].migration_left_seconds = 12.2;
        e->instances[2] = instance("c", INSTANCE_PARTLY, e->memory[2]);
        e->instances[2].reason = "no room";
        e->instances[2].reason_code = REASON_SHARED_UNIT;
        e->status = (Snapshot){ .time_seconds = 100,
                                .sample_interval_seconds = 10,
                                .enforcing = true,
                                .policy_load_success = true,
                                .policy_in_force = true,
                                .n_policies = 1,
                                .instances = e->instances,
                                .n_instances = 3 };
        e->question = (StatusQuestion){ .status = &e->status, .now_seconds = 100, .alive = true };
        e->view = (TopView){ .question = &e->question,
                             .topology = &e->topology,
                             .before = e->before,
                             .now = e->now,
                             .columns = 80,
                             .rows = 24 };
}

static void done(Example *e) {
        free(e->view.detailed);
}

#define EXAMPLE_TEST(test) TEST_WITH(test, Example, e, init, done)

EXAMPLE_TEST(screen) {
        _cleanup_text_ Text text = { 0 };

        top_view_render(&e->view, &text);
        assert_string_equal(
                text.data,
                "tidbnumad: enforcing, 3 instances, by remote bytes | q, s sort, i view\n"
                "Problems:\n"
                "  c: no room (shared-unit)\n"
                "      run it in its own unit\n"
                "\n"
                " INSTANCE STATE    NODES       REMOTE TO MOVE           MEMORY BY NODE\n"
                ">b        moving   0         50.0 MiB 50.0 MiB 12 s     000000000000111111111111\n"
                " a        bound    0         10.0 MiB -                 000000000000000000000011\n"
                " c        partly   0          1.0 MiB -                 000000000000000000000011\n"
                "\n"
                " NODE       FREE      TOTAL  SOFTIRQ\n"
                "    0  400.0 MiB 1000.0 MiB   12.5 %\n"
                "    1  500.0 MiB 1000.0 MiB");
}

EXAMPLE_TEST(orders) {
        static const struct {
                const char *order, *first;
        } rows[] = { [TOP_BY_REMOTE] = { ", by remote bytes |", "\n>b " },
                     [TOP_BY_NAME] = { ", by name |", "\n>a " },
                     [TOP_BY_STATE] = { ", by state |", "\n>b " } };

        for (TopSort sort = 0; sort < N_TOP_SORTS; sort++) {
                _cleanup_text_ Text text = { 0 };

                e->view.sort = sort;
                top_view_render(&e->view, &text);
                assert_non_null(strstr(text.data, rows[sort].order));
                assert_non_null(strstr(text.data, rows[sort].first));
        }
}

EXAMPLE_TEST(one_instance) {
        _cleanup_text_ Text text = { 0 };

        e->view.detail = true;
        e->view.selected = 2;
        top_view_render(&e->view, &text);
        assert_non_null(strstr(text.data, "no room (shared-unit)"));
        assert_null(strstr(text.data, "\nb "));
}

/* It is shown alone until it ends, whatever moves meanwhile. */
EXAMPLE_TEST(one_instance_stays_in_another_order) {
        _cleanup_text_ Text text = { 0 };

        e->view.detail = true;
        for (unsigned i = 0; i < 2; i++) {
                text_reset(&text);
                top_view_render(&e->view, &text);
                assert_non_null(strstr(text.data, "\nb "));
                e->memory[1][1].anon_bytes = 0; /* the last of three by now */
        }
        assert_int_equal(e->view.selected, 2);
        e->status.n_instances = 1;
        text_reset(&text);
        top_view_render(&e->view, &text);
        assert_false(e->view.detail);
        assert_non_null(strstr(text.data, "\n>a "));
}

EXAMPLE_TEST(columns) {
        _cleanup_text_ Text text = { 0 };

        e->instances[0].name = (char *)"tidb-größer-als-die-Spalte-4000";
        e->instances[0].state = INSTANCE_NARROWING;
        e->instances[0].nodes = node_set("0,2,4,6,8");
        e->instances[1].name = (char *)"größer";
        e->instances[1].nodes = node_set("0-1,4-5");
        top_view_render(&e->view, &text);
        assert_non_null(
                strstr(text.data, "\n>tidb-größer-als-die-Spa… narrowing 0,2,4…   10.0 MiB -"));
        assert_non_null(strstr(
                text.data, "\n größer                   moving   0-1,4-5        0 B 50.0 MiB "));
}

EXAMPLE_TEST(unknown_name) {
        _cleanup_text_ Text text = { 0 };

        e->question.names = (WordList){ .words = (char *[]){ (char *)"d" }, .n_words = 1 };
        e->view.detail = true;
        top_view_render(&e->view, &text);
        assert_non_null(strstr(text.data, "\nNo instance has this name.\n"));
}

static void assert_in_rows(Example *e, unsigned rows, const char *part) {
        _cleanup_text_ Text text = { 0 };

        e->view.rows = rows;
        top_view_render(&e->view, &text);
        if (!strstr(text.data, part))
                fail_msg("'%s' is not in:\n%s", part, text.data);
}

/* What there is no room for is counted: on each side of the window, and below. */
EXAMPLE_TEST(hidden) {
        assert_in_rows(e, 10, "enforcing, 3 instances, ");
        assert_in_rows(e, 10, "\n … 2 nodes: a higher terminal shows them");
        assert_in_rows(e, 9, "enforcing, instances 1-2 of 3, ");
        e->view.selected = 2;
        assert_in_rows(e, 9, "enforcing, instances 2-3 of 3, ");
        e->topology = (Topology){ .nodes = (Node[6]){ { .id = 0 } }, .n_nodes = 6 };
        e->view.before = e->view.now = (NodeCounters[6]){ { .cpu_known = false } };
        assert_in_rows(e, 13, "\n    … 5 more nodes");
}

/* Problems leave room for an instance, and no more instances are counted than are on the screen. */
EXAMPLE_TEST(small) {
        e->status.policy_load_success = false;
        e->status.policy_errors =
                (const char *[]){ "a:1:1: x", "a:2:1: x", "a:3:1: x", "a:4:1: x" };
        e->status.n_policy_errors = 4;
        assert_in_rows(e, 8, "enforcing, instances 1-1 of 3, ");
        assert_in_rows(e, 8, " more lines: tidbnumactl status\n\n INSTANCE");
        assert_in_rows(e, 2, "enforcing, 3 instances, ");
}

/* Any size, colours or not; a selected instance is always on it. */
EXAMPLE_TEST(fits) {
        for (unsigned columns = 20; columns < 220; columns += 7)
                for (unsigned rows = 1; rows < 40; rows++) {
                        _cleanup_text_ Text text = { 0 };
                        unsigned lines = 1, column = 0;

                        e->view.columns = columns;
                        e->view.rows = rows;
                        e->view.selected = rows % 4;
                        top_view_render(&e->view, &text);
                        assert_int_equal(text.error, 0);
                        for (const char *c = text.data; *c; c++) {
                                lines += *c == '\n';
                                column = *c == '\n' ? 0
                                                    : column + (((unsigned char)*c & 0xc0) != 0x80);
                                assert_true(column <= columns);
                        }
                        assert_true(lines <= rows);
                        if (rows >= 5)
                                assert_non_null(strstr(text.data, "\n>"));
                }
}
