/* Where an instance is to be. */
#include "tidbnumad/plan/placement.h"
#include "tidbnumad/plan/match.h"

/* Every node of the set is there, and one of them at least has CPUs and memory each. */
static const char *check_nodes(const Topology *topology, const NodeSet *nodes) {
        bool has_memory = false;
        CpuSet cpus;

        ID_SET_FOREACH(id, nodes) {
                const Node *node = topology_find(topology, (uint32_t)id);

                if (!node)
                        return "its policy names a node that this machine does not have now";
                has_memory |= node->memory_bytes > 0;
        }
        cpus = topology_cpus_of(topology, nodes);
        if (id_set_is_empty(&cpus))
                return "its nodes have no CPU that is online; name a node with CPUs";
        if (!has_memory)
                return "its nodes have no memory; name a node with memory";
        return "";
}

/* A list of CPUs is meant to the letter: an instance on fewer than it names would be a quiet
 * surprise. */
static const char *choose_cpus(const Topology *topology, const NodeSet *nodes, const CpuSet *wanted,
                               CpuSet *ret) {
        const CpuSet all = topology_cpus_of(topology, nodes);

        if (!id_set_is_subset(wanted, &all))
                return "its policy names CPUs that are not online CPUs of its nodes";
        *ret = id_set_is_empty(wanted) ? all : *wanted;
        return "";
}

Placement placement_build(const Topology *topology, const Policy *policy, const char *unit,
                          const uint16_t *ports, size_t n_ports) {
        const PolicyInstance *instance = match_instance(policy, unit, ports, n_ports);
        const NodeSet *nodes = instance ? &instance->nodes : &policy->nodes;
        Placement p = {
                .memory = policy->memory,
                .migrate = policy->migrate,
                .rate_bytes_per_sec = policy->rate_bytes_per_sec,
                .reason = "its policy names no nodes for it: watched and reported only",
        };

        if (!instance && n_ports == 0 && match_needs_port(policy, unit)) {
                p.reason = "its policy places it by its port, and it listens on none yet";
                return p;
        }
        if (id_set_is_empty(nodes))
                return p;
        p.reason = check_nodes(topology, nodes);
        if (p.reason[0] != '\0')
                return p;
        p.reason = choose_cpus(topology, nodes, &policy->cpus, &p.cpus);
        if (p.reason[0] == '\0')
                p.nodes = *nodes;
        return p;
}
