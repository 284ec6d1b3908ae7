/* Generated machines and instances, the same ones on every run. After placement-support.h. */
#pragma once

#include "placement-support.h"

/* Numerical Recipes' generator: the same numbers everywhere. */
static inline uint32_t next_number(uint32_t *seed, uint32_t below) {
        *seed = *seed * 1664525u + 1013904223u;
        return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

static inline bool one_in(uint32_t *seed, uint32_t n) {
        return next_number(seed, n) == 0;
}

/* What is generated. */
typedef struct Shape {
        unsigned nodes, instances, policies, count; /* at most */
        bool plain;                                 /* all nodes are homes, numbered without gaps */
        bool memory;                                /* instances need some, and nodes have little */
        bool whole;                                 /* so many nodes and instances, not fewer */
} Shape;

static inline NodeSet some_of(const World *w, uint32_t *seed, unsigned percent) {
        NodeSet nodes = { 0 };

        id_set_add(&nodes, w->nodes[next_number(seed, (uint32_t)w->topology.n_nodes)].id);
        for (size_t i = 0; i < w->topology.n_nodes; i++)
                if (next_number(seed, 100) < percent)
                        id_set_add(&nodes, w->nodes[i].id);
        return nodes;
}

/* Sockets of different size, numbers with gaps, nodes without CPUs or without memory, distances of
 * any kind, not the same both ways. */
static inline void random_machine(World *w, uint32_t *seed, const Shape *shape) {
        unsigned n = shape->whole ? shape->nodes : 1 + next_number(seed, shape->nodes);
        unsigned packages = 1 + next_number(seed, n < 4 ? n : 4), kind = next_number(seed, 3);
        uint32_t id = 0, cpu = 0;

        for (unsigned i = 0; i < n; i++) {
                Node *node = &w->nodes[i];
                unsigned cpus = 2 + (shape->plain ? 6 : next_number(seed, 7));

                *node = (Node){ .id = id, .package = 3 * (i * packages / n) };
                id += 1 + (shape->plain ? 0 : next_number(seed, 3));
                if (shape->plain || !one_in(seed, 8))
                        node->memory_bytes = UINT64_C(1) << (30 + next_number(seed, 3));
                for (unsigned c = 0; (shape->plain || !one_in(seed, 8)) && c < cpus; c++)
                        id_set_add(&node->cpus, cpu++);
                cpu += cpu % 2;
                w->free_bytes[i] =
                        node->memory_bytes - (node->memory_bytes >> (1 + next_number(seed, 4)));
        }
        for (unsigned i = 0; i < n; i++)
                for (unsigned k = 0; k < n; k++)
                        w->distances[i * n + k] =
                                (uint16_t)(i == k      ? 10
                                           : kind == 0 ? 11 + next_number(seed, 40)
                                           : w->nodes[i].package == w->nodes[k].package
                                                   ? 12
                                                   : 20 + 8 * kind);
        w->topology = (Topology){ .nodes = w->nodes, .n_nodes = n };
        world_pair_threads(w);
        w->topology.distances = one_in(seed, 6) ? NULL : w->distances;
        w->input = (PlacementInput){ .topology = &w->topology,
                                     .host = &w->host,
                                     .instances = w->instances,
                                     .free_bytes = one_in(seed, 2) ? w->free_bytes : NULL };
}

static inline void random_host(World *w, uint32_t *seed) {
        w->host.reserve.kind = (ReserveKind)next_number(seed, 3);
        w->host.reserve.strict = one_in(seed, 4);
        w->host.reserve.nodes = some_of(w, seed, 10);
        w->input.nic_nodes = one_in(seed, 4) ? (NodeSet){ 0 } : some_of(w, seed, 5);
}

/* The first of one node, perhaps with one of another. */
static inline CpuSet some_cpus(const World *w, uint32_t *seed) {
        CpuSet cpus = { 0 };

        for (unsigned i = 0; i < 1 + next_number(seed, 2); i++) {
                uint32_t node = next_number(seed, (uint32_t)w->topology.n_nodes);
                int first = id_set_next(&w->nodes[node].cpus, 0);

                id_set_add(&cpus, first < 0 ? 0 : (uint32_t)first);
        }
        return cpus;
}

static inline void random_policy(World *w, uint32_t *seed, const Shape *shape) {
        static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
        Policy *policy = world_policy(w, names[w->n_policies % 8]);
        Place *place = &policy->place;

        if (w->n_policies % 4 == 2) /* monitoring where it is shared; its weight is the usual one */
                policy->match.exe = (char *)"prometheus";
        if (!one_in(seed, 8))
                give_count(policy, one_in(seed, 6) ? PLACE_COUNT_AUTO
                                                   : 1 + next_number(seed, shape->count));
        place->same_package = !one_in(seed, 3);
        place->share = one_in(seed, 3) ? SHARE_SHARED : SHARE_EXCLUSIVE;
        place->near = one_in(seed, 3) ? 1 + next_number(seed, 2) : NEAR_NONE;
        if (one_in(seed, 5))
                place->nodes = some_of(w, seed, 50);
        if (one_in(seed, 5))
                place->avoid = some_of(w, seed, 10);
        if (one_in(seed, 5))
                policy->cpus.choice = CPUS_ONE_PER_CORE;
        else if (one_in(seed, 8))
                policy->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = some_cpus(w, seed) };
        policy->memory = one_in(seed, 3) ? MEMORY_PREFERRED : MEMORY_BIND;
}

static inline void random_instance(World *w, uint32_t *seed, const Shape *shape) {
        const Policy *policy = &w->policies[next_number(seed, (uint32_t)w->n_policies)];
        PlacementInstance *in;
        char name[24];

        (void)snprintf(name, sizeof(name), "%s-%zu", policy->name, w->input.n_instances + 1);
        in = world_add(w, policy, name);
        if (!policy->match.exe && w->input.n_instances % 3 == 0) /* not all of a policy are alike */
                in->exe = "prometheus";
        if (one_in(seed, 2))
                in->device_nodes = some_of(w, seed, 10);
        if (one_in(seed, 6))
                in->in_force = some_of(w, seed, 20);
        if (one_in(seed, 10))
                in->allowed_nodes = some_of(w, seed, 60);
        if (one_in(seed, 10))
                id_set_union(&in->allowed_cpus,
                             &w->nodes[next_number(seed, (uint32_t)w->topology.n_nodes)].cpus);
        if (shape->memory && !one_in(seed, 4))
                in->need_bytes = (UINT64_C(1) << 28) * (1 + next_number(seed, 8));
        for (unsigned i = 0; shape->memory && one_in(seed, 2) && i < 3; i++) {
                const uint32_t mib = next_number(seed, 1024);

                world_hold(w, in, next_number(seed, (uint32_t)w->topology.n_nodes), mib);
        }
}

static inline World *world_random(uint32_t *seed, const Shape *shape) {
        World *w = calloc(1, sizeof(*w));
        unsigned n = shape->whole ? shape->instances : 1 + next_number(seed, shape->instances);
        unsigned policies = 1 + next_number(seed, shape->policies);

        assert_non_null(w);
        random_machine(w, seed, shape);
        random_host(w, seed);
        for (unsigned i = 0; i < policies; i++)
                random_policy(w, seed, shape);
        for (unsigned i = 0; i < n; i++)
                random_instance(w, seed, shape);
        return w;
}
