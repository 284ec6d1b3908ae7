/* The instances on each node and socket, and the cost of one more there. The scores are sums of
 * such prices, so that a search need not count everything again. */
#pragma once

#include "tidbnumad/plan/placement-problem.h"

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
        uint64_t *used_mib;        /* by node */
        uint64_t *weight;          /* by node */
} PlanCounts;

int placement_counts_init(PlanCounts *counts, const PlanProblem *problem); /* of none. -ENOMEM */
void placement_counts_done(PlanCounts *counts);
#define _cleanup_placement_counts_ _cleanup_(placement_counts_done)

/* Of one node for an item that is not counted there, beside the nodes of its own that it has. */
static inline void placement_counts_price_node(const PlanCounts *counts, const PlanItem *item,
                                               size_t i, PlanCost *cost) {
        const PlanProblem *problem = counts->problem;
        const PlanNode *node = &problem->nodes[i];
        uint64_t used = counts->used_mib[i], more = node->node->memory_bytes ? item->share_mib : 0;
        /* by which the square of the sum grows */
        uint64_t squares = item->weight * (2 * counts->weight[i] + item->weight);

        cost->by[WEIGH_STABILITY] -= id_set_has(&item->former, i);
        cost->by[WEIGH_DEVICE] += item->device ? item->device[i] : 0;
        cost->by[WEIGH_EXCLUSIVE] += item->exclusive ? counts->exclusive[i] : 0;
        cost->by[WEIGH_POLICY] += counts->of_policy[item->policy_index * problem->n_nodes + i];
        cost->by[WEIGH_RESERVED] += node->reserved;
        if (used + more > node->free_mib)
                cost->by[WEIGH_MEMORY] +=
                        (int64_t)(used >= node->free_mib ? more : used + more - node->free_mib);
        cost->by[WEIGH_ROOM] += (int64_t)(squares * node->room_part);
        cost->by[WEIGH_LOAD] += (int64_t)(squares * node->cpu_part);
        cost->by[WEIGH_NUMBER] += (int64_t)i;
}

/* What the first of its nodes in a socket adds. */
static inline int64_t placement_counts_price_package(const PlanCounts *counts, const PlanItem *item,
                                                     uint32_t package) {
        return (item->exclusive ? counts->exclusive_in[package] : 0) +
               counts->of_policy_in[item->policy_index * counts->problem->n_packages + package];
}

/* Of a whole set, for an item that is counted nowhere. */
PlanCost placement_counts_price(const PlanCounts *counts, const PlanItem *item,
                                const uint16_t *nodes, size_t n);

void placement_counts_add(PlanCounts *counts, const PlanItem *item, const uint16_t *nodes,
                          size_t n);
void placement_counts_remove(PlanCounts *counts, const PlanItem *item, const uint16_t *nodes,
                             size_t n);

/* The score of the whole problem as it is. 0 or -ENOMEM. */
int placement_counts_total(const PlanProblem *problem, PlanCost *ret);
