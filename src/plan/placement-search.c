#include <string.h>

#include "tidbnumad/plan/placement-search.h"

/* EFFORT_MAX: costs of single nodes that a repair may compute. This takes some milliseconds; the
 * daemon's loop waits for the plan. SETS_OF_ALL: number of sets of all items together up to which
 * every set is compared when an item moves. */
enum { EFFORT_MAX = 100000, SETS_OF_ALL = 16384 };

void placement_search_spend(PlanSearch *search, size_t n) {
        search->effort -= n < search->effort ? n : search->effort;
}

void placement_search_put(PlanSearch *search, PlanItem *item, const uint16_t *nodes) {
        memmove(item->nodes, nodes, item->count * sizeof(nodes[0]));
        item->n_nodes = item->count;
        placement_counts_add(&search->counts, item, item->nodes, item->n_nodes);
}

void placement_search_take(PlanSearch *search, const PlanItem *item) {
        placement_counts_remove(&search->counts, item, item->nodes, item->n_nodes);
}

static PlanCost best_node(PlanSearch *search, const PlanItem *item) {
        PlanCost best = { 0 };
        size_t n = 0;

        ID_SET_FOREACH(i, &item->feasible) {
                uint16_t node = (uint16_t)i;
                PlanCost cost = placement_counts_price(&search->counts, item, &node, 1);

                if (n++ > 0 && placement_cost_compare(&cost, &best) >= 0)
                        continue;
                best = cost;
                search->best[0] = node;
        }
        placement_search_spend(search, n);
        return best;
}

PlanCost placement_search_best(PlanSearch *search, const PlanItem *item) {
        PlanSets *sets = &search->sets[item - search->problem->items];
        size_t n = placement_sets_count(sets);
        PlanCost best = { 0 };
        bool found = false;

        if (item->count == 1 && id_set_next(&item->must, 0) < 0)
                return best_node(search, item);
        if (item->count > 1 && (sets->seeds || n * search->n_movable > SETS_OF_ALL))
                return placement_search_grow(search, item);
        placement_sets_rewind(sets);
        while (placement_sets_next(sets)) {
                PlanCost cost =
                        placement_counts_price(&search->counts, item, sets->nodes, sets->n_nodes);

                if (found && placement_cost_compare(&cost, &best) >= 0)
                        continue;
                found = true;
                best = cost;
                memcpy(search->best, sets->nodes, sets->n_nodes * sizeof(sets->nodes[0]));
        }
        placement_search_spend(search, n * item->count);
        return best;
}

static int compare_movable(const void *a, const void *b) {
        const PlanItem *x = *(PlanItem *const *)a, *y = *(PlanItem *const *)b;
        size_t n = id_set_count(&x->feasible), m = id_set_count(&y->feasible);

        if ((x->device != NULL) != (y->device != NULL))
                return x->device ? -1 : 1;
        if (x->exclusive != y->exclusive)
                return x->exclusive ? -1 : 1;
        if (x->count != y->count)
                return x->count > y->count ? -1 : 1;
        if (n != m)
                return n < m ? -1 : 1;
        if (x->weight != y->weight)
                return x->weight > y->weight ? -1 : 1;
        return x < y ? -1 : x > y;
}

static int collect_movable(PlanSearch *search) {
        PlanProblem *problem = search->problem;

        for (size_t i = 0; i < problem->n_items; i++) {
                if (!problem->items[i].movable && !problem->items[i].settled)
                        continue;
                if (problem->items[i].movable)
                        search->movable[search->n_movable++] = &problem->items[i];
                if (placement_sets_init(&search->sets[i], problem, &problem->items[i]) < 0)
                        return -ENOMEM;
                problem->items[i].choice->n_feasible = placement_sets_count(&search->sets[i]);
        }
        if (search->n_movable > 1)
                qsort(search->movable, search->n_movable, sizeof(search->movable[0]),
                      compare_movable);
        return 0;
}

static int init(PlanSearch *search) {
        const PlanProblem *problem = search->problem;
        size_t n = problem->n_nodes + 1;

        search->sets = calloc(problem->n_items + 1, sizeof(search->sets[0]));
        search->movable = calloc(problem->n_items + 1, sizeof(PlanItem *));
        search->best = calloc(n, sizeof(search->best[0]));
        search->grown = calloc(n, sizeof(search->grown[0]));
        search->inner = calloc(n, sizeof(search->inner[0]));
        search->touched = calloc(n, sizeof(search->touched[0]));
        if (!search->sets || !search->movable || !search->best || !search->grown ||
            !search->inner || !search->touched)
                return -ENOMEM;
        return placement_counts_init(&search->counts, problem);
}

int placement_search_run(PlanSearch *search, PlanProblem *problem) {
        *search = (PlanSearch){ .problem = problem };
        if (init(search) < 0 || collect_movable(search) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < problem->n_items; i++)
                if (problem->items[i].placed)
                        placement_counts_add(&search->counts, &problem->items[i],
                                             problem->items[i].nodes, problem->items[i].n_nodes);
        for (size_t i = 0; i < search->n_movable; i++) {
                (void)placement_search_best(search, search->movable[i]);
                placement_search_put(search, search->movable[i], search->best);
        }
        search->effort = EFFORT_MAX;
        placement_search_repair(search);
        search->n_prices = EFFORT_MAX - search->effort;
        return 0;
}

void placement_search_done(PlanSearch *search) {
        for (size_t i = 0; search->sets && i < search->problem->n_items; i++)
                placement_sets_done(&search->sets[i]);
        free(search->sets);
        free(search->movable);
        free(search->best);
        free(search->grown);
        free(search->inner);
        free(search->touched);
        placement_counts_done(&search->counts);
        *search = (PlanSearch){ 0 };
}
