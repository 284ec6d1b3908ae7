/* What `host.reserve` keeps for the network: nodes, or some cores of a node that cannot be spared.
 */
#include "tidbnumad/plan/placement.h"

/* `auto` takes at most this part of the cores of a node. */
enum { AUTO_PART = 8 };

NodeSet placement_reserved(const PlacementInput *input) {
        const Reserve *reserve = &input->host->reserve;
        NodeSet nodes = { 0 }, all = topology_nodes(input->topology);

        if (reserve->kind == RESERVE_NIC)
                nodes = input->nic_nodes;
        else if (reserve->kind == RESERVE_LIST)
                nodes = reserve->nodes;
        id_set_intersect(&nodes, &all);
        return nodes;
}

static uint32_t auto_cores(uint32_t speed_mbps, uint32_t n_cores) {
        const uint32_t wanted = speed_mbps >= 100000 ? 8 : speed_mbps >= 25000 ? 4 : 1;
        const uint32_t most = n_cores >= AUTO_PART ? n_cores / AUTO_PART : 1;

        return wanted < most ? wanted : most;
}

/* At least one core is left to the instances. */
static uint32_t count_cores(const PlacementInput *input, uint32_t n_cores) {
        const uint32_t cpus = input->host->reserve.cpus;
        const uint32_t wanted =
                cpus == RESERVE_CPUS_AUTO ? auto_cores(input->nic_speed_mbps, n_cores) : cpus;

        return wanted < n_cores ? wanted : n_cores - (n_cores > 0);
}

static void add_cores(const PlacementInput *input, const Node *node, CpuSet *cpus) {
        uint32_t left = count_cores(input, id_set_count(&node->first_threads));

        ID_SET_FOREACH(first, &node->first_threads) {
                CpuSet core;

                if (left-- == 0)
                        return;
                core = topology_core(input->topology, (uint32_t)first);
                id_set_union(cpus, &core);
        }
}

CpuSet placement_reserved_cpus(const PlacementInput *input) {
        const NodeSet nodes = placement_reserved(input);
        CpuSet cpus = { 0 };

        for (size_t i = 0; input->host->reserve.cpus > 0 && i < input->topology->n_nodes; i++) {
                const Node *node = &input->topology->nodes[i];

                if (id_set_has(&input->nic_nodes, node->id) && !id_set_has(&nodes, node->id))
                        add_cores(input, node, &cpus);
        }
        return cpus;
}
