/* Finds a good set of nodes for an item that has too many possible sets to compare all: the set
 * grows node by node, the cheapest node first; then single nodes are exchanged while this lowers
 * the cost. */
#include <string.h>

#include "tidbnumad/plan/placement-search.h"

/* The set under way: `n` nodes of search->grown; where it may grow. */
typedef struct Growth {
        PlanSearch *search;
        const PlanItem *item;
        NodeBits room, has;
        size_t n;
} Growth;

/* By how much the distances to the set that node `i` sees change with node `other`. */
static uint32_t both_ways(const Growth *g, size_t i, size_t other) {
        const PlanProblem *problem = g->search->problem;

        return placement_problem_distance(problem, i, other) +
               placement_problem_distance(problem, other, i);
}

static void add(Growth *g, size_t node) {
        g->search->grown[g->n++] = (uint16_t)node;
        id_set_add(&g->has, node);
        g->search->touched[g->search->problem->nodes[node].package]++;
        ID_SET_FOREACH(i, &g->room)
        g->search->inner[i] += (size_t)i == node ? 0 : both_ways(g, (size_t)i, node);
}

static void drop(Growth *g, size_t at) {
        size_t node = g->search->grown[at];

        g->search->grown[at] = g->search->grown[--g->n];
        g->has.words[node / 64] &= ~(UINT64_C(1) << (node % 64));
        g->search->touched[g->search->problem->nodes[node].package]--;
        ID_SET_FOREACH(i, &g->room)
        g->search->inner[i] -= (size_t)i == node ? 0 : both_ways(g, (size_t)i, node);
}

/* What a node that is not in the set would add. */
static PlanCost price(const Growth *g, size_t node) {
        uint32_t package = g->search->problem->nodes[node].package;
        PlanCost cost = { 0 };

        placement_counts_price_node(&g->search->counts, g->item, node, &cost);
        cost.by[WEIGH_DISTANCE] = g->search->inner[node];
        if (g->search->touched[package] == 0)
                cost.by[WEIGH_SPREAD] =
                        placement_counts_price_package(&g->search->counts, g->item, package);
        return cost;
}

/* The cheapest node that is not in the set. */
static int find_next(const Growth *g, PlanCost *ret) {
        NodeBits left = id_set_minus(&g->room, &g->has);
        int best = -1;

        ID_SET_FOREACH(i, &left) {
                PlanCost cost = price(g, (size_t)i);

                if (best >= 0 && placement_cost_compare(&cost, ret) >= 0)
                        continue;
                best = i;
                *ret = cost;
        }
        placement_search_spend(g->search, id_set_count(&left));
        return best;
}

/* Takes each node out in turn and puts the cheapest one in. */
static bool exchange(Growth *g) {
        bool better = false;

        for (size_t at = 0; at < g->n; at++) {
                size_t node = g->search->grown[at];
                PlanCost before, after;
                int next;

                if (id_set_has(&g->item->must, node))
                        continue;
                drop(g, at);
                before = price(g, node);
                next = find_next(g, &after);
                better |= placement_cost_compare(&after, &before) < 0;
                add(g, placement_cost_compare(&after, &before) < 0 ? (size_t)next : node);
        }
        return better;
}

static void grow(Growth *g) {
        PlanCost cost;

        memset(g->search->inner, 0, g->search->problem->n_nodes * sizeof(uint32_t));
        memset(g->search->touched, 0, g->search->problem->n_packages * sizeof(uint32_t));
        ID_SET_FOREACH(i, &g->item->must)
        add(g, (size_t)i);
        while (g->n < g->item->count)
                add(g, (size_t)find_next(g, &cost));
        for (unsigned round = 0; round < 4 && exchange(g); round++)
                ;
}

static NodeBits room_in(const PlanSearch *search, const PlanItem *item, uint32_t package) {
        NodeBits room = { 0 };

        ID_SET_FOREACH(i, &item->feasible)
        if (!item->same_package || search->problem->nodes[i].package == package)
                id_set_add(&room, (size_t)i);
        return room;
}

PlanCost placement_search_grow(PlanSearch *search, const PlanItem *item) {
        PlanCost best = { 0 };
        bool found = false;

        for (uint32_t p = 0; p < (item->same_package ? search->problem->n_packages : 1); p++) {
                Growth g = { .search = search, .item = item, .room = room_in(search, item, p) };
                PlanCost cost;

                if (id_set_count(&g.room) < item->count || !id_set_is_subset(&item->must, &g.room))
                        continue;
                grow(&g);
                placement_sets_sort(search->grown, g.n);
                cost = placement_counts_price(&search->counts, item, search->grown, g.n);
                if (found && placement_cost_compare(&cost, &best) >= 0)
                        continue;
                found = true;
                best = cost;
                memcpy(search->best, search->grown, g.n * sizeof(search->grown[0]));
        }
        return best;
}
