/* Machines and instances for the tests of the planner. */
#pragma once

#include "../../support/id-sets.h"
#include "placement-score.h"

enum { NODES_MOST = 64, INSTANCES_MOST = 256, POLICIES_MOST = 16 };

/* A machine, a host policy, policies and instances: what the planner is asked about. */
typedef struct World {
        Node nodes[NODES_MOST];
        uint16_t distances[NODES_MOST * NODES_MOST];
        uint16_t core[CPU_SET_MAX]; /* see world_pair_threads() */
        uint64_t free_bytes[NODES_MOST];
        Topology topology;
        HostPolicy host;
        Policy policies[POLICIES_MOST];
        size_t n_policies;
        PlacementInstance instances[INSTANCES_MOST];
        char names[INSTANCES_MOST][24];
        NodeMemory held[INSTANCES_MOST][NODES_MOST]; /* see world_hold() */
        PlacementInput input;
} World;

/* Nodes 0, 1, … of `packages` sockets with so many CPUs and 64 GiB each: node n has the CPUs from
 * n * cpus on. The distances are of an EPYC: 10, 12 within a socket, 28 across. */
static inline World *world_new(unsigned packages, unsigned nodes_each, unsigned cpus) {
        World *w = calloc(1, sizeof(*w));
        unsigned n = packages * nodes_each;

        assert_non_null(w);
        assert_true(n <= NODES_MOST);
        for (unsigned i = 0; i < n; i++) {
                w->nodes[i] = (Node){ .id = i,
                                      .package = i / nodes_each,
                                      .memory_bytes = UINT64_C(64) << 30 };
                for (unsigned c = 0; c < cpus; c++)
                        id_set_add(&w->nodes[i].cpus, i * cpus + c);
                for (unsigned k = 0; k < n; k++)
                        w->distances[i * n + k] = i == k                             ? 10
                                                  : i / nodes_each == k / nodes_each ? 12
                                                                                     : 28;
        }
        w->topology = (Topology){ .nodes = w->nodes, .n_nodes = n, .distances = w->distances };
        w->input = (PlacementInput){ .topology = &w->topology,
                                     .host = &w->host,
                                     .instances = w->instances };
        return w;
}

/* From now on CPUs 2n and 2n + 1 are a core. */
static inline void world_pair_threads(World *w) {
        for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++)
                w->core[cpu] = (uint16_t)(cpu & ~1u);
        w->topology.core = w->core;
}

static inline void world_free(World **w) {
        free(*w);
}
#define _cleanup_world_ _cleanup_(world_free)
#define PLAN_TEST(test, packages, nodes_each, cpus)                                                \
        static void body_of_##test(World *w);                                                      \
        TEST(test) {                                                                               \
                _cleanup_world_ World *w = world_new(packages, nodes_each, cpus);                  \
                body_of_##test(w);                                                                 \
        }                                                                                          \
        static void body_of_##test(World *w)

/* An exclusive policy with one node an instance, within a socket, as the language has it. */
static inline Policy *world_policy(World *w, const char *name) {
        Policy *policy = &w->policies[w->n_policies++];

        assert_true(w->n_policies <= POLICIES_MOST);
        *policy = (Policy){ .name = (char *)name,
                            .place = { .count = 1, .same_package = true },
                            .file = (char *)"test.yaml" };
        return policy;
}

static inline PlacementInstance *world_add(World *w, const Policy *policy, const char *name) {
        size_t i = w->input.n_instances++;

        assert_true(i < INSTANCES_MOST);
        (void)snprintf(w->names[i], sizeof(w->names[i]), "%s", name);
        w->instances[i] = (PlacementInstance){ .name = w->names[i], .policy = policy };
        return &w->instances[i];
}

/* So many, named tikv-1, tikv-2, …; the first of them. */
static inline PlacementInstance *world_add_many(World *w, const Policy *policy, unsigned n) {
        PlacementInstance *first = &w->instances[w->input.n_instances];

        for (unsigned i = 0; i < n; i++)
                (void)world_add(w, policy, fmt("%.12s-%u", policy->name, i + 1));
        return first;
}

/* It holds so many MiB of anonymous memory there, `node` by index. */
static inline void world_hold(World *w, PlacementInstance *in, size_t node, uint64_t mib) {
        NodeMemory *held = w->held[in - w->instances];

        held[node].anon_bytes = mib << 20;
        in->by_node = held;
}

static inline void give_count(Policy *policy, uint32_t count) {
        policy->place.count = count;
        policy->place.count_is_set = true;
}

static inline PlacementPlan plan_of(const World *w) {
        PlacementPlan plan;

        assert_int_equal(placement_plan_build(&w->input, &plan), 0);
        assert_int_equal(plan.n_choices, w->input.n_instances);
        return plan;
}

/* The nodes of all instances in their order: "0 1 2-3 -", with "-" for one that is refused. */
static inline void assert_plan(const World *w, const char *expected) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);
        char text[INSTANCES_MOST * 16] = "";
        size_t at = 0;

        for (size_t i = 0; i < plan.n_choices; i++) {
                char list[ID_SET_LIST_MAX];

                assert_true(id_set_render_list(&plan.choices[i].placement.nodes, list,
                                               sizeof(list)) >= 0);
                at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "",
                                       list[0] ? list : "-");
                assert_true(at < sizeof(text));
        }
        assert_string_equal(text, expected);
}

static inline PlacementScore score_of(const World *w, const PlacementPlan *plan) {
        static NodeSet nodes[INSTANCES_MOST];

        for (size_t i = 0; i < plan->n_choices; i++)
                nodes[i] = plan->choices[i].placement.nodes;
        return placement_score(&w->input, nodes);
}
