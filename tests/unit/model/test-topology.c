/* Questions about a machine with gaps in its numbers, a memory-only node and odd distances. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/model/topology.h"

TEST(sparse_machine) {
        Node nodes[3] = { { .id = 0 }, { .id = 33 }, { .id = 72, .memory_bytes = 1 } };
        uint16_t distances[9] = { 10, 16, 22, 16, 10, 28, 22, 28, 10 };
        Topology t = { .nodes = nodes, .n_nodes = 3, .distances = distances };
        NodeSet some;
        CpuSet cpus;

        nodes[0].cpus = cpu_set("0-3");
        nodes[1].cpus = cpu_set("4-7");
        assert_ids(topology_nodes(&t), "0,33,72");
        assert_ids(topology_memory_nodes(&t), "72");
        assert_ids(topology_cpus(&t), "0-7");
        some = node_set("33,72");
        assert_ids(topology_cpus_of(&t, &some), "4-7");
        cpus = cpu_set("3,4");
        assert_ids(topology_nodes_of(&t, &cpus), "0,33");
        assert_null(topology_find(&t, 1));
        assert_ptr_equal(topology_find(&t, 72), &nodes[2]);
        assert_int_equal(topology_distance(&t, 33, 72), 28);
        assert_int_equal(topology_distance(&t, 1, 1), 10);
        assert_int_equal(topology_distance(&t, 0, 1), 20);
}
