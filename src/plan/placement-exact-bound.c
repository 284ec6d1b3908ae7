/* What a state of the small problem will cost at least.
 *
 * Nodes are given out one by one, each time the cheapest, as if a set could be any nodes: prices
 * only rise with each one given out, so that no real plan does better. A number need hold only for
 * plans that have the least of all numbers before it: of others one of those decides. */
#include <string.h>

#include "tidbnumad/plan/placement-exact.h"

ExactPairs placement_exact_least_pairs(const uint8_t *counts, const uint8_t *caps,
                                       const bool *reserved, size_t n_places, size_t n) {
        uint8_t given[EXACT_NODES_MAX] = { 0 };
        ExactPairs sum = { 0 };

        for (; n > 0; n--) {
                unsigned least = UINT32_MAX;
                size_t best = 0;

                for (size_t i = 0; i < n_places; i++) {
                        unsigned price = 2u * (counts[i] + given[i]) + (reserved && reserved[i]);

                        if (given[i] >= caps[i] || price >= least)
                                continue;
                        least = price;
                        best = i;
                }
                if (least == UINT32_MAX)
                        return sum;
                sum.pairs += counts[best] + given[best]++;
                sum.reserved += least & 1;
                sum.most = least / 2 + 1;
        }
        return sum;
}

/* Where pairs are as few as can be, no place has `most` while another that could take one has less
 * than one less: else that one would be the better. */
void placement_exact_add_range(const uint8_t *counts, const uint8_t *caps, unsigned most,
                               size_t n_places, ExactRange *range) {
        for (size_t i = 0; i < n_places; i++) {
                unsigned up = most > counts[i] ? most - counts[i] : 0;
                unsigned low = up > 0 ? up - 1 : 0;

                range->most[i] += (uint8_t)(up < caps[i] ? up : caps[i]);
                range->least[i] += (uint8_t)(low < caps[i] ? low : caps[i]);
        }
}

/* --- load and number --- */

typedef struct Pour {
        const Exact *exact;
        const ExactKey *key;
        uint8_t given[EXACT_NODES_MAX];
        size_t left;
        uint64_t reserved_left;
        uint64_t load, number;
} Pour;

static uint64_t load_of(const Pour *pour, size_t i) {
        return 2 * pour->exact->weight[i] * (pour->key->all[i] + pour->given[i]);
}

static void give(Pour *pour, size_t i) {
        pour->load += load_of(pour, i);
        pour->number += pour->exact->of_node[i];
        pour->given[i]++;
        pour->left -= pour->left > 0;
        if (pour->exact->reserved[i])
                pour->reserved_left -= pour->reserved_left > 0;
}

static bool give_cheapest(Pour *pour, const ExactRange *range) {
        const Exact *exact = pour->exact;
        int best = -1;

        for (size_t i = 0; i < exact->n_nodes; i++)
                if (pour->given[i] < range->most[i] &&
                    (!exact->reserved[i] || pour->reserved_left > 0) &&
                    (best < 0 || load_of(pour, i) < load_of(pour, (size_t)best)))
                        best = (int)i;
        if (best >= 0)
                give(pour, (size_t)best);
        return best >= 0;
}

/* Nodes are in the order of their numbers, so that of equal loads the lowest is taken. */
static void add_load(const Exact *exact, const ExactLayer *l, const ExactKey *key,
                     const ExactRange *range, uint64_t reserved, ExactScore *score) {
        Pour pour = { .exact = exact, .key = key, .left = l->n, .reserved_left = reserved };

        for (size_t i = 0; i < exact->n_nodes; i++)
                while (pour.given[i] < range->least[i])
                        give(&pour, i);
        while (pour.left > 0 && give_cheapest(&pour, range))
                ;
        score->by[WEIGH_LOAD - EXACT_FIRST] += pour.load;
        score->by[WEIGH_NUMBER - EXACT_FIRST] += pour.number;
}

/* The ranges of all items: exclusive ones are bound by theirs and by those of their policies. */
static ExactRange range_of(const Exact *exact, const ExactLayer *l, const ExactKey *key,
                           unsigned most, unsigned most_of_policy) {
        ExactRange all = { 0 }, policies = l->later_exclusive, shared = l->later_shared;

        placement_exact_add_range(key->exclusive, l->cap_exclusive, most, exact->n_nodes, &all);
        placement_exact_add_range(key->of_policy, l->cap_policy, most_of_policy, exact->n_nodes,
                                  l->n_exclusive > 0 ? &policies : &shared);
        for (size_t i = 0; i < exact->n_nodes; i++) {
                if (policies.most[i] < all.most[i])
                        all.most[i] = policies.most[i];
                if (policies.least[i] > all.least[i])
                        all.least[i] = policies.least[i];
                all.most[i] = (uint8_t)(all.most[i] + shared.most[i]);
                all.least[i] = (uint8_t)(all.least[i] + shared.least[i]);
        }
        return all;
}

/* --- memory --- */

/* What exclusive items, at most `most` of them on a node, and the shared ones find too little. */
static uint64_t least_missing(const Exact *exact, const ExactLayer *l, const ExactKey *key,
                              unsigned most) {
        uint64_t room = 0;

        for (size_t i = 0; i < exact->n_nodes; i++) {
                unsigned more = most > key->exclusive[i] ? most - key->exclusive[i] : 0;
                uint64_t cap = l->most_shared_mib +
                               l->top_mib[more < EXACT_ITEMS_MAX ? more : EXACT_ITEMS_MAX];

                if (l->reach >> i & 1)
                        room += key->room_mib[i] < cap ? key->room_mib[i] : cap;
        }
        return l->need_mib > room ? l->need_mib - room : 0;
}

/* --- all of it --- */

static uint64_t least_spread(const Exact *exact, const ExactLayer *l, const ExactKey *key) {
        size_t n = exact->n_packages;

        return placement_exact_least_pairs(key->exclusive_in, l->cap_in, NULL, n, l->n_touch)
                       .pairs +
               placement_exact_least_pairs(key->of_policy_in, l->cap_policy_in, NULL, n,
                                           l->n_touch_policy)
                       .pairs;
}

ExactScore placement_exact_bound(const Exact *exact, size_t layer, const ExactKey *key,
                                 const ExactScore *score) {
        const ExactLayer *l = &exact->layers[layer];
        bool exclusive = l->n_exclusive > 0;
        ExactPairs first, of_policy;
        ExactScore bound = *score;
        ExactRange range;
        uint64_t *by = bound.by, reserved;

        if (layer == exact->n_items)
                return bound;
        first = placement_exact_least_pairs(key->exclusive, l->cap_exclusive, exact->reserved,
                                            exact->n_nodes, l->n_exclusive);
        of_policy = placement_exact_least_pairs(key->of_policy, l->cap_policy, exact->reserved,
                                                exact->n_nodes, l->n_policy);
        range = range_of(exact, l, key, first.most, of_policy.most);
        reserved = of_policy.reserved + l->later_reserved;
        reserved = first.reserved > reserved ? first.reserved : reserved;
        reserved += l->later.by[WEIGH_RESERVED - EXACT_FIRST];
        by[WEIGH_EXCLUSIVE - EXACT_FIRST] += first.pairs;
        by[WEIGH_POLICY - EXACT_FIRST] += of_policy.pairs + l->later.by[WEIGH_POLICY - EXACT_FIRST];
        by[WEIGH_RESERVED - EXACT_FIRST] += reserved;
        by[WEIGH_SPREAD - EXACT_FIRST] +=
                least_spread(exact, l, key) + l->later.by[WEIGH_SPREAD - EXACT_FIRST];
        by[WEIGH_MEMORY - EXACT_FIRST] += least_missing(exact, l, key, first.most);
        by[WEIGH_DISTANCE - EXACT_FIRST] +=
                placement_exact_least_distance(exact, layer,
                                               exclusive ? key->exclusive : key->of_policy,
                                               exclusive ? first.most : of_policy.most) +
                l->later.by[WEIGH_DISTANCE - EXACT_FIRST];
        add_load(exact, l, key, &range, reserved, &bound);
        return bound;
}
