/* The best plan of a small problem, proved: layer by layer, one item after the other, all states
 * that could still become better than the plan at hand. A state is what the items that follow can
 * see of those before them, so that the many ways that lead to the same one count once. */
#pragma once

#include "tidbnumad/plan/placement-search.h"

/* Nodes that are open to any movable item, and movable items, above which the plan at hand is left
 * as it is; and what is tried: states of one layer, steps in all. Where there are more nodes or
 * items than EXACT_SMALL the proof may fail, and little is spent on it. */
enum {
        EXACT_NODES_MAX = 16,
        EXACT_ITEMS_MAX = 16,
        EXACT_STATES_MAX = 120000,
        EXACT_STEPS_MAX = 4000000,
        EXACT_SMALL = 8,
        EXACT_STEPS_LARGE_MAX = 100000,
};

/* The criteria that follow stability and device. These two are sums over items that do not see each
 * other, and come first: each item has the sets that are best by them, and no others. */
enum {
        EXACT_FIRST = WEIGH_EXCLUSIVE,
        EXACT_CRITERIA = N_CRITERIA - EXACT_FIRST,
};

typedef struct ExactScore {
        uint64_t by[EXACT_CRITERIA];
} ExactScore;

int placement_exact_score_compare(const ExactScore *a, const ExactScore *b);

/* What the items that follow can see. What none of them can is 0. */
typedef struct ExactKey {
        uint32_t room_mib[EXACT_NODES_MAX];
        uint8_t all[EXACT_NODES_MAX], exclusive[EXACT_NODES_MAX], of_policy[EXACT_NODES_MAX];
        uint8_t exclusive_in[EXACT_NODES_MAX], of_policy_in[EXACT_NODES_MAX]; /* by socket */
} ExactKey;

typedef struct ExactSet {
        uint16_t nodes, packages; /* bits */
        uint32_t reserved, number;
        uint32_t distance;
} ExactSet;

typedef struct ExactItem {
        PlanItem *item;
        ExactSet *sets; /* owned by the first of its kind */
        size_t n_sets;
        uint16_t nodes; /* of any of its sets */
        bool owns_sets;
} ExactItem;

/* Tolls on nodes that keep items from crowding where it is near: how a lower bound of distances
 * learns that not everyone can have the nearest nodes. In 64ths. */
typedef struct ExactToll {
        int64_t by[EXACT_NODES_MAX];
} ExactToll;
enum { TOLL_UNIT = 64 };

/* So many nodes are taken on each node at least and at most, wherever pairs are as few as can be.
 */
typedef struct ExactRange {
        uint8_t least[EXACT_NODES_MAX], most[EXACT_NODES_MAX];
} ExactRange;

/* What is known of the items from one on. */
typedef struct ExactLayer {
        uint16_t reach, reach_exclusive, reach_policy; /* nodes that they, and of them the exclusive
                                                        * ones and those of the first one's policy,
                                                        * may get */
        uint8_t cap[EXACT_NODES_MAX], cap_exclusive[EXACT_NODES_MAX], cap_policy[EXACT_NODES_MAX];
        uint8_t cap_in[EXACT_NODES_MAX], cap_policy_in[EXACT_NODES_MAX]; /* exclusive; by socket */
        size_t n, n_exclusive, n_policy;                                 /* nodes they will take */
        size_t n_touch, n_touch_policy; /* sockets that the exclusive ones, and those of the
                                         * policy, touch at least */
        uint64_t need_mib;
        uint64_t most_mib[EXACT_NODES_MAX];    /* that they can put on a node */
        uint64_t most_shared_mib;              /* of that, the shared ones */
        uint64_t top_mib[EXACT_ITEMS_MAX + 1]; /* that so many exclusive ones can */
        ExactToll toll;                        /* of the exclusive ones, or of the policy */
        int64_t tolled;                        /* their distances and tolls, at least */
        ExactScore later;                      /* at least, of the policies after the first one's:
                                                * pairs; and, of shared ones, reserved nodes, distances */
        uint64_t later_reserved;               /* likewise, of exclusive ones */
        ExactRange later_exclusive, later_shared; /* of these, sums over the policies */
} ExactLayer;

typedef struct Exact {
        PlanSearch *search;
        uint16_t of_node[EXACT_NODES_MAX]; /* index in the problem */
        uint32_t of_package[EXACT_NODES_MAX];
        uint8_t package[EXACT_NODES_MAX]; /* by node here */
        size_t n_nodes, n_packages;
        uint64_t weight[EXACT_NODES_MAX];
        bool reserved[EXACT_NODES_MAX];
        ExactItem items[EXACT_ITEMS_MAX];
        size_t n_items;
        ExactLayer layers[EXACT_ITEMS_MAX + 1];
        ExactScore known; /* of the plan at hand, without the fixed items */
} Exact;

/* Makes the plan of `search` the best one where the problem is small enough. 0 or -ENOMEM. */
int placement_exact_run(PlanSearch *search);

/* The parts of it. -E2BIG: the problem is not small enough. */
int placement_exact_build(PlanSearch *search, Exact *ret);
void placement_exact_done(Exact *exact);
#define _cleanup_placement_exact_ _cleanup_(placement_exact_done)

/* What the item of this layer sees: the fixed ones. */
ExactKey placement_exact_root(const Exact *exact);

/* Puts the layer's item on a set, which changes key and score. */
void placement_exact_step(const Exact *exact, size_t layer, const ExactSet *set, ExactKey *key,
                          ExactScore *score);

/* The tolls of each layer, and what policies after the first one's will cost at least. */
void placement_exact_build_bounds(Exact *exact);

/* Pairs, and of places that are `reserved` (NULL: none), that `n` more bring, as evenly as can be
 * on top of `counts`, at most `caps` on each. `ret_most`: no place has more then, whenever there
 * are no more pairs than these. */
typedef struct ExactPairs {
        uint64_t pairs, reserved;
        unsigned most;
} ExactPairs;
ExactPairs placement_exact_least_pairs(const uint8_t *counts, const uint8_t *caps,
                                       const bool *reserved, size_t n_places, size_t n);

void placement_exact_add_range(const uint8_t *counts, const uint8_t *caps, unsigned most,
                               size_t n_places, ExactRange *range);

/* The least distances of the layer's exclusive items, or of its policy's where that is shared, when
 * no node may have more than `most` of them, where there are `counts` now. */
uint64_t placement_exact_least_distance(const Exact *exact, size_t layer, const uint8_t *counts,
                                        unsigned most);

/* Not more than the score of any plan that follows from this state, as scores are compared. */
ExactScore placement_exact_bound(const Exact *exact, size_t layer, const ExactKey *key,
                                 const ExactScore *score);
