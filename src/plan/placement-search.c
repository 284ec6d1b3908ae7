/* Which of the feasible nodes each instance gets: prices, the sets of nodes of an item, the search,
 * and of equal plans the one that is the easiest to read. */
#include "tidbnumad/plan/placement-search.h"

/* EFFORT_MAX: costs of single nodes that a repair may compute. This takes some milliseconds; the
 * daemon's loop waits for the plan. SETS_OF_ALL: number of sets of all items together up to which
 * every set is compared when an item moves. With more sets than SETS_MAX only some are tried. */
enum {
        EFFORT_MAX = 100000,
        SETS_OF_ALL = 16384,
        SETS_MAX = 4096,
        EXCHANGE_ROUNDS = 4,
        CANONICALIZE_ROUNDS = 8,
        DISPLACED_MOST = 32,
};

static void planner_spend(Planner *planner, size_t n) {
        planner->effort -= n < planner->effort ? n : planner->effort;
}

/* --- costs --- */

int placement_cost_compare(const PlanCost *a, const PlanCost *b) {
        for (unsigned i = 0; i < N_CRITERIA; i++)
                if (a->by[i] != b->by[i])
                        return a->by[i] < b->by[i] ? -1 : 1;
        return 0;
}

static void cost_add(PlanCost *sum, const PlanCost *more) {
        for (unsigned i = 0; i < N_CRITERIA; i++)
                sum->by[i] += more->by[i];
}

int64_t placement_price_package(const Planner *planner, const PlanItem *item, uint32_t package) {
        return (item->exclusive ? planner->exclusive_in[package] : 0) +
               planner->policies[item->policy_index].in[package];
}

/* Adds the price of node `i` for an item that is not counted there. What it leaves, and what it has
 * to move, are those of the whole item less what the node saves. */
static inline void price_node(const Planner *planner, const PlanItem *item, size_t i,
                              PlanCost *cost) {
        const PlanNode *node = &planner->nodes[i];
        /* by which the square of the sum grows */
        uint64_t squares = item->weight * (2 * node->weight + item->weight);

        cost->by[WEIGH_STABILITY] -= id_set_has(&item->former, i);
        cost->by[WEIGH_DEVICE] += item->device[i];
        cost->by[WEIGH_EXCLUSIVE] += item->exclusive ? node->n_exclusive : 0;
        cost->by[WEIGH_POLICY] += planner->policies[item->policy_index].on[i];
        cost->by[WEIGH_RESERVED] += node->reserved;
        for (size_t p = 0; p < planner->n_pools; p++) {
                const uint64_t used = node->used_mib[p], free_mib = node->free_mib[p],
                               more = node->node->memory_bytes ? item->share_mib[p] : 0;

                if (used + more > free_mib)
                        cost->by[WEIGH_MEMORY] +=
                                (int64_t)(used >= free_mib ? more : used + more - free_mib);
        }
        cost->by[WEIGH_ROOM] += (int64_t)(squares * node->room_part);
        cost->by[WEIGH_LOAD] += (int64_t)(squares * node->cpu_part);
        cost->by[WEIGH_MOVE] -= item->at_mib[i];
        cost->by[WEIGH_NUMBER] += (int64_t)i;
}

PlanCost placement_price(const Planner *planner, const PlanItem *item, const NodeBits *nodes) {
        PlanCost cost = { .by[WEIGH_STABILITY] = item->n_former, .by[WEIGH_MOVE] = item->all_mib };
        NodeBits packages = { 0 };

        NODE_BITS_FOREACH(i, nodes) {
                const uint32_t package = planner->nodes[i].package;

                price_node(planner, item, (size_t)i, &cost);
                if (!id_set_has(&packages, package))
                        cost.by[WEIGH_SPREAD] += placement_price_package(planner, item, package);
                id_set_add(&packages, package);
                for (int k = node_bits_next(nodes, (unsigned)i + 1); k >= 0;
                     k = node_bits_next(nodes, (unsigned)k + 1))
                        cost.by[WEIGH_DISTANCE] +=
                                placement_distance(planner, (size_t)i, (size_t)k) +
                                placement_distance(planner, (size_t)k, (size_t)i);
        }
        return cost;
}

/* Counts an item on nodes: `by` 1, or -1 when it is taken away. */
static void planner_count(Planner *planner, const PlanItem *item, const NodeBits *nodes, int by) {
        PlanPolicy *policy = &planner->policies[item->policy_index];
        NodeBits packages = { 0 };

        NODE_BITS_FOREACH(i, nodes) {
                PlanNode *node = &planner->nodes[i];

                node->n_all += (uint32_t)by;
                node->n_exclusive += item->exclusive ? (uint32_t)by : 0;
                node->weight += item->weight * (uint64_t)by;
                policy->on[i] += (uint32_t)by;
                for (size_t p = 0; node->node->memory_bytes && p < planner->n_pools; p++)
                        node->used_mib[p] += item->share_mib[p] * (uint64_t)by;
                if (id_set_has(&packages, node->package))
                        continue;
                id_set_add(&packages, node->package);
                policy->in[node->package] += (uint32_t)by;
                planner->exclusive_in[node->package] += item->exclusive ? (uint32_t)by : 0;
        }
}

void placement_put(Planner *planner, PlanItem *item, NodeBits nodes) {
        item->nodes = nodes;
        planner_count(planner, item, &nodes, 1);
}

void placement_take(Planner *planner, const PlanItem *item) {
        planner_count(planner, item, &item->nodes, -1);
}

static PlanCost take_and_price(Planner *planner, const PlanItem *item) {
        placement_take(planner, item);
        return placement_price(planner, item, &item->nodes);
}

/* --- the feasible sets of an item --- */

/* Where the sets of one group end: sockets, where a set has to stay within one. */
static size_t sets_group_end(const PlanSets *sets, size_t begin) {
        const PlanNode *nodes = sets->planner->nodes;
        size_t end = begin;

        if (!sets->item->same_package)
                return sets->n_pool;
        while (end < sets->n_pool &&
               nodes[sets->pool[end]].package == nodes[sets->pool[begin]].package)
                end++;
        return end;
}

static void sets_enter_group(PlanSets *sets, size_t begin) {
        sets->group = begin;
        sets->n_group = sets_group_end(sets, begin) - begin;
        sets->seed = 0;
        for (size_t i = 0; i < sets->n_chosen; i++)
                sets->chosen[i] = i;
}

void placement_sets_init(PlanSets *sets, const Planner *planner, const PlanItem *item) {
        const NodeBits rest = id_set_minus(&item->feasible, &item->must);
        const int must = node_bits_next(&item->must, 0);

        sets->planner = planner;
        sets->item = item;
        sets->n_pool = 0;
        sets->n_chosen = item->count - id_set_count(&item->must);
        sets->begun = false;
        sets->seeds = item->choice->n_feasible > SETS_MAX;
        for (uint32_t p = 0; p < (item->same_package ? planner->n_packages : 1); p++) {
                if (item->same_package && must >= 0 && planner->nodes[must].package != p)
                        continue;
                NODE_BITS_FOREACH(i, &rest)
                if (!item->same_package || planner->nodes[i].package == p)
                        sets->pool[sets->n_pool++] = (uint16_t)i;
        }
        sets_enter_group(sets, 0);
}

/* SIZE_MAX for more than fit. */
static size_t sets_count(const PlanSets *sets) {
        size_t all = 0;

        if (sets->n_chosen == 0)
                return 1;
        for (size_t begin = 0, end; begin < sets->n_pool; begin = end) {
                size_t n, k = sets->n_chosen, subsets = 1;

                end = sets_group_end(sets, begin);
                n = end - begin;
                if (k > n)
                        continue;
                /* n over k */
                k = k < n - k ? k : n - k;
                for (size_t i = 1; i <= k; i++) {
                        if (__builtin_mul_overflow(subsets, n - k + i, &subsets))
                                return SIZE_MAX;
                        subsets /= i;
                }
                if (__builtin_add_overflow(all, subsets, &all))
                        return SIZE_MAX;
        }
        return all;
}

/* Nearest first; of equally near ones those that follow the seed, so that sets of several seeds do
 * not all have the lowest. */
static bool sets_is_nearer(const PlanSets *sets, size_t a, size_t b) {
        const uint16_t *pool = &sets->pool[sets->group];
        size_t n = sets->n_group, seed = sets->seed;
        uint32_t to_a = placement_distance(sets->planner, pool[seed], pool[a]);
        uint32_t to_b = placement_distance(sets->planner, pool[seed], pool[b]);

        return to_a != to_b ? to_a < to_b : (a + n - seed) % n < (b + n - seed) % n;
}

/* The next seed, or the next subset in the order of the numbers, of the group. */
static bool sets_next_in_group(PlanSets *sets) {
        size_t n = sets->n_chosen, i = n;

        if (sets->seeds)
                return ++sets->seed < sets->n_group;
        while (i > 0 && sets->chosen[i - 1] == sets->n_group - n + i - 1)
                i--;
        if (i == 0)
                return false;
        sets->chosen[i - 1]++;
        for (; i < n; i++)
                sets->chosen[i] = sets->chosen[i - 1] + 1;
        return true;
}

bool placement_sets_next(PlanSets *sets) {
        const bool begun = sets->begun;
        size_t n = 0;

        sets->begun = true;
        if (begun && sets->n_chosen == 0)
                return false;
        if (begun ? !sets_next_in_group(sets) : sets->n_group < sets->n_chosen)
                do { /* the next group that has nodes enough */
                        if (sets->group + sets->n_group >= sets->n_pool)
                                return false;
                        sets_enter_group(sets, sets->group + sets->n_group);
                } while (sets->n_group < sets->n_chosen);
        /* Around the seed the nearest, in order. */
        for (size_t i = 0; sets->seeds && sets->n_chosen > 1 && i < sets->n_group; i++) {
                size_t at;

                if (i == sets->seed ||
                    (n == sets->n_chosen - 1 && !sets_is_nearer(sets, i, sets->chosen[n])))
                        continue;
                n += n < sets->n_chosen - 1;
                for (at = n; at > 1 && sets_is_nearer(sets, i, sets->chosen[at - 1]); at--)
                        sets->chosen[at] = sets->chosen[at - 1];
                sets->chosen[at] = i;
        }
        if (sets->seeds)
                sets->chosen[0] = sets->seed;
        sets->nodes = sets->item->must;
        for (size_t i = 0; i < sets->n_chosen; i++)
                id_set_add(&sets->nodes, sets->pool[sets->group + sets->chosen[i]]);
        return true;
}

/* --- a good set where there are too many to compare all: it grows node by node, the cheapest node
 * first; then single nodes are exchanged while this lowers the cost --- */

typedef struct Growth {
        Planner *planner;
        const PlanItem *item;
        NodeBits room, has;                  /* where it may grow; the set so far */
        uint16_t nodes[PLACEMENT_NODES_MAX]; /* the set in the order in which it has grown */
        size_t n;
        uint32_t inner[PLACEMENT_NODES_MAX];   /* by node: distances to and from the set */
        uint32_t touched[PLACEMENT_NODES_MAX]; /* by socket: nodes of the set */
} Growth;

/* The node is in the set now (`by` 1), or no longer (-1). */
static void growth_count(Growth *g, size_t node, int by) {
        g->touched[g->planner->nodes[node].package] += (uint32_t)by;
        NODE_BITS_FOREACH(i, &g->room)
        if ((size_t)i != node)
                g->inner[i] += (uint32_t)by * (placement_distance(g->planner, (size_t)i, node) +
                                               placement_distance(g->planner, node, (size_t)i));
}

static void growth_add(Growth *g, size_t node) {
        g->nodes[g->n++] = (uint16_t)node;
        id_set_add(&g->has, node);
        growth_count(g, node, 1);
}

/* What a node that is not in the set would add. */
static PlanCost growth_price(const Growth *g, size_t node) {
        uint32_t package = g->planner->nodes[node].package;
        PlanCost cost = { 0 };

        price_node(g->planner, g->item, node, &cost);
        cost.by[WEIGH_DISTANCE] = g->inner[node];
        if (g->touched[package] == 0)
                cost.by[WEIGH_SPREAD] = placement_price_package(g->planner, g->item, package);
        return cost;
}

/* The cheapest node that is not in the set. */
static int growth_find_next(const Growth *g, PlanCost *ret) {
        NodeBits left = id_set_minus(&g->room, &g->has);
        int best = -1;

        NODE_BITS_FOREACH(i, &left) {
                PlanCost cost = growth_price(g, (size_t)i);

                if (best >= 0 && placement_cost_compare(&cost, ret) >= 0)
                        continue;
                best = i;
                *ret = cost;
        }
        planner_spend(g->planner, id_set_count(&left));
        return best;
}

/* Takes each node out in turn and puts the cheapest one in. */
static bool growth_exchange(Growth *g) {
        bool better = false;

        for (size_t at = 0; at < g->n; at++) {
                const size_t node = g->nodes[at];
                PlanCost before, after;
                int next;

                if (id_set_has(&g->item->must, node))
                        continue;
                g->nodes[at] = g->nodes[--g->n];
                g->has.words[node / 64] &= ~(UINT64_C(1) << (node % 64));
                growth_count(g, node, -1);
                before = growth_price(g, node);
                next = growth_find_next(g, &after);
                if (placement_cost_compare(&after, &before) >= 0) {
                        growth_add(g, node);
                        continue;
                }
                growth_add(g, (size_t)next);
                better = true;
        }
        return better;
}

static PlanCost grow_best(Planner *planner, const PlanItem *item, NodeBits *ret) {
        PlanCost best = { 0 };
        bool found = false;

        for (uint32_t p = 0; p < (item->same_package ? planner->n_packages : 1); p++) {
                Growth g = { .planner = planner, .item = item };
                PlanCost cost;

                NODE_BITS_FOREACH(i, &item->feasible)
                if (!item->same_package || planner->nodes[i].package == p)
                        id_set_add(&g.room, (size_t)i);
                if (id_set_count(&g.room) < item->count || !id_set_is_subset(&item->must, &g.room))
                        continue;
                NODE_BITS_FOREACH(i, &item->must)
                growth_add(&g, (size_t)i);
                while (g.n < item->count)
                        growth_add(&g, (size_t)growth_find_next(&g, &cost));
                for (unsigned round = 0; round < EXCHANGE_ROUNDS && growth_exchange(&g); round++)
                        ;
                cost = placement_price(planner, item, &g.has);
                if (found && placement_cost_compare(&cost, &best) >= 0)
                        continue;
                found = true;
                best = cost;
                *ret = g.has;
        }
        return best;
}

static void take_if_better(const Planner *planner, const PlanItem *item, const NodeBits *nodes,
                           bool *found, PlanCost *best, NodeBits *ret) {
        const PlanCost cost = placement_price(planner, item, nodes);

        if (*found && placement_cost_compare(&cost, best) >= 0)
                return;
        *found = true;
        *best = cost;
        *ret = *nodes;
}

/* The best set for an item that is counted nowhere, and its price. */
static PlanCost find_best(Planner *planner, const PlanItem *item, NodeBits *ret) {
        const size_t n = item->choice->n_feasible;
        PlanCost best = { 0 };
        bool found = false;
        PlanSets sets;

        if (item->count > 1 && (n > SETS_MAX || n * planner->n_movable > SETS_OF_ALL))
                return grow_best(planner, item, ret);
        if (item->count == 1 && node_bits_next(&item->must, 0) < 0) {
                NODE_BITS_FOREACH(i, &item->feasible) {
                        NodeBits one = { 0 };

                        id_set_add(&one, (size_t)i);
                        take_if_better(planner, item, &one, &found, &best, ret);
                }
        } else {
                placement_sets_init(&sets, planner, item);
                while (placement_sets_next(&sets))
                        take_if_better(planner, item, &sets.nodes, &found, &best, ret);
        }
        planner_spend(planner, n * item->count);
        return best;
}

/* --- moves that make a plan better --- */

/* Puts the item to where it is cheapest if that, with `extra`, is better than where it is. */
static bool item_move(Planner *planner, PlanItem *item, const PlanCost *extra) {
        PlanCost now = take_and_price(planner, item), best;
        NodeBits nodes;
        bool better;

        best = find_best(planner, item, &nodes);
        cost_add(&best, extra);
        better = placement_cost_compare(&best, &now) < 0;
        placement_put(planner, item, better ? nodes : item->nodes);
        return better;
}

/* Does the item have all that it must of these feasible nodes, and are they in one socket? */
static bool item_may_have(const Planner *planner, const PlanItem *item, const NodeBits *nodes) {
        const int first = node_bits_next(nodes, 0);

        NODE_BITS_FOREACH(i, nodes)
        if (item->same_package && planner->nodes[i].package != planner->nodes[first].package)
                return false;
        return id_set_is_subset(&item->must, nodes);
}

/* The price of two items on these nodes together; neither is counted anywhere. */
static PlanCost price_both(Planner *planner, const PlanItem *a, const NodeBits *at_a,
                           const PlanItem *b, const NodeBits *at_b) {
        PlanCost cost = placement_price(planner, a, at_a), more;

        planner_count(planner, a, at_a, 1);
        more = placement_price(planner, b, at_b);
        planner_count(planner, a, at_a, -1);
        cost_add(&cost, &more);
        planner_spend(planner, 2 * (a->count + b->count));
        return cost;
}

/* Puts two items on these nodes if that costs less than where they are, or `at_most` as much. */
static bool item_move_both(Planner *planner, PlanItem *a, const NodeBits *to_a, PlanItem *b,
                           const NodeBits *to_b, bool at_most) {
        PlanCost now, then;
        int order;
        bool good;

        placement_take(planner, a);
        placement_take(planner, b);
        now = price_both(planner, a, &a->nodes, b, &b->nodes);
        then = price_both(planner, a, to_a, b, to_b);
        order = placement_cost_compare(&then, &now);
        good = order < 0 || (at_most && order == 0);
        placement_put(planner, a, good ? *to_a : a->nodes);
        placement_put(planner, b, good ? *to_b : b->nodes);
        return good;
}

static bool item_swap(Planner *planner, PlanItem *a, PlanItem *b) {
        const NodeBits at_a = a->nodes, at_b = b->nodes;

        planner_spend(planner, 1);
        return a->kind != b->kind && a->count == b->count && !id_set_equal(&at_a, &at_b) &&
               id_set_is_subset(&at_b, &a->feasible) && item_may_have(planner, a, &at_b) &&
               id_set_is_subset(&at_a, &b->feasible) && item_may_have(planner, b, &at_a) &&
               item_move_both(planner, a, &at_b, b, &at_a, false);
}

/* Puts the item on other nodes where one that is there can give way so that both are better off. */
static bool item_chain(Planner *planner, PlanItem *item) {
        const NodeBits before = item->nodes;
        const PlanCost now = take_and_price(planner, item);
        PlanSets sets;

        placement_sets_init(&sets, planner, item);
        while (planner->effort > 0 && placement_sets_next(&sets)) {
                PlanCost extra = placement_price(planner, item, &sets.nodes);

                if (extra.by[WEIGH_STABILITY] > now.by[WEIGH_STABILITY] ||
                    extra.by[WEIGH_DEVICE] > now.by[WEIGH_DEVICE])
                        continue;
                for (unsigned k = 0; k < N_CRITERIA; k++)
                        extra.by[k] -= now.by[k];
                placement_put(planner, item, sets.nodes);
                for (size_t i = 0; i < planner->n_movable && planner->effort > 0; i++) {
                        PlanItem *other = planner->movable[i];

                        if (other != item && id_set_intersects(&other->nodes, &sets.nodes) &&
                            item_move(planner, other, &extra))
                                return true;
                }
                placement_take(planner, item);
        }
        placement_put(planner, item, before);
        return false;
}

/* Puts an item of several nodes on these, and all items there get new places: no single move and no
 * swap can do that, because the numbers of nodes differ. */
static bool item_displace(Planner *planner, PlanItem *item, const NodeBits *nodes) {
        PlanItem *moved[DISPLACED_MOST] = { item };
        NodeBits saved[DISPLACED_MOST] = { item->nodes }, best;
        PlanCost before = { 0 }, after, cost;
        size_t n = 1;

        planner_spend(planner, planner->n_movable);
        for (size_t i = 0; i < planner->n_movable; i++) {
                PlanItem *other = planner->movable[i];

                if (other == item || !id_set_intersects(&other->nodes, nodes))
                        continue;
                if (n == DISPLACED_MOST)
                        return false;
                saved[n] = other->nodes;
                moved[n++] = other;
        }
        if (n == 1)
                return false;
        for (size_t i = 0; i < n; i++) {
                cost = take_and_price(planner, moved[i]);
                cost_add(&before, &cost);
        }
        after = placement_price(planner, item, nodes);
        placement_put(planner, item, *nodes);
        for (size_t i = 1; i < n; i++) {
                cost = find_best(planner, moved[i], &best);
                cost_add(&after, &cost);
                placement_put(planner, moved[i], best);
        }
        if (placement_cost_compare(&after, &before) < 0)
                return true;
        for (size_t i = 0; i < n; i++)
                placement_take(planner, moved[i]);
        for (size_t i = 0; i < n; i++)
                placement_put(planner, moved[i], saved[i]);
        return false;
}

/* Until nothing helps, or the effort is spent. */
static void planner_repair(Planner *planner) {
        PlanItem **movable = planner->movable;
        const size_t n = planner->n_movable;
        bool better = true;
        PlanSets sets;

        while (better && planner->effort > 0) {
                better = false;
                for (size_t i = 0; i < n && planner->effort > 0; i++)
                        better |= item_move(planner, movable[i], &(PlanCost){ 0 });
                if (better)
                        continue;
                for (size_t i = 0; i < n; i++)
                        for (size_t k = 0; k < i && planner->effort > 0; k++)
                                better |= item_swap(planner, movable[i], movable[k]);
                for (size_t i = 0; !better && i < n && planner->effort > 0; i++) {
                        if (movable[i]->count > 1) {
                                placement_sets_init(&sets, planner, movable[i]);
                                while (planner->effort > 0 && placement_sets_next(&sets))
                                        better |= item_displace(planner, movable[i], &sets.nodes);
                        }
                        better = better || item_chain(planner, movable[i]);
                }
        }
}

/* --- of plans with the same score the one that is the easiest to read: of interchangeable
 * instances the lower name gets the lower nodes, and none has nodes to both sides of another's for
 * nothing --- */

/* Of the nodes of both, the lower half to the one with the lower name. */
static bool items_deal_out(Planner *planner, PlanItem *lower, PlanItem *higher) {
        NodeBits low = { 0 }, high = { 0 }, both = lower->nodes;
        size_t n = 0;

        if (id_set_intersects(&lower->nodes, &higher->nodes))
                return false;
        id_set_union(&both, &higher->nodes);
        NODE_BITS_FOREACH(i, &both)
        id_set_add(n++ < lower->count ? &low : &high, (size_t)i);
        return !id_set_equal(&low, &lower->nodes) && item_may_have(planner, lower, &low) &&
               item_may_have(planner, higher, &high) &&
               item_move_both(planner, lower, &low, higher, &high, true);
}

static bool planner_canonicalize(Planner *planner) {
        PlanItem *items = planner->items;
        bool changed = false;

        for (size_t i = 0; i < planner->n_items; i++)
                for (size_t k = 0; items[i].movable && k < i; k++) {
                        PlanItem *lower = &items[k], *higher = &items[i];
                        NodeBits at_lower, at_higher, only_lower, only_higher;

                        if (!lower->movable || lower->kind != higher->kind)
                                continue;
                        if (higher->count > 1)
                                changed |= items_deal_out(planner, lower, higher);
                        at_lower = lower->nodes;
                        at_higher = higher->nodes;
                        only_lower = id_set_minus(&at_lower, &at_higher);
                        only_higher = id_set_minus(&at_higher, &at_lower);
                        if (node_bits_next(&only_higher, 0) < node_bits_next(&only_lower, 0)) {
                                lower->nodes = at_higher;
                                higher->nodes = at_lower;
                        }
                }
        return changed;
}

/* --- the whole --- */

static int compare_movable(const void *a, const void *b) {
        const PlanItem *x = *(PlanItem *const *)a, *y = *(PlanItem *const *)b;
        size_t n = id_set_count(&x->feasible), m = id_set_count(&y->feasible);

        if (x->has_device != y->has_device)
                return x->has_device ? -1 : 1;
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

void placement_search(Planner *planner, PlanCost *ret_total, size_t *ret_n_prices) {
        PlanItem *items = planner->items;
        PlanCost total = { 0 };
        NodeBits best;
        PlanSets sets;

        for (size_t i = 0; i < planner->n_items; i++) {
                if (items[i].movable)
                        planner->movable[planner->n_movable++] = &items[i];
                if (items[i].movable || items[i].settled) {
                        placement_sets_init(&sets, planner, &items[i]);
                        items[i].choice->n_feasible = sets_count(&sets);
                }
                if (items[i].placed)
                        placement_put(planner, &items[i], items[i].nodes);
        }
        if (planner->n_movable > 1)
                qsort(planner->movable, planner->n_movable, sizeof(planner->movable[0]),
                      compare_movable);
        for (size_t i = 0; i < planner->n_movable; i++) {
                (void)find_best(planner, planner->movable[i], &best);
                placement_put(planner, planner->movable[i], best);
        }
        planner->effort = EFFORT_MAX;
        planner_repair(planner);
        *ret_n_prices = EFFORT_MAX - planner->effort;
        for (unsigned round = 0; round < CANONICALIZE_ROUNDS && planner_canonicalize(planner);
             round++)
                ;
        /* Each pair is counted once, whatever the order in which they go. */
        for (size_t i = 0; i < planner->n_items; i++) {
                PlanCost cost;

                if (!items[i].placed && !items[i].movable)
                        continue;
                cost = take_and_price(planner, &items[i]);
                cost_add(&total, &cost);
        }
        for (size_t i = 0; i < planner->n_items; i++)
                if (items[i].placed || items[i].movable)
                        placement_put(planner, &items[i], items[i].nodes);
        *ret_total = total;
}
