/* On small machines the plan's score is compared with that of the best plan there is, found by
 * going through all of them. The planner does not prove that its plan is the best: of generated
 * cases nearly all have to be, of plain ones all. */
#include "../../support/test.h"

#include "placement-check.h"
#include "placement-random.h"

enum {
        SETS_MOST = 256,
        PLANS_MOST = 4000,
        CASES = 900,
        CASES_LEAST = 200,
        MISSED_PERCENT_MOST = 1,
        SEED_STEP = 7919
};

/* All sets that are open to an instance: one, where it is not chosen. */
typedef struct Open {
        NodeSet sets[SETS_MOST];
        size_t n;
        bool like_before; /* interchangeable with the instance before it */
} Open;

static NodeSet set_of_bits(const World *w, uint32_t bits) {
        NodeSet nodes = { 0 };

        for (size_t n = 0; n < w->topology.n_nodes; n++)
                if (bits >> n & 1)
                        id_set_add(&nodes, w->nodes[n].id);
        return nodes;
}

/* One near the network card stays off the reserved nodes where any others are possible. */
static void keep_off_reserved(const World *w, const PlacementInstance *in, Open *open) {
        size_t n = 0;

        for (size_t i = 0; i < open->n; i++)
                if (!uses_reserved(w, &open->sets[i]))
                        n++;
        if (in->policy->place.near != NEAR_NIC || n == 0)
                return;
        n = 0;
        for (size_t i = 0; i < open->n; i++)
                if (!uses_reserved(w, &open->sets[i]))
                        open->sets[n++] = open->sets[i];
        open->n = n;
}

/* The size of automatic sets is the planner's: what is compared is where they are. */
static void list_sets(const World *w, size_t i, const PlacementChoice *choice, Open *ret) {
        uint32_t size = id_set_count(&choice->placement.nodes);

        *ret = (Open){ .n = 1 };
        if (choice->basis != BASIS_CHOSEN) {
                ret->sets[0] = choice->placement.nodes;
                return;
        }
        ret->n = 0;
        for (uint32_t bits = 1; bits < 1u << w->topology.n_nodes; bits++) {
                NodeSet nodes;

                if ((uint32_t)__builtin_popcount(bits) != size)
                        continue;
                nodes = set_of_bits(w, bits);
                if (is_possible(w, &w->instances[i], &nodes))
                        ret->sets[ret->n++] = nodes;
        }
        keep_off_reserved(w, &w->instances[i], ret);
}

static void enumerate(const World *w, const Open *open, NodeSet *nodes, size_t *at, size_t i,
                      PlacementScore *best) {
        if (i == w->input.n_instances) {
                PlacementScore score = placement_score(&w->input, nodes);

                if (placement_score_compare(&score, best) < 0)
                        *best = score;
                return;
        }
        for (at[i] = open[i].like_before ? at[i - 1] : 0; at[i] < open[i].n; at[i]++) {
                nodes[i] = open[i].sets[at[i]];
                enumerate(w, open, nodes, at, i + 1, best);
        }
}

static PlacementScore best_of(const World *w, const Open *open) {
        PlacementScore best = { .by = { UINT64_MAX } };
        NodeSet nodes[INSTANCES_MOST];
        size_t at[INSTANCES_MOST];

        enumerate(w, open, nodes, at, 0, &best);
        return best;
}

static Open *list_all(const World *w, const PlacementPlan *plan, size_t *ret_plans) {
        Open *open = calloc(w->input.n_instances + 1, sizeof(*open));

        assert_non_null(open);
        *ret_plans = 1;
        for (size_t i = 0; i < w->input.n_instances; i++) {
                list_sets(w, i, &plan->choices[i], &open[i]);
                *ret_plans = *ret_plans > PLANS_MOST ? *ret_plans : *ret_plans * open[i].n;
        }
        return open;
}

/* Those of the generated cases that have few enough plans. */
static void check_shape(const Shape *shape, unsigned cases, unsigned least) {
        unsigned done = 0, missed = 0;

        for (uint32_t i = 1; i <= cases; i++) {
                uint32_t seed = i * SEED_STEP;
                _cleanup_world_ World *w = world_random(&seed, shape);
                _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);
                PlacementScore best;
                size_t n_plans;
                _cleanup_free_ Open *open = list_all(w, &plan, &n_plans);

                if (n_plans < 2 || n_plans > PLANS_MOST)
                        continue;
                done++;
                best = best_of(w, open);
                assert_true(placement_score_compare(&best, &plan.score) <= 0);
                missed += placement_score_compare(&best, &plan.score) != 0;
        }
        assert_true(done >= least);
        assert_true(missed * 100 <= done * MISSED_PERCENT_MOST);
}

TEST(generated) {
        const Shape few = { .nodes = 6, .instances = 4, .policies = 3, .count = 3, .memory = true };
        const Shape many = {
                .nodes = 3, .instances = 7, .policies = 4, .count = 2, .memory = true
        };
        const Shape wide = {
                .nodes = 8, .instances = 3, .policies = 3, .count = 3, .memory = true
        };

        check_shape(&few, CASES / 3, CASES_LEAST / 5);
        check_shape(&many, CASES / 3, CASES_LEAST / 5);
        check_shape(&wide, CASES / 3, CASES_LEAST / 5);
}

/* Eight on eight: instances of one policy are interchangeable here, so that of their orders one is
 * enough, the one in which their nodes do not descend. */
static void check_eight(World *w) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);
        PlacementScore best;
        size_t n_plans;
        _cleanup_free_ Open *open = list_all(w, &plan, &n_plans);

        assert_int_equal(w->input.n_instances, 8);
        for (size_t i = 1; i < 8; i++)
                open[i].like_before = w->instances[i].policy == w->instances[i - 1].policy;
        best = best_of(w, open);
        for (unsigned i = 0; i < N_CRITERIA; i++)
                assert_int_equal(plan.score.by[i], best.by[i]);
}

/* On node 3 each weight costs four times as much as on 1 and 2. Each of the nodes that are better
 * for one of the three is taken by the next. */
PLAN_TEST(three_change_places, 4, 1, 4) {
        Policy *haproxy = world_policy(w, "haproxy"), *tidb = world_policy(w, "tidb"),
               *tiproxy = world_policy(w, "tiproxy");

        w->nodes[0].memory_bytes = 0;
        w->nodes[3].memory_bytes = UINT64_C(16) << 30;
        id_set_add(&w->input.nic_nodes, 0);
        haproxy->weight = 2;
        haproxy->place.share = SHARE_SHARED;
        id_set_add(&haproxy->place.avoid, 1);
        tidb->weight = 1;
        tidb->place.near = NEAR_NIC;
        tiproxy->weight = 4;
        (void)world_add(w, haproxy, "haproxy");
        (void)world_add(w, tidb, "tidb");
        world_add(w, tiproxy, "tiproxy")->need_bytes = UINT64_C(40) << 30;
        assert_plan(w, "2 3 1");
}

static World *eight_nodes(uint32_t seed) {
        const Shape shape = { .nodes = 8, .instances = 1, .policies = 1, .whole = true };
        World *w = world_random(&seed, &shape);

        w->n_policies = 0;
        w->input.n_instances = 0;
        return w;
}

TEST(eight_alike) {
        for (uint32_t seed = 1; seed <= 3; seed++) {
                _cleanup_world_ World *w = eight_nodes(seed);
                Policy *policy = world_policy(w, "tidb");
                PlacementInstance *in = world_add_many(w, policy, 8);

                policy->place.share = seed == 2 ? SHARE_SHARED : SHARE_EXCLUSIVE;
                for (size_t i = 0; i < 8; i++)
                        in[i].need_bytes = UINT64_C(1) << (27 + seed);
                check_eight(w);
        }
}

TEST(eight_of_two_policies) {
        _cleanup_world_ World *w = eight_nodes(4);
        Policy *tidb = world_policy(w, "tidb"), *pd = world_policy(w, "pd");

        pd->place.share = SHARE_SHARED;
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = w->instances[0].in_force;
        id_set_add(&w->host.reserve.nodes, w->nodes[1].id);
        (void)world_add_many(w, tidb, 5);
        (void)world_add_many(w, pd, 3);
        check_eight(w);
}

/* Pairs of nodes: eight of them on eight nodes, two on each. */
PLAN_TEST(eight_pairs, 2, 4, 4) {
        Policy *tikv = world_policy(w, "tikv");

        give_count(tikv, 2);
        w->distances[0 * 8 + 2] = w->distances[5 * 8 + 6] = 11;
        (void)world_add_many(w, tikv, 8);
        {
                _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);

                assert_int_equal(plan.score.by[WEIGH_EXCLUSIVE], 8);
                assert_int_equal(plan.score.by[WEIGH_DISTANCE], 8 * 24 - 4);
        }
}

/* --- Generated machines, policies and instances, the same ones on every run: no rule is ever
 * broken, the order of the input does not matter, one more instance moves no other --- */

enum { PROPERTY_CASES = 240 };

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
        each_case(&small, PROPERTY_CASES, check_rules);
        each_case(&middle, PROPERTY_CASES / 8, check_rules);
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
        each_case(&small, PROPERTY_CASES, check_order);
        each_case(&middle, PROPERTY_CASES / 8, check_order);
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
        each_case(&small, PROPERTY_CASES, check_one_more);
        each_case(&middle, PROPERTY_CASES / 8, check_one_more);
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
