/* How much of a node an instance counts for, and what that costs on which node. */
#include "tidbnumad/plan/advice.h"
#include "tidbnumad/plan/placement-problem.h"

/* The memory of nodes is compared in quarters of the largest: the kernel keeps some for itself on
 * the first node, and that is to decide nothing. */
enum { QUARTERS = 4, TWELFTHS = 12 };

static uint32_t weight_of_product(AdviceProduct product) {
        static const uint32_t weights[N_PRODUCTS] = {
                [PRODUCT_OTHER] = 2,   [PRODUCT_TIDB] = 8, [PRODUCT_TIKV] = 8,
                [PRODUCT_TIFLASH] = 8, [PRODUCT_PD] = 1,   [PRODUCT_HAPROXY] = 2,
                [PRODUCT_JAVA] = 8,
        };

        return weights[product];
}

uint32_t placement_weight(const PlacementInstance *in) {
        const Policy *policy = in->policy;
        uint32_t weight;

        if (policy->weight != WEIGHT_AUTO)
                return policy->weight;
        weight = weight_of_product(in->exe ? advice_product_of(in->exe)
                                           : advice_product_of_pattern(policy->match.exe));
        while (weight < in->cpus_used && weight <= WEIGHT_MAX / 2)
                weight *= 2;
        return weight;
}

uint32_t placement_node_weight(const PlacementInstance *in, size_t n_nodes) {
        return n_nodes ? (placement_weight(in) + (uint32_t)n_nodes - 1) / (uint32_t)n_nodes : 0;
}

uint64_t placement_cpu_part(const PlacementInput *input, size_t node) {
        const CpuSet reserved = placement_reserved_cpus(input);
        CpuSet cpus = input->topology->nodes[node].cpus;
        uint32_t n_cpus;

        id_set_subtract(&cpus, &reserved);
        n_cpus = id_set_count(&cpus);
        return n_cpus ? (1000 + n_cpus - 1) / n_cpus : 0;
}

static uint64_t quarters(uint64_t bytes, uint64_t most) {
        const uint64_t n = (bytes / (most / (2 * QUARTERS) + 1) + 1) / 2;

        return n < 1 ? 1 : n < QUARTERS ? n : QUARTERS;
}

uint64_t placement_room_part(const Topology *topology, size_t node) {
        uint64_t most = 0, least = UINT64_MAX;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *n = &topology->nodes[i];

                if (!topology_is_home(n))
                        continue;
                if (n->memory_unknown)
                        return 0;
                most = n->memory_bytes > most ? n->memory_bytes : most;
                least = n->memory_bytes < least ? n->memory_bytes : least;
        }
        if (most == 0 || quarters(least, most) == QUARTERS)
                return 0;
        return TWELFTHS / quarters(topology->nodes[node].memory_bytes, most);
}
