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

/* More than any set of nodes costs, by the first criterion. */
#define DEAREST .by[0] = INT64_MAX

static void planner_spend(Planner *planner, size_t n) {
        planner->effort -= n < planner->effort ? n : planner->effort;
}

/* --- costs --- */

/* By the first `n` criteria. */
static int cost_compare_first(const PlanCost *a, const PlanCost *b, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                if (a->by[i] != b->by[i])
                        return a->by[i] < b->by[i] ? -1 : 1;
        return 0;
}

int placement_cost_compare(const PlanCost *a, const PlanCost *b) {
        return cost_compare_first(a, b, N_CRITERIA);
}

/* `ret` is `sum` and the price of node `i` for an item that is not counted there, as if the item
 * had no other node in the socket, and without the distance. The criteria up to the spread apart:
 * most nodes lose by one of them, and the others need not be computed. */
static inline void price_node_first(const Planner *planner, const PlanItem *item, size_t i,
                                    const PlanCost *sum, PlanCost *ret) {
        const PlanNode *node = &planner->nodes[i];

        ret->by[WEIGH_STABILITY] = sum->by[WEIGH_STABILITY] - id_set_has(&item->former, i);
        ret->by[WEIGH_DEVICE] = sum->by[WEIGH_DEVICE] + item->device[i];
        ret->by[WEIGH_EXCLUSIVE] =
                sum->by[WEIGH_EXCLUSIVE] + (item->exclusive ? node->n_exclusive : 0);
        ret->by[WEIGH_POLICY] = sum->by[WEIGH_POLICY] + planner->policies[item->policy_index].on[i];
        ret->by[WEIGH_RESERVED] = sum->by[WEIGH_RESERVED] + node->reserved;
        ret->by[WEIGH_SPREAD] =
                sum->by[WEIGH_SPREAD] + placement_price_package(planner, item, node->package);
}

static inline void price_node_then(const Planner *planner, const PlanItem *item, size_t i,
                                   const PlanCost *sum, PlanCost *ret) {
        const PlanNode *node = &planner->nodes[i];
        /* by which the square of the sum grows */
        uint64_t squares = item->weight * (2 * node->weight + item->weight), missing_mib = 0;

        for (size_t p = 0; p < node->n_pools; p++) {
                const uint64_t used = node->used_mib[p], free_mib = node->free_mib[p],
                               more = item->share_mib[p];

                if (used + more > free_mib)
                        missing_mib += used >= free_mib ? more : used + more - free_mib;
        }
        ret->by[WEIGH_MEMORY] = sum->by[WEIGH_MEMORY] + (int64_t)missing_mib;
        ret->by[WEIGH_ROOM] = sum->by[WEIGH_ROOM] + (int64_t)(squares * node->room_part);
        ret->by[WEIGH_ASIDE] = sum->by[WEIGH_ASIDE] + (item->exclusive ? node->n_aside
                                                       : item->aside   ? node->n_exclusive
                                                                       : 0);
        ret->by[WEIGH_LOAD] = sum->by[WEIGH_LOAD] + (int64_t)(squares * node->cpu_part);
        ret->by[WEIGH_MOVE] = sum->by[WEIGH_MOVE] - item->at_mib[i];
        ret->by[WEIGH_NUMBER] = sum->by[WEIGH_NUMBER] + (int64_t)i;
}

void placement_price(const Planner *planner, const PlanItem *item, const NodeBits *nodes,
                     PlanCost *sum) {
        uint16_t before[PLACEMENT_NODES_MAX];
        size_t n = 0;

        NODE_BITS_FOREACH(i, nodes) {
                const uint32_t package = planner->nodes[i].package;
                const int64_t spread = sum->by[WEIGH_SPREAD];

                price_node_first(planner, item, (size_t)i, sum, sum);
                price_node_then(planner, item, (size_t)i, sum, sum);
                for (size_t k = 0; k < n; k++) {
                        if (planner->nodes[before[k]].package == package)
                                sum->by[WEIGH_SPREAD] = spread;
                        sum->by[WEIGH_DISTANCE] +=
                                placement_distance(planner, (size_t)i, before[k]) +
                                placement_distance(planner, before[k], (size_t)i);
                }
                before[n++] = (uint16_t)i;
        }
}

/* Counts an item on nodes: `by` 1, or -1 when it is taken away. */
static void planner_count(Planner *planner, const PlanItem *item, const NodeBits *nodes, int by) {
        PlanPolicy *policy = &planner->policies[item->policy_index];
        NodeBits packages = { 0 };

        NODE_BITS_FOREACH(i, nodes) {
                PlanNode *node = &planner->nodes[i];

                node->n_all += (uint32_t)by;
                node->n_exclusive += item->exclusive ? (uint32_t)by : 0;
                node->n_aside += item->aside ? (uint32_t)by : 0;
                node->weight += item->weight * (uint64_t)by;
                policy->on[i] += (uint32_t)by;
                for (size_t p = 0; p < node->n_pools; p++)
                        node->used_mib[p] += item->share_mib[p] * (uint64_t)by;
                if (id_set_has(&packages, node->package))
                        continue;
                id_set_add(&packages, node->package);
                policy->in[node->package] += (uint32_t)by;
                planner->packages[node->package].n_exclusive += item->exclusive ? (uint32_t)by : 0;
        }
}

void placement_put(Planner *planner, PlanItem *item, NodeBits nodes) {
        item->nodes = nodes;
        planner_count(planner, item, &nodes, 1);
}

void placement_take(Planner *planner, const PlanItem *item) {
        planner_count(planner, item, &item->nodes, -1);
}

static void take_and_price(Planner *planner, const PlanItem *item, PlanCost *sum) {
        placement_take(planner, item);
        placement_price(planner, item, &item->nodes, sum);
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
        const int must = node_bits_next(&item->must, 0);

        sets->planner = planner;
        sets->item = item;
        sets->n_pool = 0;
        sets->n_chosen = item->count - id_set_count(&item->must);
        sets->begun = false;
        sets->seeds = item->choice->n_feasible > SETS_MAX;
        for (uint32_t p = 0; p < (item->same_package ? planner->n_packages : 1); p++) {
                NodeBits rest = id_set_minus(&item->feasible, &item->must);

                if (item->same_package && must >= 0 && planner->nodes[must].package != p)
                        continue;
                if (item->same_package)
                        id_set_intersect(&rest, &planner->packages[p].nodes);
                NODE_BITS_FOREACH(i, &rest)
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

/* Of these nodes the one that would add least to a set (NULL: an empty one), if that is less than
 * `best`; else -1. */
static int find_next(const Planner *planner, const PlanItem *item, const Growth *set,
                     const NodeBits *nodes, PlanCost *best) {
        const PlanCost nothing = { 0 };
        int next = -1;

        NODE_BITS_FOREACH(i, nodes) {
                PlanCost cost;

                price_node_first(planner, item, (size_t)i, &nothing, &cost);
                if (set && set->touched[planner->nodes[i].package] > 0)
                        cost.by[WEIGH_SPREAD] = 0;
                if (cost_compare_first(&cost, best, WEIGH_SPREAD + 1) > 0)
                        continue;
                price_node_then(planner, item, (size_t)i, &nothing, &cost);
                cost.by[WEIGH_DISTANCE] = set ? set->inner[i] : 0;
                if (placement_cost_compare(&cost, best) >= 0)
                        continue;
                next = i;
                *best = cost;
        }
        return next;
}

/* Of all nodes that are not in the set. */
static int growth_find_next(const Growth *g, PlanCost *best) {
        const NodeBits left = id_set_minus(&g->room, &g->has);

        planner_spend(g->planner, id_set_count(&left));
        return find_next(g->planner, g->item, g, &left, best);
}

/* Takes each node out in turn and puts the cheapest one in, if that costs less than the same. */
static bool growth_exchange(Growth *g) {
        bool better = false;

        for (size_t at = 0; at < g->n; at++) {
                const size_t node = g->nodes[at];
                PlanCost cost = { DEAREST };
                NodeBits out = { 0 };
                int next;

                if (id_set_has(&g->item->must, node))
                        continue;
                g->nodes[at] = g->nodes[--g->n];
                g->has.words[node / 64] &= ~(UINT64_C(1) << (node % 64));
                growth_count(g, node, -1);
                id_set_add(&out, node);
                (void)find_next(g->planner, g->item, g, &out, &cost);
                next = growth_find_next(g, &cost);
                growth_add(g, next < 0 ? node : (size_t)next);
                better |= next >= 0;
        }
        return better;
}

static bool grow_best(Planner *planner, const PlanItem *item, PlanCost *best, NodeBits *ret) {
        bool found = false;

        for (uint32_t p = 0; p < (item->same_package ? planner->n_packages : 1); p++) {
                Growth g = { .planner = planner, .item = item, .room = item->feasible };
                PlanCost cost = { 0 };

                if (item->same_package)
                        id_set_intersect(&g.room, &planner->packages[p].nodes);
                if (id_set_count(&g.room) < item->count || !id_set_is_subset(&item->must, &g.room))
                        continue;
                NODE_BITS_FOREACH(i, &item->must)
                growth_add(&g, (size_t)i);
                while (g.n < item->count)
                        growth_add(&g, (size_t)growth_find_next(&g, &(PlanCost){ DEAREST }));
                for (unsigned round = 0; round < EXCHANGE_ROUNDS && growth_exchange(&g); round++)
                        ;
                placement_price(planner, item, &g.has, &cost);
                if (placement_cost_compare(&cost, best) >= 0)
                        continue;
                found = true;
                *best = cost;
                *ret = g.has;
        }
        return found;
}

/* The only nodes that are worth a try for an item of one node: the others cost more by what it is
 * bound to or by its devices, which are compared first and for which other items do not matter. */
static NodeBits item_nearest(const PlanItem *item) {
        NodeBits nearest = { 0 };
        uint64_t least = UINT64_MAX;

        if (item->count > 1 || !id_set_is_empty(&item->must))
                return item->feasible;
        NODE_BITS_FOREACH(i, &item->feasible) {
                const bool given_up = !id_set_has(&item->former, i);
                const uint64_t cost = (uint64_t)given_up << 32 | item->device[i];

                if (cost < least)
                        nearest = (NodeBits){ 0 };
                if (cost <= least)
                        id_set_add(&nearest, (size_t)i);
                least = cost < least ? cost : least;
        }
        return nearest;
}

/* The best set for an item that is counted nowhere, and its price, if it costs less than `best`. */
static bool find_best(Planner *planner, const PlanItem *item, PlanCost *best, NodeBits *ret) {
        const size_t n = item->choice->n_feasible;
        bool found = false;
        PlanSets sets;

        if (item->count > 1 && (n > SETS_MAX || n * planner->n_movable > SETS_OF_ALL))
                return grow_best(planner, item, best, ret);
        if (item->count == 1 && node_bits_next(&item->must, 0) < 0) {
                const int node = find_next(planner, item, NULL, &item->nearest, best);

                planner_spend(planner, n);
                if (node < 0)
                        return false;
                *ret = (NodeBits){ 0 };
                id_set_add(ret, (size_t)node);
                return true;
        }
        placement_sets_init(&sets, planner, item);
        while (placement_sets_next(&sets)) {
                PlanCost cost = { 0 };

                placement_price(planner, item, &sets.nodes, &cost);
                if (placement_cost_compare(&cost, best) >= 0)
                        continue;
                found = true;
                *best = cost;
                *ret = sets.nodes;
        }
        planner_spend(planner, n * item->count);
        return found;
}

/* --- moves that make a plan better --- */

/* Puts the item to where it is cheapest if it loses less than `gain` by that. */
static bool item_move(Planner *planner, PlanItem *item, PlanCost gain) {
        NodeBits nodes = item->nodes;
        bool better;

        take_and_price(planner, item, &gain);
        better = find_best(planner, item, &gain, &nodes);
        placement_put(planner, item, nodes);
        return better;
}

/* Are these nodes, so many as it has, a feasible set of the item? */
static bool item_may_have(const Planner *planner, const PlanItem *item, const NodeBits *nodes) {
        const uint32_t package = planner->nodes[node_bits_next(nodes, 0)].package;

        return id_set_is_subset(nodes, &item->feasible) && id_set_is_subset(&item->must, nodes) &&
               (!item->same_package || id_set_is_subset(nodes, &planner->packages[package].nodes));
}

/* Puts two items on these nodes if that costs less than where they are, or `at_most` as much. */
static bool item_move_both(Planner *planner, PlanItem *a, const NodeBits *to_a, PlanItem *b,
                           const NodeBits *to_b, bool at_most) {
        const NodeBits at_a = a->nodes, at_b = b->nodes;
        PlanCost now = { 0 }, then = { 0 };
        int order;
        bool good;

        planner_spend(planner, 4 * (a->count + b->count));
        if (!id_set_is_subset(to_a, &a->nearest) || !id_set_is_subset(to_b, &b->nearest))
                return false;
        take_and_price(planner, b, &now);
        take_and_price(planner, a, &now);
        placement_price(planner, a, to_a, &then);
        placement_put(planner, a, *to_a);
        placement_price(planner, b, to_b, &then);
        order = placement_cost_compare(&then, &now);
        good = order < 0 || (at_most && order == 0);
        if (!good) {
                placement_take(planner, a);
                placement_put(planner, a, at_a);
        }
        placement_put(planner, b, good ? *to_b : at_b);
        return good;
}

static bool item_swap(Planner *planner, PlanItem *a, PlanItem *b) {
        const NodeBits at_a = a->nodes, at_b = b->nodes;

        planner_spend(planner, 1);
        return a->kind != b->kind && a->count == b->count && !id_set_equal(&at_a, &at_b) &&
               item_may_have(planner, a, &at_b) && item_may_have(planner, b, &at_a) &&
               item_move_both(planner, a, &at_b, b, &at_a, false);
}

/* Puts the item on other nodes where one that is there can give way, for which in turn another may
 * have to: `n_links` items move. `gain` is what was won already by the links before. */
static bool item_chain(Planner *planner, PlanItem *item, unsigned n_links, PlanCost gain) {
        const NodeBits before = item->nodes;
        PlanSets sets;

        take_and_price(planner, item, &gain);
        placement_sets_init(&sets, planner, item);
        while (planner->effort > 0 && placement_sets_next(&sets)) {
                PlanCost cost = { 0 }, left;

                placement_price(planner, item, &sets.nodes, &cost);
                planner_spend(planner, item->count);
                for (unsigned k = 0; k < N_CRITERIA; k++)
                        left.by[k] = gain.by[k] - cost.by[k];
                if (left.by[WEIGH_STABILITY] < 0 || left.by[WEIGH_DEVICE] < 0)
                        continue;
                placement_put(planner, item, sets.nodes);
                for (size_t i = 0; i < planner->n_movable && planner->effort > 0; i++) {
                        PlanItem *other = planner->movable[i];

                        if (other != item && id_set_intersects(&other->nodes, &sets.nodes) &&
                            (n_links > 2 ? item_chain(planner, other, n_links - 1, left)
                                         : item_move(planner, other, left)))
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
        PlanCost before = { 0 }, after = { 0 };
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
        for (size_t i = 0; i < n; i++)
                take_and_price(planner, moved[i], &before);
        placement_price(planner, item, nodes, &after);
        placement_put(planner, item, *nodes);
        for (size_t i = 1; i < n; i++) {
                PlanCost cost = { DEAREST };

                (void)find_best(planner, moved[i], &cost, &best);
                for (unsigned k = 0; k < N_CRITERIA; k++)
                        after.by[k] += cost.by[k];
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
                        better |= item_move(planner, movable[i], (PlanCost){ 0 });
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
                        better = better || item_chain(planner, movable[i], 2, (PlanCost){ 0 });
                }
                /* For lower numbers alone three are not moved: no plan is easier to read by it. */
                for (size_t i = 0; !better && i < n && planner->effort > 0; i++)
                        better = item_chain(planner, movable[i], 3,
                                            (PlanCost){ .by[WEIGH_NUMBER] = -INT32_MAX });
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
                if (items[i].movable) {
                        planner->movable[planner->n_movable++] = &items[i];
                        items[i].nearest = item_nearest(&items[i]);
                }
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
                PlanCost cost = { DEAREST };

                (void)find_best(planner, planner->movable[i], &cost, &best);
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
                if (!items[i].placed && !items[i].movable)
                        continue;
                take_and_price(planner, &items[i], &total);
                total.by[WEIGH_STABILITY] += items[i].n_former;
                total.by[WEIGH_MOVE] += items[i].all_mib;
        }
        for (size_t i = 0; i < planner->n_items; i++)
                if (items[i].placed || items[i].movable)
                        placement_put(planner, &items[i], items[i].nodes);
        *ret_total = total;
}
