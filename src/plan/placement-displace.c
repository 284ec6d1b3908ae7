/* A move that makes room: an item of several nodes goes to others, and all that are there look for
 * new places. No single move and no swap gets there, for the numbers of nodes differ. */
#include <string.h>

#include "tidbnumad/plan/placement-search.h"

enum { DISPLACED_MOST = 32, SAVED_MOST = 256 };

/* Who had to go, and where they were. */
typedef struct Displaced {
        PlanItem *items[DISPLACED_MOST];
        uint16_t saved[SAVED_MOST];
        size_t n, n_saved;
} Displaced;

static bool is_on(const PlanItem *item, const uint16_t *nodes, size_t n) {
        for (size_t i = 0; i < item->n_nodes; i++)
                for (size_t k = 0; k < n; k++)
                        if (item->nodes[i] == nodes[k])
                                return true;
        return false;
}

static bool save(Displaced *d, PlanItem *item) {
        if (d->n == DISPLACED_MOST || d->n_saved + item->n_nodes > SAVED_MOST)
                return false;
        memcpy(d->saved + d->n_saved, item->nodes, item->n_nodes * sizeof(item->nodes[0]));
        d->n_saved += item->n_nodes;
        d->items[d->n++] = item;
        return true;
}

/* The item first, then all on these nodes. False when they are too many. */
static bool find(PlanSearch *search, PlanItem *item, const uint16_t *nodes, Displaced *ret) {
        *ret = (Displaced){ 0 };
        if (!save(ret, item))
                return false;
        for (size_t i = 0; i < search->n_movable; i++)
                if (search->movable[i] != item && is_on(search->movable[i], nodes, item->count) &&
                    !save(ret, search->movable[i]))
                        return false;
        return ret->n > 1;
}

static PlanCost take_all(PlanSearch *search, const Displaced *d) {
        PlanCost sum = { 0 };

        for (size_t i = 0; i < d->n; i++) {
                const PlanItem *item = d->items[i];
                PlanCost cost;

                placement_search_take(search, item);
                cost = placement_counts_price(&search->counts, item, item->nodes, item->n_nodes);
                placement_cost_add(&sum, &cost);
        }
        return sum;
}

static void put_back(PlanSearch *search, const Displaced *d) {
        size_t at = 0;

        for (size_t i = 0; i < d->n; i++)
                placement_search_take(search, d->items[i]);
        for (size_t i = 0; i < d->n; i++) {
                placement_search_put(search, d->items[i], &d->saved[at]);
                at += d->items[i]->count;
        }
}

static bool displace(PlanSearch *search, PlanItem *item, const uint16_t *nodes) {
        PlanCost before, after;
        Displaced d;

        placement_search_spend(search, search->n_movable);
        if (!find(search, item, nodes, &d))
                return false;
        before = take_all(search, &d);
        after = placement_counts_price(&search->counts, item, nodes, item->count);
        placement_search_put(search, item, nodes);
        for (size_t i = 1; i < d.n; i++) {
                PlanCost cost = placement_search_best(search, d.items[i]);

                placement_cost_add(&after, &cost);
                placement_search_put(search, d.items[i], search->best);
        }
        if (placement_cost_compare(&after, &before) < 0)
                return true;
        put_back(search, &d);
        return false;
}

bool placement_search_displace(PlanSearch *search, PlanItem *item) {
        PlanSets *sets = &search->sets[item - search->problem->items];
        bool better = false;

        if (item->count < 2)
                return false;
        placement_sets_rewind(sets);
        while (search->effort > 0 && placement_sets_next(sets))
                better |= displace(search, item, sets->nodes);
        return better;
}
