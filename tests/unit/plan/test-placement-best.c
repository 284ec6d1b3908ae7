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
