/* One after the other, the sets of nodes that are open to an item: all of them where they are some
 * thousands at most, else of each node that one with those nearest to it. */
#pragma once

#include "tidbnumad/plan/placement-problem.h"

typedef struct PlanSets {
        const PlanProblem *problem;
        const PlanItem *item;
        uint16_t *pool; /* open nodes beside those it must have, socket by socket; owned */
        size_t n_pool;
        size_t group, n_group; /* where the present socket's nodes begin in it, and how many */
        size_t *chosen;        /* positions in the group; owned */
        size_t n_chosen, seed, n_seeded;
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
