/* What a start asks for, and with what it still succeeds: two nodes of four CPUs each. */
#include "../../support/id-sets.h"
#include "../../support/test.h"

#include "tidbnumad/plan/start-limits.h"

static Topology two_nodes(Node nodes[2]) {
        nodes[0] = (Node){ .id = 0, .cpus = cpu_set("0-3") };
        nodes[1] = (Node){ .id = 1, .cpus = cpu_set("4-7") };
        return (Topology){ .nodes = nodes, .n_nodes = 2 };
}

typedef struct Row {
        const char *script;
        bool node_0, node_1; /* does it start inside this node? */
        const char *cpus;    /* where it puts itself */
} Row;

/* Of the whole host each succeeds but one that is not understood, about which nothing is known. */
TEST(scripts) {
        static const Row rows[] = {
                { "exec bin/tidb-server", true, true, "" },
                { "exec numactl --cpunodebind=1 --membind=1 bin/tidb-server", false, true, "4-7" },
                { "exec numactl --cpunodebind=0 --membind=0 -C 1-2 bin/tikv-server", true, false,
                  "1-2" },
                { "numactl -N 1 -m 1 x", false, true, "4-7" },
                { "numactl -N1 -m1 x", false, true, "4-7" },
                { "/usr/bin/numactl \\\n  --cpunodebind 1 \\\n  --membind \"1\" x", false, true,
                  "4-7" },
                { "numactl -N 0,1 -m 0,1 x", false, false, "0-7" },
                { "numactl --interleave=all x", true, true, "" },
                { "numactl --localalloc x", true, true, "" },
                { "numactl --preferred=1 x", false, true, "4-7" },
                { "numactl -C 4-5 x", false, true, "4-5" },
                { "numactl --hardware", true, true, "" },
                { "numactl --membind=$NODE x", false, false, "" },
                { "numactl --membind=netdev:eth0 x", false, false, "" },
                { "numactl --cpunodebind=+0 x", false, false, "" },
                { "# numactl -N 1 x\nexec x", true, true, "" },
                { "cd /x || exit 1; exec env A=b numactl -m 1 x", false, true, "4-7" },
                { "taskset -c 4-7 x", false, true, "4-7" },
                { "taskset -ac 3-5 x", true, true, "3-5" },
                { "taskset 0xf0 x", false, true, "4-7" },
                { "taskset f0 x", false, true, "4-7" },
                { "taskset --cpu-list 0 x", true, false, "0" },
                { "taskset -pc 4-7 $$", true, true, "" },
                { "taskset -c $CPUS x", false, false, "" },
                { "echo numactl", true, true, "" },
                { "numactl $OPTIONS x", false, false, "" },
                { "numactl -m 1 $PROGRAM", false, true, "4-7" },
                { "NUMA='numactl -N 1 -m 1'; exec $NUMA x", false, true, "4-7" },
                { "export TS=\"taskset -c 4-7\"\nexec $TS x", false, true, "4-7" },
                { "TASKSET=/usr/bin/taskset\n$TASKSET -c 4-7 x", false, false, "" },
                { "NUMACTL=/usr/bin/numactl\n$NUMACTL -m 1 x", false, false, "" },
                { "bash -c 'exec numactl -m 1 x'", false, true, "4-7" },
        };
        Node nodes[2];
        const Topology topology = two_nodes(nodes);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const NodeSet mems[] = { node_set("0"), node_set("1") };
                StartLimits limits = { 0 };
                CpuSet cpus;
                bool alone;

                start_limits_add_script(&limits, rows[i].script);
                cpus = start_limits_cpus(&limits, &topology);
                print_message("%s\n", rows[i].script);
                assert_int_equal(start_limits_allow(&limits, &topology, &nodes[0].cpus, &mems[0]),
                                 rows[i].node_0);
                assert_int_equal(start_limits_allow(&limits, &topology, &nodes[1].cpus, &mems[1]),
                                 rows[i].node_1);
                assert_id_view(ID_VIEW(&cpus), rows[i].cpus);
                assert_int_equal(start_limits_refuse(&limits, &topology, &nodes[1].cpus, &mems[1],
                                                     &alone) == NULL,
                                 rows[i].node_1);
                assert_true(
                        start_limits_allow(&limits, &topology, &(CpuSet){ 0 }, &(NodeSet){ 0 }));
        }
}

/* sched_setaffinity(2) and set_mempolicy(2) need something in common, and no more. */
TEST(properties) {
        Node nodes[2];
        const Topology topology = two_nodes(nodes);
        const NodeSet mems[] = { node_set("0"), node_set("1") };
        const CpuSet some = cpu_set("2-5"), first = cpu_set("0-1");
        StartLimits limits = { 0 };
        bool alone;

        start_limits_add_affinity(&limits, &(CpuSet){ 0 });
        assert_int_equal(limits.source, START_NOTHING);
        start_limits_add_affinity(&limits, &some);
        assert_true(start_limits_allow(&limits, &topology, &nodes[0].cpus, &mems[0]));
        assert_true(start_limits_allow(&limits, &topology, &nodes[1].cpus, &mems[1]));
        start_limits_add_affinity(&limits, &first);
        limits = (StartLimits){ 0 };
        start_limits_add_affinity(&limits, &first);
        assert_false(start_limits_allow(&limits, &topology, &nodes[1].cpus, &mems[1]));
        limits = (StartLimits){ 0 };
        start_limits_add_numa(&limits, &topology, 2, &mems[1], false);
        assert_false(start_limits_allow(&limits, &topology, &nodes[0].cpus, &mems[0]));
        assert_non_null(start_limits_refuse(&limits, &topology, &nodes[0].cpus, &mems[0], &alone));
        assert_false(alone); /* it would start, with all its memory remote */
        assert_true(start_limits_conflict(&limits, &mems[0]));
        assert_false(start_limits_conflict(&limits, &mems[1]));
        assert_non_null(
                start_limits_refuse(&limits, &topology, &nodes[0].cpus, &(NodeSet){ 0 }, &alone));
        assert_true(start_limits_allow(&limits, &topology, &nodes[0].cpus, &(NodeSet){ 0 }));
        limits = (StartLimits){ 0 };
        start_limits_add_script(&limits, "numactl --membind=0,1 x");
        assert_false(start_limits_conflict(&limits, &mems[0]));
        assert_non_null(start_limits_refuse(&limits, &topology, &nodes[0].cpus, &mems[0], &alone));
        assert_true(alone); /* its CPUs can be set, its memory nodes cannot */
        limits = (StartLimits){ 0 };
        start_limits_add_numa(&limits, &topology, 4, &mems[1], false); /* local: no mask */
        assert_true(start_limits_allow(&limits, &topology, &nodes[0].cpus, &mems[0]));
        limits = (StartLimits){ 0 };
        start_limits_add_numa(&limits, &topology, -1, &mems[1], true); /* CPUAffinity=numa */
        assert_false(start_limits_allow(&limits, &topology, &nodes[0].cpus, &mems[0]));
}

/* What a start leaves out of node 0, and what it chooses CPUs and memory nodes by. */
TEST(left_out) {
        static const struct {
                const char *script;
                StartSource leaves_out, cpus, memory;
        } rows[] = {
                { "exec bin/tidb-server", START_NOTHING, START_NOTHING, START_NOTHING },
                { "numactl -N 0 -m 0 x", START_NOTHING, START_NUMACTL, START_NUMACTL },
                { "numactl -N 0,1 x", START_NOTHING, START_NUMACTL, START_NOTHING },
                { "numactl -m 1 x", START_NOTHING, START_NOTHING, START_NUMACTL },
                { "numactl --interleave=all x", START_NOTHING, START_NOTHING, START_NOTHING },
                { "numactl -C 0-1,4-5 x", START_NUMACTL, START_NUMACTL, START_NOTHING },
                { "numactl -a -C 0-1,4-5 x", START_NUMACTL, START_NUMACTL, START_NOTHING },
                { "numactl -N $NODE x", START_NUMACTL, START_NUMACTL, START_NUMACTL },
                { "taskset -c 0-1,4-5 x", START_TASKSET, START_TASKSET, START_NOTHING },
                { "taskset -c 0-3 numactl -m 0 x", START_NOTHING, START_TASKSET, START_NUMACTL },
                { "taskset -c $CPUS x", START_TASKSET, START_TASKSET, START_NOTHING },
        };
        Node nodes[2];
        const Topology topology = two_nodes(nodes);
        const CpuSet halves = cpu_set("0-1,4-5");
        StartLimits limits = { 0 };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                limits = (StartLimits){ 0 };
                start_limits_add_script(&limits, rows[i].script);
                print_message("%s\n", rows[i].script);
                assert_int_equal(start_limits_leave_out(&limits, &topology, &nodes[0].cpus),
                                 rows[i].leaves_out);
                assert_int_equal(limits.cpu_source, rows[i].cpus);
                assert_int_equal(limits.memory_source, rows[i].memory);
        }
        limits = (StartLimits){ 0 };
        start_limits_add_affinity(&limits, &halves);
        assert_int_equal(start_limits_leave_out(&limits, &topology, &nodes[0].cpus),
                         START_AFFINITY);
        assert_int_equal(start_limits_leave_out(&limits, &topology, &halves), START_NOTHING);
        limits = (StartLimits){ 0 };
        start_limits_add_unreadable(&limits);
        assert_int_equal(start_limits_leave_out(&limits, &topology, &nodes[0].cpus), START_NOTHING);
        for (StartSource s = 0; s < N_START_SOURCES; s++)
                assert_int_equal(start_source_from_string(start_source_to_string(s)), s);
        assert_int_equal(start_source_from_string("CPUAffinity"), START_NOTHING);
}

TEST(unreadable) {
        Node nodes[2];
        const Topology topology = two_nodes(nodes);
        StartLimits limits = { 0 };
        bool alone;

        start_limits_add_unreadable(&limits);
        assert_non_null(
                start_limits_refuse(&limits, &topology, &nodes[0].cpus, &(NodeSet){ 0 }, &alone));
        assert_false(alone);
}

/* --- What counts as restricted by hand: two nodes of eight CPUs each, with the threads of their
 * cores numbered as an Intel or AMD host has them (node 0: 0-3 and 8-11, node 1: 4-7 and 12-15) ---
 */

typedef struct HandRow {
        const char *threads, *unit, *mems; /* "": not known, or none */
        const char *above_cpus, *above_nodes;
        const char *isolated;
        bool by_daemon;
        const char *found_threads, *found_cpuset, *found_nodes;
} HandRow;

/* The place is node 0, with all of its CPUs. */
static ByHand find(const HandRow *row) {
        Node nodes[2] = { { .id = 0, .cpus = cpu_set("0-3,8-11"), .memory_bytes = 1 },
                          { .id = 1, .cpus = cpu_set("4-7,12-15"), .memory_bytes = 1 } };
        const Topology topology = { .nodes = nodes,
                                    .n_nodes = 2,
                                    .isolated_cpus = cpu_set(row->isolated) };
        const CpuSet threads = cpu_set(row->threads), unit = cpu_set(row->unit),
                     above = cpu_set(row->above_cpus), place = nodes[0].cpus;
        const NodeSet mems = node_set(row->mems), above_nodes = node_set(row->above_nodes),
                      place_nodes = node_set("0");
        const ByHandInput in = { .topology = &topology,
                                 .thread_cpus = &threads,
                                 .unit_cpus = &unit,
                                 .mems = &mems,
                                 .above_cpus = &above,
                                 .above_nodes = &above_nodes,
                                 .place_cpus = &place,
                                 .place_nodes = &place_nodes,
                                 .bound_by_daemon = row->by_daemon,
                                 .cpu_source = START_AFFINITY };

        return by_hand_find(&in);
}

TEST(rows) {
        static const HandRow rows[] = {
                /* free, with and without a cpuset */
                { "0-15", "0-15", "0-1", "", "", "", false, "", "", "" },
                { "0-15", "", "0-1", "", "", "", false, "", "", "" },
                { "", "", "", "", "", "", false, "", "", "" },
                /* half of two nodes, as web pages advise: bound to no node, and by hand */
                { "0-7", "", "0-1", "", "", "", false, "0-7", "", "" },
                { "0-7", "0-15", "0-1", "", "", "", false, "0-7", "", "" },
                /* and bound by the daemon: half of its place */
                { "0-3", "0-3,8-11", "0", "", "", "", true, "0-3", "", "" },
                /* a thread of each node: still by hand */
                { "0-11", "0-15", "0-1", "", "", "", false, "0-11", "", "" },
                /* as planned: it agrees */
                { "0-3,8-11", "0-15", "0-1", "", "", "", false, "", "", "" },
                { "0-3,8-11", "0-3,8-11", "0", "", "", "", false, "", "", "" },
                { "0-3,8-11", "0-3,8-11", "0", "", "", "", true, "", "", "" },
                /* the daemon without a cpuset sets the threads */
                { "0-3", "", "0-1", "", "", "", true, "", "", "" },
                /* the unit */
                { "4-7", "4-7", "0-1", "", "", "", false, "", "4-7", "" },
                { "4-7", "4-7", "1", "", "", "", false, "", "4-7", "1" },
                { "4-5", "4-7", "1", "", "", "", false, "4-5", "4-7", "1" },
                { "0-15", "0-15", "1", "", "", "", false, "", "", "1" },
                /* no more than its slice has, or than anybody has */
                { "0-7", "0-7", "1", "0-7", "1", "", false, "", "", "" },
                { "0-13", "0-15", "0-1", "", "", "14-15", false, "", "", "" },
                { "0-12", "0-15", "0-1", "", "", "14-15", false, "0-12", "", "" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const ByHand found = find(&rows[i]);

                print_message("row %zu\n", i);
                assert_id_view(ID_VIEW(&found.thread_cpus), rows[i].found_threads);
                assert_id_view(ID_VIEW(&found.cpuset_cpus), rows[i].found_cpuset);
                assert_id_view(ID_VIEW(&found.cpuset_nodes), rows[i].found_nodes);
                assert_int_equal(found.start,
                                 *rows[i].found_threads ? START_AFFINITY : START_NOTHING);
        }
}

TEST(what_is_left) {
        const CpuSet place = cpu_set("0-3,8-11");
        ByHand found = { 0 };
        CpuSet left = by_hand_left(&found, &place);

        assert_ids(left, "0-3,8-11");
        found.thread_cpus = cpu_set("0-7");
        left = by_hand_left(&found, &place);
        assert_ids(left, "0-3");
        found.cpuset_cpus = cpu_set("2-15");
        left = by_hand_left(&found, &place);
        assert_ids(left, "2-3");
        found.thread_cpus = cpu_set("4-7"); /* the kernel gives it its cpuset's then */
        left = by_hand_left(&found, &place);
        assert_ids(left, "0-3,8-11");
}
