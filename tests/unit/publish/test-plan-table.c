/* A whole plan as text, as an operator reads it. */

#include "../../support/test.h"

#include "plan-example.h"
#include "tidbnumad/publish/plan-text.h"

PLAN_TEST(plan) {
        _cleanup_text_ Text text = { 0 };

        plan_table_render(&e->report, 0, &text);
        assert_string_equal(
                text.data,
                "INSTANCE    POLICY  NODES  CPUS       MEMORY     WHY\n"
                "tikv-1      tikv    1      4-7,12-15  bind       nearest to its device (R4)\n"
                "tikv-20160  tikv    1      4-7,12-15  bind       it is bound there and still "
                "fits\n"
                "pd-\\x1b[1m  pd      -      -          -          fewer nodes are available to it "
                "than place.count asks for; lower place.count or widen place.nodes\n"
                "pd-2        pd      0      0          preferred  its policy names the node\n"
                "\n"
                "NODE  SOCKET  CPUS       MEMORY    FREE     DEVICES          INSTANCES\n"
                "0     0       0-3,8-11   64.0 GiB  1.5 GiB  eth0             reserved; pd-2\n"
                "1     1       4-7,12-15  64.0 GiB  512 B    nvme0n1 nvme1n1  tikv-1 tikv-20160\n"
                "4     1       -          1.0 TiB   0 B                       no home: memory "
                "without CPUs\n"
                "?                                           sda\n"
                "\n"
                "warning: pd-2: it uses a reserved node: no other node was free when it was "
                "placed, or its device is there (R2)\n"
                "warning: tikv-20160: it is exclusive but shares a node with another exclusive "
                "instance: there are too few nodes, or their devices are on the same node (R3)\n"
                "warning: tikv-20160, pd-2: its former nodes are no longer available to it: it "
                "moves\n"
                "warning: tikv-20160: it has its own memory policy, interleave:0-7 (numactl?), "
                "which the kernel changes when memory is bound: a release cannot restore it; "
                "restart it without\n"
                "note: tikv-20160 is bound by affinity, so its memory is moved but not bound: its "
                "unit is shared\n"
                "note: imagined\n");
}

PLAN_TEST(nothing_to_place) {
        _cleanup_text_ Text text = { 0 };

        e->report.n_instances = e->report.n_notes = 0;
        e->report.free_bytes = NULL;
        e->report.devices = NULL;
        e->nodes[1].package = PACKAGE_UNKNOWN;
        e->nodes[1].memory_bytes = 0;
        e->nodes[1].memory_unknown = true;
        e->nodes[2].kind = NODE_GPU;
        plan_table_render(&e->report, 0, &text);
        assert_string_equal(
                text.data,
                "NODE  SOCKET  CPUS       MEMORY    FREE  DEVICES  INSTANCES\n"
                "0     0       0-3,8-11   64.0 GiB  -              reserved\n"
                "1     ?       4-7,12-15  ?         -\n"
                "4     1       -          1.0 TiB   -              no home: GPU memory\n");
}

/* Of what runs, the nodes that it has now and what is to be moved. */
PLAN_TEST(running) {
        _cleanup_text_ Text text = { 0 };

        for (size_t i = 0; i < PLAN_INSTANCES; i++)
                e->instances[i].pid = 7;
        e->instances[0].in_force = node_set("0");
        e->instances[0].cost_known = true;
        plan_table_render(&e->report, 0, &text);
        assert_non_null(strstr(text.data,
                               "INSTANCE    NOW  TO  CPUS       MOVE     WHY\n"
                               "tikv-1      0    1   4-7,12-15  -        nearest to its device "
                               "(R4)\n"
                               "tikv-20160  1    1   4-7,12-15  12 B     it is bound there and "
                               "still fits\n"
                               "pd-\\x1b[1m  -    -   -          -        fewer nodes "));
        assert_non_null(
                strstr(text.data, "\npd-2        -    0   0          unknown  its policy "));
}

PLAN_TEST(explain) {
        _cleanup_text_ Text text = { 0 };

        plan_table_explain(&e->report, &text);
        assert_string_equal(
                text.data,
                "tikv-1 on node 1: nearest to its device (R4); leaves reserved nodes free (R2)\n"
                "  node 0: device 32 against 10 (R4)\n"
                "  nodes 0-1: reserved 1 against 0 (R2)\n"
                "  … and 6 more\n"
                "tikv-20160 on node 1: it is bound there and still fits\n"
                "pd-\\x1b[1m is not placed: fewer nodes are available to it than place.count asks "
                "for; lower place.count or widen place.nodes\n"
                "pd-2 on node 0: its policy names the node\n"
                "\n"
                "Each number is a sum over the whole plan, with the instance on those nodes and as "
                "planned. Lower is better; the first difference decides:\n"
                "  device     summed distances from instances to their devices\n"
                "  reserved   reserved nodes that instances use\n");
}

/* Those that are not shown are counted. */
PLAN_TEST(alternatives) {
        _cleanup_text_ Text text = { 0 };

        e->instances[0].n_feasible = 3;
        plan_table_alternatives(&e->instances[0], &text);
        assert_string_equal(text.data, "  node 0: device 32 against 10 (R4)\n"
                                       "  nodes 0-1: reserved 1 against 0 (R2)\n");
        text_reset(&text);
        e->instances[0].n_feasible = 4;
        plan_table_alternatives(&e->instances[0], &text);
        assert_non_null(strstr(text.data, "\n  … and 1 more\n"));
}

PLAN_TEST(changes) {
        _cleanup_text_ Text text = { 0 };
        PlanChange changes[4];

        changes[0] = (PlanChange){ .name = "tikv-20160",
                                   .before = &e->instances[1],
                                   .after = &e->instances[1],
                                   .to = node_set("1") };
        changes[1] =
                (PlanChange){ .name = "gone", .before = &e->instances[0], .from = node_set("0-1") };
        changes[2] = (PlanChange){ .name = "tikv-1",
                                   .after = &e->instances[0],
                                   .from = node_set("0"),
                                   .to = node_set("1") };
        e->instances[3].pid = 5;
        changes[3] = (PlanChange){ .name = "pd-2", .after = &e->instances[3], .to = node_set("0") };
        plan_table_changes(changes, 4, 0, &text);
        assert_string_equal(text.data,
                            "INSTANCE    FROM  TO  MOVE     WHY\n"
                            "tikv-20160  -     1   12 B     it is bound there and still fits\n"
                            "gone        0-1   -   -        no policy matches it any more\n"
                            "tikv-1      0     1   -        nearest to its device (R4)\n"
                            "pd-2        -     0   unknown  its policy names the node\n");
        text_reset(&text);
        plan_table_changes(NULL, 0, 0, &text);
        assert_string_equal(text.data, "Nothing changes.\n");
}
