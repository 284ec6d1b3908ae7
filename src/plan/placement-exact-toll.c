/* A lower bound of distances, and what is known of policies that come later.
 *
 * Where pairs are as few as can be, no node has more than so many items. Each set then costs its
 * distances and the tolls of its nodes, and what all nodes can take at most pays the tolls back:
 * the rest is a lower bound, for any tolls (Lagrange). Good tolls are found by raising them where
 * more want to be than can be. */
#include "tidbnumad/plan/placement-exact.h"

enum { ROUNDS = 60 };

static int64_t tolled(const ExactSet *set, const ExactToll *toll) {
        int64_t sum = (int64_t)set->distance * TOLL_UNIT;

        for (uint32_t bits = set->nodes; bits; bits &= bits - 1)
                sum += toll->by[__builtin_ctz(bits)];
        return sum;
}

static const ExactSet *cheapest(const ExactItem *e, const ExactToll *toll, int64_t *ret) {
        const ExactSet *best = NULL;

        for (size_t i = 0; i < e->n_sets; i++) {
                int64_t cost = tolled(&e->sets[i], toll);

                if (best && cost >= *ret)
                        continue;
                best = &e->sets[i];
                *ret = cost;
        }
        return best;
}

/* The items that a layer's toll is for: the exclusive ones from it on, or those of its policy. */
static bool is_tolled(const Exact *exact, size_t layer, size_t i) {
        const PlanItem *first = exact->items[layer].item, *item = exact->items[i].item;

        return i >= layer &&
               (first->exclusive ? item->exclusive : item->policy_index == first->policy_index);
}

/* How many more a node can take. */
static int64_t can_take(const ExactLayer *l, size_t i, const uint8_t *counts, unsigned most) {
        unsigned cap = l->n_exclusive > 0 ? l->cap_exclusive[i] : l->cap_policy[i];
        unsigned left = most > counts[i] ? most - counts[i] : 0;

        return left < cap ? left : cap;
}

uint64_t placement_exact_least_distance(const Exact *exact, size_t layer, const uint8_t *counts,
                                        unsigned most) {
        const ExactLayer *l = &exact->layers[layer];
        int64_t sum = l->tolled;

        for (size_t i = 0; i < exact->n_nodes; i++)
                sum -= l->toll.by[i] * can_take(l, i, counts, most);
        return sum > 0 ? (uint64_t)((sum + TOLL_UNIT - 1) / TOLL_UNIT) : 0;
}

/* One round: what the cheapest sets cost, and higher or lower tolls for the next. */
static int64_t adjust(const Exact *exact, size_t layer, const uint8_t *counts, unsigned most,
                      int64_t step, ExactToll *toll) {
        const ExactLayer *l = &exact->layers[layer];
        int64_t wanted[EXACT_NODES_MAX] = { 0 }, sum = 0;

        for (size_t i = layer; i < exact->n_items; i++) {
                const ExactSet *set;
                int64_t cost;

                if (!is_tolled(exact, layer, i))
                        continue;
                set = cheapest(&exact->items[i], toll, &cost);
                sum += cost;
                for (uint32_t bits = set->nodes; bits; bits &= bits - 1)
                        wanted[__builtin_ctz(bits)]++;
        }
        for (size_t i = 0; i < exact->n_nodes; i++) {
                int64_t can = can_take(l, i, counts, most);

                sum -= toll->by[i] * can;
                toll->by[i] += step * (wanted[i] - can);
                if (toll->by[i] < 0)
                        toll->by[i] = 0;
        }
        return sum;
}

static ExactToll find_toll(const Exact *exact, size_t layer, const uint8_t *counts, unsigned most) {
        ExactToll toll = { 0 }, best = { 0 };
        int64_t most_so_far = INT64_MIN;

        for (int round = 0; round < ROUNDS; round++) {
                ExactToll now = toll;
                int64_t sum =
                        adjust(exact, layer, counts, most, 1 + 16 * TOLL_UNIT / (4 + round), &toll);

                if (sum <= most_so_far)
                        continue;
                most_so_far = sum;
                best = now;
        }
        return best;
}

/* Those of the layer at which the exclusive ones, or a shared policy, begin serve all of it. */
static void spread_toll(Exact *exact, size_t begin, const ExactToll *toll) {
        int64_t sum = 0, cost = 0;

        for (size_t i = exact->n_items; i-- > begin;) {
                if (!is_tolled(exact, begin, i))
                        continue;
                (void)cheapest(&exact->items[i], toll, &cost);
                sum += cost;
                exact->layers[i].toll = *toll;
                exact->layers[i].tolled = sum;
        }
}

/* What the fixed items leave of a policy's pairs, to begin with. */
static void load_fixed(const Exact *exact, size_t layer, uint8_t *at, uint8_t *in) {
        const PlanCounts *counts = &exact->search->counts;
        uint32_t policy = exact->items[layer].item->policy_index;

        for (size_t i = 0; i < exact->n_nodes; i++)
                at[i] = (uint8_t)counts
                                ->of_policy[policy * counts->problem->n_nodes + exact->of_node[i]];
        for (size_t p = 0; p < exact->n_packages; p++)
                in[p] = (uint8_t)counts->of_policy_in[policy * counts->problem->n_packages +
                                                      exact->of_package[p]];
}

static bool begins_policy(const Exact *exact, size_t i) {
        return i == 0 ||
               exact->items[i].item->policy_index != exact->items[i - 1].item->policy_index;
}

/* Of the policy that begins at `layer`, for the layers of those before it. */
static void add_policy(Exact *exact, size_t layer) {
        uint8_t at[EXACT_NODES_MAX] = { 0 }, in[EXACT_NODES_MAX] = { 0 };
        const ExactLayer *l = &exact->layers[layer];
        bool exclusive = exact->items[layer].item->exclusive;
        ExactPairs nodes, packages;
        ExactToll toll;

        load_fixed(exact, layer, at, in);
        nodes = placement_exact_least_pairs(at, l->cap_policy, exact->reserved, exact->n_nodes,
                                            l->n_policy);
        packages = placement_exact_least_pairs(in, l->cap_policy_in, NULL, exact->n_packages,
                                               l->n_touch_policy);
        if (!exclusive) {
                toll = find_toll(exact, layer, at, nodes.most);
                spread_toll(exact, layer, &toll);
        }
        for (size_t i = 0; i < layer; i++) {
                ExactLayer *before = &exact->layers[i];

                if (exact->items[i].item->policy_index == exact->items[layer].item->policy_index)
                        continue;
                before->later.by[WEIGH_POLICY - EXACT_FIRST] += nodes.pairs;
                before->later.by[WEIGH_SPREAD - EXACT_FIRST] += packages.pairs;
                placement_exact_add_range(at, l->cap_policy, nodes.most, exact->n_nodes,
                                          exclusive ? &before->later_exclusive
                                                    : &before->later_shared);
                if (exclusive)
                        before->later_reserved += nodes.reserved;
                else
                        before->later.by[WEIGH_RESERVED - EXACT_FIRST] += nodes.reserved;
                if (!exclusive)
                        before->later.by[WEIGH_DISTANCE - EXACT_FIRST] +=
                                placement_exact_least_distance(exact, layer, at, nodes.most);
        }
}

void placement_exact_build_bounds(Exact *exact) {
        if (exact->n_items > 0 && exact->items[0].item->exclusive) {
                ExactKey root = placement_exact_root(exact);
                const ExactLayer *l = &exact->layers[0];
                ExactPairs least = placement_exact_least_pairs(
                        root.exclusive, l->cap_exclusive, NULL, exact->n_nodes, l->n_exclusive);
                ExactToll toll = find_toll(exact, 0, root.exclusive, least.most);

                spread_toll(exact, 0, &toll);
        }
        for (size_t i = 0; i < exact->n_items; i++)
                if (begins_policy(exact, i))
                        add_policy(exact, i);
}
