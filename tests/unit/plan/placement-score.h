/* The score of a whole plan, computed by the rules and without the search: slow and plain, to
 * compare the search with. */
#pragma once

#include "tidbnumad/model/match.h"
#include "tidbnumad/plan/placement-search.h"

/* <0, 0, >0 as a is better than, equal to, worse than b. */
static inline int placement_score_compare(const PlacementScore *a, const PlacementScore *b) {
        for (unsigned i = 0; i < N_CRITERIA; i++)
                if (a->by[i] != b->by[i])
                        return a->by[i] < b->by[i] ? -1 : 1;
        return 0;
}

static inline uint64_t pairs(uint64_t n) {
        return n * (n - 1) / 2;
}

static inline bool is_exclusive(const PlacementInstance *in) {
        return in->policy->place.share == SHARE_EXCLUSIVE;
}

/* By index of the topology's nodes. */
static inline bool has_node(const Topology *topology, const NodeSet *set, size_t node) {
        return id_set_has(set, topology->nodes[node].id);
}

/* Has it any node in the socket of this one? */
static inline bool has_package(const Topology *topology, const NodeSet *set, size_t node) {
        for (size_t n = 0; n < topology->n_nodes; n++)
                if (topology_same_package(&topology->nodes[n], &topology->nodes[node]) &&
                    has_node(topology, set, n))
                        return true;
        return false;
}

typedef bool (*Has)(const Topology *topology, const NodeSet *set, size_t node);

static inline uint64_t pairs_of_exclusive(const PlacementInput *input, const NodeSet *nodes,
                                          Has has, size_t node) {
        uint64_t n = 0;

        for (size_t i = 0; i < input->n_instances; i++)
                n += is_exclusive(&input->instances[i]) && has(input->topology, &nodes[i], node);
        return pairs(n);
}

static inline uint64_t pairs_of_policy(const PlacementInput *input, const NodeSet *nodes, Has has,
                                       size_t node) {
        uint64_t n = 0;

        for (size_t i = 0; i < input->n_instances; i++) {
                if (!has(input->topology, &nodes[i], node))
                        continue;
                for (size_t k = 0; k < i; k++)
                        n += input->instances[i].policy == input->instances[k].policy &&
                             has(input->topology, &nodes[k], node);
        }
        return n;
}

static inline bool is_first_of_package(const Topology *topology, size_t node) {
        for (size_t n = 0; n < node; n++)
                if (topology_same_package(&topology->nodes[n], &topology->nodes[node]))
                        return false;
        return true;
}

/* --- of one instance --- */

static inline uint64_t given_up(const PlacementInstance *in, const NodeSet *nodes) {
        NodeSet gone = in->in_force;

        id_set_subtract(&gone, nodes);
        return id_set_is_empty(nodes) ? 0 : id_set_count(&gone);
}

static inline uint64_t device_distance(const PlacementInput *input, const NodeSet *devices,
                                       uint32_t id) {
        uint64_t best = UINT64_MAX;

        ID_SET_FOREACH(device, devices) {
                uint64_t distance = topology_distance(input->topology, id, (uint32_t)device);

                best = distance < best ? distance : best;
        }
        return best;
}

static inline uint64_t device_distances(const PlacementInput *input, const PlacementInstance *in,
                                        const NodeSet *nodes) {
        NodeSet devices;
        uint64_t sum = 0;

        if (in->policy->place.near == NEAR_NONE)
                return 0;
        devices = placement_devices(input, in);
        for (size_t n = 0; n < input->topology->n_nodes && !id_set_is_empty(&devices); n++)
                if (has_node(input->topology, nodes, n))
                        sum += device_distance(input, &devices, input->topology->nodes[n].id);
        return sum;
}

static inline uint64_t inner_distances(const Topology *topology, const NodeSet *nodes) {
        uint64_t sum = 0;

        for (size_t a = 0; a < topology->n_nodes; a++)
                for (size_t b = 0; has_node(topology, nodes, a) && b < topology->n_nodes; b++)
                        if (a != b && has_node(topology, nodes, b))
                                sum += topology_distance(topology, topology->nodes[a].id,
                                                         topology->nodes[b].id);
        return sum;
}

/* In steps of 16, each node's rounded by itself. */
static inline uint64_t mib_to_move(const Topology *topology, const PlacementInstance *in,
                                   const NodeSet *nodes) {
        uint64_t mib = 0;

        for (size_t n = 0; in->by_node && !id_set_is_empty(nodes) && n < topology->n_nodes; n++)
                if (!has_node(topology, nodes, n))
                        mib += ((in->by_node[n].anon_bytes / (1 << 20)) + 8) / 16 * 16;
        return mib;
}

static inline void score_instance(const PlacementInput *input, size_t i, const NodeSet *nodes,
                                  PlacementScore *score) {
        const PlacementInstance *in = &input->instances[i];

        score->by[WEIGH_STABILITY] += given_up(in, nodes);
        score->by[WEIGH_DEVICE] += device_distances(input, in, nodes);
        score->by[WEIGH_DISTANCE] += inner_distances(input->topology, nodes);
        score->by[WEIGH_MOVE] += mib_to_move(input->topology, in, nodes);
}

/* --- of one node --- */

static inline uint64_t share_on(const PlacementInput *input, size_t i, const NodeSet *nodes) {
        const Topology *topology = input->topology;
        size_t n = 0;

        for (size_t k = 0; k < topology->n_nodes; k++)
                n += topology->nodes[k].memory_bytes && has_node(topology, nodes, k);
        return placement_share_mib(input->instances[i].need_bytes, n);
}

static inline uint64_t missing_mib(const PlacementInput *input, size_t node, const NodeSet *nodes) {
        uint64_t used = 0, room = placement_free_mib(input, node);

        for (size_t i = 0; input->topology->nodes[node].memory_bytes && i < input->n_instances; i++)
                if (has_node(input->topology, &nodes[i], node))
                        used += share_on(input, i, &nodes[i]);
        return used > room ? used - room : 0;
}

static inline uint64_t weight_on(const PlacementInput *input, size_t node, const NodeSet *nodes) {
        uint64_t weight = 0;

        for (size_t i = 0; i < input->n_instances; i++)
                if (has_node(input->topology, &nodes[i], node))
                        weight += placement_node_weight(&input->instances[i],
                                                        id_set_count(&nodes[i]));
        return weight;
}

static inline uint64_t count_on(const PlacementInput *input, size_t node, const NodeSet *nodes) {
        uint64_t n = 0;

        for (size_t i = 0; i < input->n_instances; i++)
                n += has_node(input->topology, &nodes[i], node);
        return n;
}

/* Pairs of an exclusive instance and one of monitoring. */
static inline uint64_t pairs_aside(const PlacementInput *input, const NodeSet *nodes, size_t node) {
        uint64_t n_exclusive = 0, n_aside = 0;

        for (size_t i = 0; i < input->n_instances; i++) {
                const PlacementInstance *in = &input->instances[i];
                const bool exclusive = in->policy->place.share == SHARE_EXCLUSIVE;

                if (!has_node(input->topology, &nodes[i], node))
                        continue;
                n_exclusive += exclusive;
                n_aside +=
                        !exclusive &&
                        product_info(match_product(in->exe, &in->policy->match, in->unit))->aside;
        }
        return n_exclusive * n_aside;
}

static inline void score_node(const PlacementInput *input, size_t node, const NodeSet *nodes,
                              const NodeSet *reserved, PlacementScore *score) {
        const Topology *topology = input->topology;
        uint64_t n = count_on(input, node, nodes), weight = weight_on(input, node, nodes);

        score->by[WEIGH_EXCLUSIVE] += pairs_of_exclusive(input, nodes, has_node, node);
        score->by[WEIGH_POLICY] += pairs_of_policy(input, nodes, has_node, node);
        score->by[WEIGH_RESERVED] += has_node(topology, reserved, node) ? n : 0;
        score->by[WEIGH_MEMORY] += missing_mib(input, node, nodes);
        score->by[WEIGH_ROOM] += weight * weight * placement_room_part(topology, node);
        score->by[WEIGH_ASIDE] += pairs_aside(input, nodes, node);
        score->by[WEIGH_LOAD] += weight * weight * placement_cpu_part(input, node);
        score->by[WEIGH_NUMBER] += n * node;
        if (is_first_of_package(topology, node))
                score->by[WEIGH_SPREAD] += pairs_of_exclusive(input, nodes, has_package, node) +
                                           pairs_of_policy(input, nodes, has_package, node);
}

static inline PlacementScore placement_score(const PlacementInput *input, const NodeSet *nodes) {
        NodeSet reserved = placement_reserved(input);
        PlacementScore score = { 0 };

        for (size_t i = 0; i < input->n_instances; i++)
                score_instance(input, i, &nodes[i], &score);
        for (size_t n = 0; n < input->topology->n_nodes; n++)
                score_node(input, n, nodes, &reserved, &score);
        return score;
}
