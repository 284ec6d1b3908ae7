/* Finds a good plan quickly: each item in turn to where it is cheapest, then moves, swaps and short
 * chains of moves while they help. It does not prove that no plan is better. */
#pragma once

#include "tidbnumad/plan/placement-problem.h"

/* --- the instances on each node and socket, and the cost of one more there ---
 *
 * The scores are sums of such prices, so that a search need not count everything again. */

/* As a PlacementScore; a difference may be below zero. */
typedef struct PlanCost {
        int64_t by[N_CRITERIA];
} PlanCost;

int placement_cost_compare(const PlanCost *a, const PlanCost *b);
void placement_cost_add(PlanCost *sum, const PlanCost *more);
void placement_cost_subtract(PlanCost *sum, const PlanCost *less);

typedef struct PlanCounts {
        const PlanProblem *problem;
        uint32_t *all, *exclusive; /* by node */
        uint32_t *of_policy;       /* by policy and node */
        uint32_t *exclusive_in;    /* by socket */
        uint32_t *of_policy_in;    /* by policy and socket */
        uint64_t *used_mib;        /* by node and pool */
        uint64_t *weight;          /* by node */
} PlanCounts;

int placement_counts_init(PlanCounts *counts, const PlanProblem *problem); /* of none. -ENOMEM */
void placement_counts_done(PlanCounts *counts);
#define _cleanup_placement_counts_ _cleanup_(placement_counts_done)

/* Adds to `cost` the price of node `i` for an item that is not counted there. What it leaves, and
 * what it has to move, are those of the whole item less what the node saves. */
static inline void placement_counts_price_node(const PlanCounts *counts, const PlanItem *item,
                                               size_t i, PlanCost *cost) {
        const PlanProblem *problem = counts->problem;
        const PlanNode *node = &problem->nodes[i];
        /* by which the square of the sum grows */
        uint64_t squares = item->weight * (2 * counts->weight[i] + item->weight);

        cost->by[WEIGH_STABILITY] -= id_set_has(&item->former, i);
        cost->by[WEIGH_DEVICE] += item->device ? item->device[i] : 0;
        cost->by[WEIGH_EXCLUSIVE] += item->exclusive ? counts->exclusive[i] : 0;
        cost->by[WEIGH_POLICY] += counts->of_policy[item->policy_index * problem->n_nodes + i];
        cost->by[WEIGH_RESERVED] += node->reserved;
        for (size_t p = 0; p < problem->n_pools; p++) {
                const uint64_t used = counts->used_mib[i * problem->n_pools + p],
                               more = node->node->memory_bytes ? item->share_mib[p] : 0;

                if (used + more > node->free_mib[p])
                        cost->by[WEIGH_MEMORY] +=
                                (int64_t)(used >= node->free_mib[p]
                                                  ? more
                                                  : used + more - node->free_mib[p]);
        }
        cost->by[WEIGH_ROOM] += (int64_t)(squares * node->room_part);
        cost->by[WEIGH_LOAD] += (int64_t)(squares * node->cpu_part);
        cost->by[WEIGH_MOVE] -= item->at_mib ? item->at_mib[i] : 0;
        cost->by[WEIGH_NUMBER] += (int64_t)i;
}

/* What the first of its nodes in a socket adds. */
static inline int64_t placement_counts_price_package(const PlanCounts *counts, const PlanItem *item,
                                                     uint32_t package) {
        return (item->exclusive ? counts->exclusive_in[package] : 0) +
               counts->of_policy_in[item->policy_index * counts->problem->n_packages + package];
}

/* The price of a whole set of nodes, for an item that is counted nowhere. */
PlanCost placement_counts_price(const PlanCounts *counts, const PlanItem *item,
                                const uint16_t *nodes, size_t n);

void placement_counts_add(PlanCounts *counts, const PlanItem *item, const uint16_t *nodes,
                          size_t n);
void placement_counts_remove(PlanCounts *counts, const PlanItem *item, const uint16_t *nodes,
                             size_t n);

/* The score of the whole problem as it is. 0 or -ENOMEM. */
int placement_counts_total(const PlanProblem *problem, PlanCost *ret);

/* --- one after the other, the feasible sets of nodes of an item ---
 *
 * All of them where they are some thousands at most, else of each node that one with those nearest
 * to it. */

typedef struct PlanSets {
        const PlanProblem *problem;
        const PlanItem *item;
        uint16_t *pool; /* feasible nodes beside those it must have, socket by socket; owned */
        size_t n_pool;
        size_t group, n_group; /* where the present socket's nodes begin in it, and how many */
        size_t *chosen;        /* positions in the group; owned */
        size_t n_chosen, seed;
        bool begun, seeds;
        uint16_t *nodes; /* the present set; owned */
        size_t n_nodes;
} PlanSets;

int placement_sets_init(PlanSets *sets, const PlanProblem *problem,
                        const PlanItem *item); /* -ENOMEM */
void placement_sets_done(PlanSets *sets);
#define _cleanup_placement_sets_ _cleanup_(placement_sets_done)

/* How many there are, SIZE_MAX for more than fit. Not changed by placement_sets_next(). */
size_t placement_sets_count(const PlanSets *sets);

void placement_sets_rewind(PlanSets *sets);
bool placement_sets_next(PlanSets *sets);
void placement_sets_sort(uint16_t *nodes, size_t n); /* ascending */

/* --- the search --- */

typedef struct PlanSearch {
        PlanProblem *problem;
        PlanCounts counts;
        PlanSets *sets;     /* beside the items; of the movable ones; owned */
        PlanItem **movable; /* owned */
        size_t n_movable;
        uint16_t *best;    /* the best set so far, during the search; owned */
        uint16_t *grown;   /* likewise; owned */
        uint32_t *inner;   /* by node: distances to the set that grows; owned */
        uint32_t *touched; /* by socket: nodes of that set; owned */
        size_t effort;     /* number of costs that may still be computed */
        size_t n_prices;   /* number of costs that the repair has computed */
} PlanSearch;

/* Places every movable item. 0 or -ENOMEM. */
int placement_search_run(PlanSearch *search, PlanProblem *problem);
void placement_search_done(PlanSearch *search);
#define _cleanup_placement_search_ _cleanup_(placement_search_done)

/* Makes of equal plans the one that is the easiest to read; the score stays or becomes better. */
void placement_search_canonicalize(PlanSearch *search);

/* What is below is between the parts of the search. */

/* The best set for an item that is counted nowhere, into `best`. Its price. */
PlanCost placement_search_best(PlanSearch *search, const PlanItem *item);

/* The same where there are too many sets to compare all: grows a good set node by node. */
PlanCost placement_search_grow(PlanSearch *search, const PlanItem *item);

/* Moves that help, until none is left or the effort is spent. */
void placement_search_repair(PlanSearch *search);

/* The price of two items on these nodes together; neither is counted anywhere. */
PlanCost placement_search_price_both(PlanSearch *search, const PlanItem *a, const uint16_t *at_a,
                                     const PlanItem *b, const uint16_t *at_b);

void placement_search_put(PlanSearch *search, PlanItem *item, const uint16_t *nodes);
void placement_search_take(PlanSearch *search, const PlanItem *item);
void placement_search_spend(PlanSearch *search, size_t n);
