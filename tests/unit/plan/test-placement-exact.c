/* The proof of the best plan: that its lower bounds never lie above a plan, and that it finds plans
 * which the quick search misses. */

#include "../../support/test.h"

#include "placement-random.h"
#include "tidbnumad/plan/placement-exact.h"

enum { CASES = 150, PATHS = 20, SEED_STEP = 7919 };

/* --- plans that the quick search misses --- */

typedef struct Known {
        uint32_t number;
        PlacementScore best;
} Known;

/* Of generated cases of 8 nodes and 8 instances. Their best scores were found by the same layers
 * without any bound, so that only states with the same future were taken for one. */
static const Known of_eight_policies[] = {
        { 15, { { 2, 46, 5, 1, 0, 15, 512, 216, 1250, 47 } } },
        { 60, { { 3, 0, 0, 0, 0, 4, 128, 954, 1250, 42 } } },
        { 79, { { 1, 32, 2, 0, 1, 2, 0, 168, 1750, 33 } } },
        { 80, { { 2, 0, 0, 0, 1, 1, 0, 375, 750, 40 } } },
        { 83, { { 1, 0, 0, 0, 0, 0, 0, 72, 250, 17 } } },
        { 85, { { 0, 0, 18, 18, 2, 40, 0, 1086, 4500, 70 } } },
        { 86, { { 3, 0, 0, 0, 0, 3, 576, 0, 250, 27 } } },
        { 97, { { 0, 0, 2, 0, 0, 7, 0, 80, 500, 32 } } },
        { 107, { { 2, 0, 3, 0, 1, 10, 256, 120, 750, 39 } } },
};

static const Known of_four_policies[] = {
        { 8, { { 1, 0, 3, 2, 0, 4, 0, 144, 5122, 58 } } },
        { 15, { { 7, 0, 0, 0, 1, 6, 0, 0, 0, 21 } } },
        { 73, { { 0, 0, 0, 12, 0, 8, 1280, 96, 40000, 17 } } },
        { 139, { { 1, 0, 3, 0, 3, 10, 0, 181, 3068, 31 } } },
        { 155, { { 3, 10, 0, 0, 0, 10, 0, 48, 3068, 47 } } },
        { 157, { { 4, 0, 7, 7, 0, 26, 3456, 0, 5168, 39 } } },
        { 176, { { 0, 0, 2, 0, 1, 40, 896, 0, 1002, 25 } } },
        { 211, { { 0, 60, 4, 0, 0, 25, 512, 120, 1872, 29 } } },
        { 214, { { 1, 0, 0, 1, 2, 4, 0, 0, 334, 27 } } },
};

static void assert_known(const Shape *shape, const Known *known, size_t n) {
        for (size_t i = 0; i < n; i++) {
                uint32_t seed = known[i].number * SEED_STEP;
                _cleanup_world_ World *w = world_random(&seed, shape);
                _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);

                for (unsigned c = 0; c < N_CRITERIA; c++)
                        assert_int_equal(plan.score.by[c], known[i].best.by[c]);
        }
}

TEST(known) {
        const Shape many = { .nodes = 8,
                             .instances = 8,
                             .policies = 8,
                             .count = 3,
                             .memory = true,
                             .plain = true,
                             .whole = true };
        const Shape few = {
                .nodes = 8, .instances = 8, .policies = 4, .count = 2, .memory = true, .whole = true
        };

        assert_known(&many, of_eight_policies, ELEMENTSOF(of_eight_policies));
        assert_known(&few, of_four_policies, ELEMENTSOF(of_four_policies));
}

/* --- bounds --- */

/* The set with the least that can come of it. */
static const ExactSet *best_set(const Exact *exact, size_t layer, const ExactKey *key,
                                const ExactScore *score) {
        const ExactItem *item = &exact->items[layer];
        const ExactSet *best = NULL;
        ExactScore least = { 0 };

        for (size_t i = 0; i < item->n_sets; i++) {
                ExactKey after = *key;
                ExactScore sum = *score;

                placement_exact_step(exact, layer, &item->sets[i], &after, &sum);
                sum = placement_exact_bound(exact, layer + 1, &after, &sum);
                if (best && placement_exact_score_compare(&sum, &least) >= 0)
                        continue;
                best = &item->sets[i];
                least = sum;
        }
        return best;
}

/* One way to the end, mostly along what looks best: no bound on it is above where it ends. */
static void check_path(const Exact *exact, uint32_t *seed, uint32_t turns) {
        ExactScore bounds[EXACT_ITEMS_MAX + 1], score = { 0 };
        ExactKey key = placement_exact_root(exact);

        for (size_t i = 0; i < exact->n_items; i++) {
                const ExactItem *item = &exact->items[i];
                const ExactSet *set =
                        next_number(seed, 10) < turns
                                ? &item->sets[next_number(seed, (uint32_t)item->n_sets)]
                                : best_set(exact, i, &key, &score);

                bounds[i] = placement_exact_bound(exact, i, &key, &score);
                placement_exact_step(exact, i, set, &key, &score);
        }
        for (size_t i = 0; i < exact->n_items; i++)
                assert_true(placement_exact_score_compare(&bounds[i], &score) <= 0);
}

static void check_bounds(const World *w, uint32_t *seed) {
        _cleanup_free_ PlacementChoice *choices = calloc(w->input.n_instances, sizeof(choices[0]));
        PlacementPlan plan = { .choices = choices, .n_choices = w->input.n_instances };
        _cleanup_placement_problem_ PlanProblem problem = { 0 };
        _cleanup_placement_search_ PlanSearch search = { 0 };
        _cleanup_placement_exact_ Exact exact = { 0 };

        assert_non_null(choices);
        plan.reserved = placement_reserved(&w->input);
        assert_int_equal(placement_problem_build(&w->input, &plan, &problem), 0);
        assert_int_equal(placement_search_run(&search, &problem), 0);
        for (size_t i = 0; i < search.n_movable; i++)
                placement_search_take(&search, search.movable[i]);
        assert_int_equal(placement_exact_build(&search, &exact), 0);
        for (uint32_t i = 0; i < PATHS; i++)
                check_path(&exact, seed, i / 4);
}

TEST(bounds) {
        const Shape shape = {
                .nodes = 8, .instances = 8, .policies = 5, .count = 3, .memory = true
        };

        for (uint32_t i = 1; i <= CASES; i++) {
                uint32_t seed = i;
                _cleanup_world_ World *w = world_random(&seed, &shape);

                check_bounds(w, &seed);
        }
}
