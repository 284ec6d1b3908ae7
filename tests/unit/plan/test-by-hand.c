/* What counts as restricted by hand: two nodes of eight CPUs each, with the threads of their cores
 * numbered as an Intel or AMD host has them (node 0: 0-3 and 8-11, node 1: 4-7 and 12-15). */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/plan/start-limits.h"

typedef struct Row {
        const char *threads, *unit, *mems; /* "": not known, or none */
        const char *above_cpus, *above_nodes;
        const char *isolated;
        bool by_daemon;
        const char *found_threads, *found_cpuset, *found_nodes;
} Row;

/* The place is node 0, with all of its CPUs. */
static ByHand find(const Row *row) {
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
        static const Row rows[] = {
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
