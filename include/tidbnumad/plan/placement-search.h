/* Finds a good plan quickly: each item in turn to where it is cheapest, then moves, swaps and short
 * chains of moves while they help. It does not prove that no plan is better. */
#pragma once

#include "tidbnumad/plan/placement-counts.h"
#include "tidbnumad/plan/placement-sets.h"

typedef struct PlanSearch {
        PlanProblem *problem;
        PlanCounts counts;
        PlanSets *sets;     /* beside the items; of the movable ones; owned */
        PlanItem **movable; /* owned */
        size_t n_movable;
        uint16_t *best;    /* a set, while the best one is looked for; owned */
        uint16_t *grown;   /* likewise; owned */
        uint32_t *inner;   /* by node: distances to the set that grows; owned */
        uint32_t *touched; /* by socket: nodes of that set; owned */
        size_t effort;     /* prices that may still be asked */
        size_t n_prices;   /* that the repair has asked */
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

/* Likewise where there are too many to look at each: node by node. */
PlanCost placement_search_grow(PlanSearch *search, const PlanItem *item);

/* Moves that help, until none is left or the effort is spent. */
void placement_search_repair(PlanSearch *search);

void placement_search_put(PlanSearch *search, PlanItem *item, const uint16_t *nodes);
void placement_search_take(PlanSearch *search, const PlanItem *item);
void placement_search_spend(PlanSearch *search, size_t n);
