/* Generated machines, policies and instances, the same ones on every run: no rule is ever broken,
 * the order of the input does not matter, one more instance moves no other. */

#include "../../support/test.h"

#include "placement-check.h"
#include "placement-random.h"

enum { CASES = 240 };

static const Shape small = {
        .nodes = 8, .instances = 8, .policies = 4, .count = 3, .memory = true
};
static const Shape middle = {
        .nodes = 20, .instances = 30, .policies = 5, .count = 4, .memory = true
};

static void each_case(const Shape *shape, unsigned cases, void (*check)(World *w, uint32_t *seed)) {
        for (uint32_t i = 1; i <= cases; i++) {
                uint32_t seed = i;
                _cleanup_world_ World *w = world_random(&seed, shape);

                check(w, &seed);
        }
}

/* --- rules --- */

/* Of up to 10 nodes any set that keeps the rules says that the refusal is wrong. */
static void check_refusals(const World *w, const PlacementPlan *plan) {
        for (size_t i = 0; i < plan->n_choices; i++)
                for (uint32_t bits = 1;
                     plan->choices[i].basis == BASIS_REFUSED && !explicit_of(&w->instances[i]) &&
                     bits < 1u << w->topology.n_nodes;
                     bits++) {
                        NodeSet nodes = { 0 };

                        for (size_t n = 0; n < w->topology.n_nodes; n++)
                                if (bits >> n & 1)
                                        id_set_add(&nodes, w->nodes[n].id);
                        assert_false(is_possible(w, &w->instances[i], &nodes));
                }
}

static void check_rules(World *w, uint32_t *seed) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);

        (void)seed;
        check_plan(w, &plan);
        if (w->topology.n_nodes <= 10)
                check_refusals(w, &plan);
}

TEST(no_rule_is_broken) {
        each_case(&small, CASES, check_rules);
        each_case(&middle, CASES / 8, check_rules);
}

/* --- order --- */

static void swap_instances(World *w, size_t a, size_t b) {
        PlacementInstance in = w->instances[a];

        w->instances[a] = w->instances[b];
        w->instances[b] = in;
}

static const NodeSet *nodes_of(const World *w, const PlacementPlan *plan, const char *name) {
        for (size_t i = 0; i < plan->n_choices; i++)
                if (strcmp(w->instances[i].name, name) == 0)
                        return &plan->choices[i].placement.nodes;
        return NULL;
}

static void check_order(World *w, uint32_t *seed) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w), other = { 0 };
        _cleanup_world_ World *before = malloc(sizeof(*w));

        assert_non_null(before);
        memcpy(before, w, sizeof(*w));
        for (size_t i = w->input.n_instances; i-- > 1;)
                swap_instances(w, i, next_number(seed, (uint32_t)i + 1));
        other = plan_of(w);
        for (size_t i = 0; i < plan.n_choices; i++)
                assert_true(id_set_equal(&plan.choices[i].placement.nodes,
                                         nodes_of(w, &other, before->instances[i].name)));
        assert_memory_equal(&plan.score, &other.score, sizeof(plan.score));
}

TEST(any_order) {
        each_case(&small, CASES, check_order);
        each_case(&middle, CASES / 8, check_order);
}

/* --- stability --- */

static void check_one_more(World *w, uint32_t *seed) {
        const Shape shape = { .memory = true };
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w), other = { 0 };

        for (size_t i = 0; i < plan.n_choices; i++)
                w->instances[i].in_force = plan.choices[i].placement.nodes;
        random_instance(w, seed, &shape);
        other = plan_of(w);
        for (size_t i = 0; i < plan.n_choices; i++) {
                const PlacementChoice *choice = &other.choices[i];

                assert_true(
                        id_set_equal(&plan.choices[i].placement.nodes, &choice->placement.nodes));
                assert_true(choice->basis != BASIS_CHOSEN);
                assert_false(choice->warnings & WARN_MOVED);
        }
        check_plan(w, &other);
}

TEST(one_more_moves_nobody) {
        each_case(&small, CASES, check_one_more);
        each_case(&middle, CASES / 8, check_one_more);
}

/* --- large ones --- */

TEST(large) {
        const Shape wide = { .nodes = 64,
                             .instances = 256,
                             .policies = 8,
                             .count = 3,
                             .memory = true,
                             .plain = true,
                             .whole = true };

        each_case(&wide, 1, check_rules);
}

/* The daemon's loop waits for the plan. This case took 400 ms once: eight instances, almost all of
 * which want the same nodes. Counted is the work and not the time, which the machine decides. */
TEST(hard_case_is_little_work) {
        const Shape shape = { .nodes = 8,
                              .instances = 8,
                              .policies = 8,
                              .count = 3,
                              .memory = true,
                              .plain = true,
                              .whole = true };
        uint32_t seed = 129 * 7919;
        _cleanup_world_ World *w = world_random(&seed, &shape);
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);

        assert_in_range(plan.n_prices, 1, 100000);
}

/* The widest machine there can be, with instances of one node, of some, and of hundreds. */
TEST(widest) {
        _cleanup_free_ Node *nodes = calloc(PLACEMENT_NODES_MAX, sizeof(Node));
        _cleanup_world_ World *w = world_new(1, 1, 1);
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tidb = world_policy(w, "tidb"), *tikv = world_policy(w, "tikv");
        Policy *jvm = world_policy(w, "jvm");

        assert_non_null(nodes);
        for (uint32_t i = 0; i < PLACEMENT_NODES_MAX; i++) {
                nodes[i] = (Node){ .id = i, .package = i / 128, .memory_bytes = 1 << 30 };
                id_set_add(&nodes[i].cpus, i);
                id_set_add(&nodes[i].first_threads, i);
        }
        w->topology = (Topology){ .nodes = nodes, .n_nodes = PLACEMENT_NODES_MAX };
        give_count(tikv, 3);
        give_count(jvm, PLACE_COUNT_AUTO);
        jvm->place.same_package = false;
        (void)world_add_many(w, tidb, 24);
        (void)world_add_many(w, tikv, 8);
        (void)world_add_many(w, jvm, 2);
        plan = plan_of(w);
        for (size_t i = 0; i < plan.n_choices; i++)
                assert_int_equal(id_set_count(&plan.choices[i].placement.nodes),
                                 i < 24   ? 1
                                 : i < 32 ? 3
                                          : (PLACEMENT_NODES_MAX - 24 - 24) / 2);
        assert_int_equal(plan.score.by[WEIGH_EXCLUSIVE], 0);
}

/* One node more, and nothing is placed: not even what names its nodes. */
TEST(wider) {
        _cleanup_free_ Node *nodes = calloc(PLACEMENT_NODES_MAX + 1, sizeof(Node));
        _cleanup_world_ World *w = world_new(1, 1, 1);
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tidb = world_policy(w, "tidb"), *tikv = world_policy(w, "tikv");

        assert_non_null(nodes);
        for (uint32_t i = 0; i <= PLACEMENT_NODES_MAX; i++) {
                nodes[i] = (Node){ .id = i, .memory_bytes = 1 << 30 };
                id_set_add(&nodes[i].cpus, i);
                id_set_add(&nodes[i].first_threads, i);
        }
        w->topology = (Topology){ .nodes = nodes, .n_nodes = PLACEMENT_NODES_MAX + 1 };
        (void)world_add(w, tidb, "tidb-1");
        id_set_add(&tikv->place.nodes, 1);
        (void)world_add(w, tikv, "tikv-1");
        plan = plan_of(w);
        for (size_t i = 0; i < plan.n_choices; i++) {
                assert_int_equal(plan.choices[i].refusal, REFUSAL_TOO_MANY_NODES);
                assert_true(id_set_is_empty(&plan.choices[i].placement.nodes));
        }
}

PLAN_TEST(nothing, 1, 1, 1) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);
        PlacementPlan bare;

        assert_int_equal(plan.n_choices, 0);
        (void)world_add(w, world_policy(w, "tidb"), "tidb-1");
        w->topology.n_nodes = 0;
        bare = plan_of(w);
        assert_int_equal(bare.choices[0].refusal, REFUSAL_NO_HOME);
        placement_plan_done(&bare);
}
