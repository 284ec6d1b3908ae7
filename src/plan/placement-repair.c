/* Moves that make a plan better: of one item, of two that change places, of one and of another that
 * gives way to it. */
#include <string.h>

#include "tidbnumad/plan/placement-search.h"

/* To where it is cheapest. */
static bool move(PlanSearch *search, PlanItem *item) {
        PlanCost now, best;
        bool better;

        placement_search_take(search, item);
        now = placement_counts_price(&search->counts, item, item->nodes, item->n_nodes);
        best = placement_search_best(search, item);
        better = placement_cost_compare(&best, &now) < 0;
        placement_search_put(search, item, better ? search->best : item->nodes);
        return better;
}

/* --- swaps --- */

static bool may_have(const PlanProblem *problem, const PlanItem *item, const PlanItem *other) {
        NodeBits bits = { 0 };

        if (item->count != other->n_nodes)
                return false;
        for (size_t i = 0; i < other->n_nodes; i++)
                if (!id_set_has(&item->feasible, other->nodes[i]) ||
                    (item->same_package && problem->nodes[other->nodes[i]].package !=
                                                   problem->nodes[other->nodes[0]].package))
                        return false;
        for (size_t i = 0; i < other->n_nodes; i++)
                id_set_add(&bits, other->nodes[i]);
        return id_set_is_subset(&item->must, &bits);
}

PlanCost placement_search_price_both(PlanSearch *search, const PlanItem *a, const uint16_t *at_a,
                                     const PlanItem *b, const uint16_t *at_b) {
        PlanCost cost = placement_counts_price(&search->counts, a, at_a, a->count), more;

        placement_counts_add(&search->counts, a, at_a, a->count);
        more = placement_counts_price(&search->counts, b, at_b, b->count);
        placement_counts_remove(&search->counts, a, at_a, a->count);
        placement_cost_add(&cost, &more);
        placement_search_spend(search, 2 * (a->count + b->count));
        return cost;
}

static void exchange_nodes(PlanItem *a, PlanItem *b) {
        for (size_t i = 0; i < a->count; i++) {
                uint16_t node = a->nodes[i];

                a->nodes[i] = b->nodes[i];
                b->nodes[i] = node;
        }
}

static bool swap(PlanSearch *search, PlanItem *a, PlanItem *b) {
        PlanCost now, then;
        bool better;

        placement_search_spend(search, 1);
        if (a->kind == b->kind || !may_have(search->problem, a, b) ||
            !may_have(search->problem, b, a) ||
            memcmp(a->nodes, b->nodes, a->count * sizeof(a->nodes[0])) == 0)
                return false;
        placement_search_take(search, a);
        placement_search_take(search, b);
        now = placement_search_price_both(search, a, a->nodes, b, b->nodes);
        then = placement_search_price_both(search, a, b->nodes, b, a->nodes);
        better = placement_cost_compare(&then, &now) < 0;
        if (better)
                exchange_nodes(a, b);
        placement_search_put(search, a, a->nodes);
        placement_search_put(search, b, b->nodes);
        return better;
}

static bool swap_all(PlanSearch *search) {
        bool better = false;

        for (size_t i = 0; i < search->n_movable; i++)
                for (size_t k = 0; k < i && search->effort > 0; k++)
                        better |= swap(search, search->movable[i], search->movable[k]);
        return better;
}

/* --- chains --- */

static bool shares_a_node(const PlanItem *item, const uint16_t *nodes, size_t n) {
        for (size_t i = 0; i < item->n_nodes; i++)
                for (size_t k = 0; k < n; k++)
                        if (item->nodes[i] == nodes[k])
                                return true;
        return false;
}

/* Moves `other` away; keeps it there if that is worth more than `limit`, the cost that came before.
 */
static bool give_way(PlanSearch *search, PlanItem *other, const PlanCost *limit) {
        PlanCost now, best;
        bool better;

        placement_search_take(search, other);
        now = placement_counts_price(&search->counts, other, other->nodes, other->n_nodes);
        best = placement_search_best(search, other);
        placement_cost_add(&best, limit);
        better = placement_cost_compare(&best, &now) < 0;
        placement_search_put(search, other, better ? search->best : other->nodes);
        return better;
}

/* Puts the uncounted item on these nodes, if an item there can give way so that both are better
 * off. `now`: what it costs where it was. */
static bool push(PlanSearch *search, PlanItem *item, const uint16_t *nodes, const PlanCost *now) {
        PlanCost extra = placement_counts_price(&search->counts, item, nodes, item->count);

        if (extra.by[WEIGH_STABILITY] > now->by[WEIGH_STABILITY] ||
            extra.by[WEIGH_DEVICE] > now->by[WEIGH_DEVICE])
                return false;
        placement_cost_subtract(&extra, now);
        placement_counts_add(&search->counts, item, nodes, item->count);
        for (size_t i = 0; i < search->n_movable && search->effort > 0; i++) {
                PlanItem *other = search->movable[i];

                if (other != item && shares_a_node(other, nodes, item->count) &&
                    give_way(search, other, &extra))
                        return true;
        }
        placement_counts_remove(&search->counts, item, nodes, item->count);
        return false;
}

static bool chain(PlanSearch *search, PlanItem *item) {
        PlanSets *sets = &search->sets[item - search->problem->items];
        PlanCost now;

        placement_search_take(search, item);
        now = placement_counts_price(&search->counts, item, item->nodes, item->n_nodes);
        placement_sets_rewind(sets);
        while (search->effort > 0 && placement_sets_next(sets))
                if (push(search, item, sets->nodes, &now)) {
                        memcpy(item->nodes, sets->nodes, item->count * sizeof(sets->nodes[0]));
                        return true;
                }
        placement_search_put(search, item, item->nodes);
        return false;
}

/* --- displacing ---
 *
 * An item of several nodes moves to other nodes, and all items there get new places. No single move
 * and no swap can do that, because the numbers of nodes differ. */

enum { DISPLACED_MOST = 32, SAVED_MOST = 256 };

/* The items that had to go, and their former places. */
typedef struct Displaced {
        PlanItem *items[DISPLACED_MOST];
        uint16_t saved[SAVED_MOST];
        size_t n, n_saved;
} Displaced;

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
                if (search->movable[i] != item &&
                    shares_a_node(search->movable[i], nodes, item->count) &&
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

/* Puts an item of several nodes where others are, which then get new places. True: that helped. */
static bool displace_others(PlanSearch *search, PlanItem *item) {
        PlanSets *sets = &search->sets[item - search->problem->items];
        bool better = false;

        if (item->count < 2)
                return false;
        placement_sets_rewind(sets);
        while (search->effort > 0 && placement_sets_next(sets))
                better |= displace(search, item, sets->nodes);
        return better;
}

void placement_search_repair(PlanSearch *search) {
        bool better = true;

        while (better && search->effort > 0) {
                better = false;
                for (size_t i = 0; i < search->n_movable && search->effort > 0; i++)
                        better |= move(search, search->movable[i]);
                if (better)
                        continue;
                better = swap_all(search);
                for (size_t i = 0; !better && i < search->n_movable && search->effort > 0; i++)
                        better = displace_others(search, search->movable[i]) ||
                                 chain(search, search->movable[i]);
        }
}
