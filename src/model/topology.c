/* Questions about the machine's topology. Where it is read from is observe's business. */
#include <stdlib.h>

#include "tidbnumad/model/topology.h"

void topology_done(Topology *topology) {
        free(topology->nodes);
        free(topology->distances);
        *topology = (Topology){ 0 };
}

const Node *topology_find(const Topology *topology, uint32_t id) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].id == id)
                        return &topology->nodes[i];
        return NULL;
}

NodeSet topology_nodes(const Topology *topology) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                id_set_add(&nodes, topology->nodes[i].id);
        return nodes;
}

NodeSet topology_memory_nodes(const Topology *topology) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].memory_bytes > 0)
                        id_set_add(&nodes, topology->nodes[i].id);
        return nodes;
}

bool topology_is_home(const Node *node) {
        return node->memory_bytes > 0 && !id_set_is_empty(&node->cpus);
}

NodeSet topology_homes(const Topology *topology) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology_is_home(&topology->nodes[i]))
                        id_set_add(&nodes, topology->nodes[i].id);
        return nodes;
}

CpuSet topology_cpus(const Topology *topology) {
        NodeSet nodes = topology_nodes(topology);

        return topology_cpus_of(topology, &nodes);
}

CpuSet topology_cpus_of(const Topology *topology, const NodeSet *nodes) {
        CpuSet cpus = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_has(nodes, topology->nodes[i].id))
                        id_set_add_all(&cpus, &topology->nodes[i].cpus);
        return cpus;
}

NodeSet topology_nodes_of(const Topology *topology, const CpuSet *cpus) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_intersects(&topology->nodes[i].cpus, cpus))
                        id_set_add(&nodes, topology->nodes[i].id);
        return nodes;
}

uint16_t topology_distance(const Topology *topology, uint32_t from, uint32_t to) {
        const Node *a = topology_find(topology, from), *b = topology_find(topology, to);

        if (!a || !b || !topology->distances)
                return from == to ? 10 : 20;
        return topology->distances[(size_t)(a - topology->nodes) * topology->n_nodes +
                                   (size_t)(b - topology->nodes)];
}
