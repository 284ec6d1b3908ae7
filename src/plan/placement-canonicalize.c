/* Of plans with the same score the one that is the easiest to read: of interchangeable instances
 * the lower name gets the lower nodes, and none has nodes to both sides of another's for nothing.
 */
#include <string.h>

#include "tidbnumad/plan/placement-search.h"

enum { CANONICALIZE_ROUNDS = 8 };

static int compare_sets(const PlanItem *a, const PlanItem *b) {
        for (size_t i = 0; i < a->n_nodes; i++)
                if (a->nodes[i] != b->nodes[i])
                        return a->nodes[i] < b->nodes[i] ? -1 : 1;
        return 0;
}

static void order(PlanItem *lower, PlanItem *higher) {
        uint16_t *nodes = lower->nodes;

        if (compare_sets(higher, lower) >= 0)
                return;
        lower->nodes = higher->nodes;
        higher->nodes = nodes;
}

/* --- nodes of two of them, redistributed --- */

/* The lower half of both sets' nodes, then the upper one. False when they have a node in common. */
static bool deal(const PlanItem *a, const PlanItem *b, uint16_t *ret) {
        size_t n = a->n_nodes, i = 0, k = 0;

        while (i + k < 2 * n) {
                if (i < n && k < n && a->nodes[i] == b->nodes[k])
                        return false;
                if (k == n || (i < n && a->nodes[i] < b->nodes[k])) {
                        ret[i + k] = a->nodes[i];
                        i++;
                } else {
                        ret[i + k] = b->nodes[k];
                        k++;
                }
        }
        return true;
}

static bool may_have(const PlanProblem *problem, const PlanItem *item, const uint16_t *nodes) {
        NodeBits bits = { 0 };

        for (size_t i = 0; i < item->n_nodes; i++) {
                if (item->same_package &&
                    problem->nodes[nodes[i]].package != problem->nodes[nodes[0]].package)
                        return false;
                id_set_add(&bits, nodes[i]);
        }
        return id_set_is_subset(&item->must, &bits);
}

static bool deal_out(PlanSearch *search, PlanItem *a, PlanItem *b) {
        size_t n = a->n_nodes, size = n * sizeof(a->nodes[0]);
        uint16_t dealt[2 * PLACEMENT_NODES_MAX];
        PlanCost now, then;
        bool good;

        if (!deal(a, b, dealt) || memcmp(dealt, a->nodes, size) == 0 ||
            !may_have(search->problem, a, dealt) || !may_have(search->problem, b, dealt + n))
                return false;
        placement_search_take(search, a);
        placement_search_take(search, b);
        now = placement_search_price_both(search, a, a->nodes, b, b->nodes);
        then = placement_search_price_both(search, a, dealt, b, dealt + n);
        good = placement_cost_compare(&then, &now) <= 0;
        placement_search_put(search, a, good ? dealt : a->nodes);
        placement_search_put(search, b, good ? dealt + n : b->nodes);
        return good;
}

/* The items are in the order of their names. */
static bool canonicalize(PlanSearch *search) {
        PlanItem *items = search->problem->items;
        bool changed = false;

        for (size_t i = 0; i < search->problem->n_items; i++)
                for (size_t k = 0; items[i].movable && k < i; k++) {
                        if (!items[k].movable || items[k].kind != items[i].kind)
                                continue;
                        if (items[i].n_nodes > 1)
                                changed |= deal_out(search, &items[k], &items[i]);
                        order(&items[k], &items[i]);
                }
        return changed;
}

void placement_search_canonicalize(PlanSearch *search) {
        for (unsigned round = 0; round < CANONICALIZE_ROUNDS && canonicalize(search); round++)
                ;
}
