/* The small problem: nodes and sockets anew by index, the sets of each item, and what is known of
 * the items from one on. */
#include "tidbnumad/plan/placement-exact.h"

int placement_exact_score_compare(const ExactScore *a, const ExactScore *b) {
        for (unsigned i = 0; i < EXACT_CRITERIA; i++)
                if (a->by[i] != b->by[i])
                        return a->by[i] < b->by[i] ? -1 : 1;
        return 0;
}

/* --- nodes --- */

static uint8_t find_package(Exact *exact, uint32_t package) {
        for (size_t p = 0; p < exact->n_packages; p++)
                if (exact->of_package[p] == package)
                        return (uint8_t)p;
        exact->of_package[exact->n_packages] = package;
        return (uint8_t)exact->n_packages++;
}

static int build_nodes(Exact *exact) {
        const PlanProblem *problem = exact->search->problem;
        NodeBits open = { 0 };

        for (size_t i = 0; i < exact->search->n_movable; i++)
                for (size_t w = 0; w < NODE_BITS_WORDS; w++)
                        open.words[w] |= exact->search->movable[i]->open.words[w];
        if (node_bits_count(&open) > EXACT_NODES_MAX)
                return -E2BIG;
        NODE_BITS_FOREACH(i, &open) {
                size_t n = exact->n_nodes++;

                exact->of_node[n] = (uint16_t)i;
                exact->package[n] = find_package(exact, problem->nodes[i].package);
                exact->weight[n] = problem->nodes[i].load_weight;
                exact->reserved[n] = problem->nodes[i].reserved;
        }
        return 0;
}

/* --- items --- */

/* Exclusive ones first; then policy by policy, those with fewer nodes to choose from first; equal
 * ones together. */
static size_t open_to_policy(const Exact *exact, const PlanItem *item) {
        size_t least = SIZE_MAX;

        for (size_t i = 0; i < exact->search->n_movable; i++) {
                const PlanItem *other = exact->search->movable[i];
                size_t n = node_bits_count(&other->open);

                if (other->policy_index == item->policy_index && n < least)
                        least = n;
        }
        return least;
}

static bool goes_before(const Exact *exact, const PlanItem *a, const PlanItem *b) {
        size_t n = open_to_policy(exact, a), m = open_to_policy(exact, b);

        if (a->exclusive != b->exclusive)
                return a->exclusive;
        if (a->policy_index != b->policy_index)
                return n != m ? n < m : a->policy_index < b->policy_index;
        n = node_bits_count(&a->open);
        m = node_bits_count(&b->open);
        if (a->kind != b->kind)
                return n != m ? n < m : a->kind < b->kind;
        return a < b;
}

static int order_items(Exact *exact) {
        if (exact->search->n_movable > EXACT_ITEMS_MAX)
                return -E2BIG;
        for (size_t i = 0; i < exact->search->n_movable; i++) {
                PlanItem *item = exact->search->movable[i];
                size_t at = i;

                for (; at > 0 && goes_before(exact, item, exact->items[at - 1].item); at--)
                        exact->items[at] = exact->items[at - 1];
                exact->items[at] = (ExactItem){ .item = item };
        }
        exact->n_items = exact->search->n_movable;
        return 0;
}

static ExactSet describe_set(const Exact *exact, const PlanCost *cost, const uint16_t *nodes,
                             size_t n) {
        ExactSet set = { .reserved = (uint32_t)cost->by[WEIGH_RESERVED],
                         .distance = (uint32_t)cost->by[WEIGH_DISTANCE],
                         .number = (uint32_t)cost->by[WEIGH_NUMBER] };

        for (size_t k = 0; k < n; k++)
                for (size_t i = 0; i < exact->n_nodes; i++)
                        if (exact->of_node[i] == nodes[k]) {
                                set.nodes |= (uint16_t)(1u << i);
                                set.packages |= (uint16_t)(1u << exact->package[i]);
                        }
        return set;
}

static int compare_first(const PlanCost *a, const PlanCost *b) {
        for (unsigned i = 0; i < EXACT_FIRST; i++)
                if (a->by[i] != b->by[i])
                        return a->by[i] < b->by[i] ? -1 : 1;
        return 0;
}

/* The sets that are best by the criteria that do not depend on other items. */
static int build_sets(Exact *exact, ExactItem *e) {
        PlanSets *sets = &exact->search->sets[e->item - exact->search->problem->items];
        PlanCost best = { 0 };

        if (sets->seeds)
                return -E2BIG;
        e->sets = calloc(placement_sets_count(sets), sizeof(e->sets[0]));
        e->owns_sets = true;
        if (!e->sets)
                return -ENOMEM;
        placement_sets_rewind(sets);
        while (placement_sets_next(sets)) {
                PlanCost cost = placement_counts_price(&exact->search->counts, e->item, sets->nodes,
                                                       sets->n_nodes);
                int order = e->n_sets ? compare_first(&cost, &best) : -1;

                if (order > 0)
                        continue;
                e->n_sets = order < 0 ? 0 : e->n_sets;
                best = cost;
                e->sets[e->n_sets] = describe_set(exact, &cost, sets->nodes, sets->n_nodes);
                e->n_sets++;
        }
        for (size_t i = 0; i < e->n_sets; i++)
                e->nodes |= e->sets[i].nodes;
        return 0;
}

static int build_items(Exact *exact) {
        for (size_t i = 0; i < exact->n_items; i++) {
                ExactItem *e = &exact->items[i];
                int r = 0;

                if (i > 0 && e->item->kind == e[-1].item->kind)
                        *e = (ExactItem){ .item = e->item,
                                          .sets = e[-1].sets,
                                          .n_sets = e[-1].n_sets,
                                          .nodes = e[-1].nodes };
                else
                        r = build_sets(exact, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- layers --- */

static void add_caps(uint8_t *caps, uint16_t bits) {
        for (size_t i = 0; i < EXACT_NODES_MAX; i++)
                caps[i] += bits >> i & 1;
}

static uint16_t packages_of(const ExactItem *e) {
        uint16_t packages = 0;

        for (size_t i = 0; i < e->n_sets; i++)
                packages |= e->sets[i].packages;
        return packages;
}

/* Keeps the shares in the order of their size, the largest first, as sums. */
static void add_share(ExactLayer *layer, size_t n, uint64_t mib) {
        for (size_t i = 0; i < n; i++) {
                uint64_t share = layer->top_mib[i + 1] - layer->top_mib[i];

                if (share >= mib)
                        continue;
                for (size_t k = n; k > i; k--)
                        layer->top_mib[k + 1] = layer->top_mib[k] + mib;
                layer->top_mib[i + 1] = layer->top_mib[i] + mib;
                return;
        }
        layer->top_mib[n + 1] = layer->top_mib[n] + mib;
}

static size_t least_touched(const ExactItem *e) {
        int least = EXACT_NODES_MAX;

        for (size_t i = 0; i < e->n_sets; i++) {
                int n = __builtin_popcount(e->sets[i].packages);

                least = n < least ? n : least;
        }
        return (size_t)least;
}

static void add_of_policy(const ExactItem *e, ExactLayer *layer) {
        layer->reach_policy |= e->nodes;
        layer->n_policy += e->item->count;
        layer->n_touch_policy += least_touched(e);
        add_caps(layer->cap_policy, e->nodes);
        add_caps(layer->cap_policy_in, packages_of(e));
}

static void add_to_layer(const ExactItem *e, ExactLayer *layer) {
        layer->reach |= e->nodes;
        layer->n += e->item->count;
        layer->need_mib += e->item->share_mib * e->item->count;
        add_caps(layer->cap, e->nodes);
        for (size_t i = 0; i < EXACT_NODES_MAX; i++)
                layer->most_mib[i] += e->nodes >> i & 1 ? e->item->share_mib : 0;
        if (!e->item->exclusive) {
                layer->most_shared_mib += e->item->share_mib;
                return;
        }
        layer->reach_exclusive |= e->nodes;
        layer->n_exclusive += e->item->count;
        layer->n_touch += least_touched(e);
        add_caps(layer->cap_exclusive, e->nodes);
        add_caps(layer->cap_in, packages_of(e));
}

static void build_layer(Exact *exact, size_t i) {
        ExactLayer *layer = &exact->layers[i];
        size_t n = 0;

        for (size_t k = i; k < exact->n_items; k++) {
                const PlanItem *item = exact->items[k].item;

                if (item->exclusive)
                        add_share(layer, n++, item->share_mib);
                add_to_layer(&exact->items[k], layer);
                if (item->policy_index == exact->items[i].item->policy_index)
                        add_of_policy(&exact->items[k], layer);
        }
}

static int build_layers(Exact *exact) {
        for (size_t i = 0; i < exact->n_items; i++) {
                build_layer(exact, i);
                for (size_t k = 0; k < exact->n_nodes; k++)
                        if (exact->layers[i].most_mib[k] > UINT32_MAX)
                                return -E2BIG;
        }
        for (size_t k = 1; k <= EXACT_ITEMS_MAX; k++)
                for (size_t i = 0; i < exact->n_items; i++)
                        if (exact->layers[i].top_mib[k] < exact->layers[i].top_mib[k - 1])
                                exact->layers[i].top_mib[k] = exact->layers[i].top_mib[k - 1];
        placement_exact_build_bounds(exact);
        return 0;
}

/* Numbers of the fixed items that a key can hold, with those to come. */
static bool is_within_keys(const Exact *exact) {
        const PlanCounts *counts = &exact->search->counts;

        for (size_t i = 0; i < exact->n_nodes; i++)
                if (counts->all[exact->of_node[i]] > UINT8_MAX - EXACT_ITEMS_MAX)
                        return false;
        for (size_t p = 0; p < exact->n_packages; p++)
                if (counts->exclusive_in[exact->of_package[p]] > UINT8_MAX - EXACT_ITEMS_MAX)
                        return false;
        return true;
}

/* The score of the plan at hand, by the same steps. */
static void score_known(Exact *exact) {
        ExactKey key = placement_exact_root(exact);

        for (size_t i = 0; i < exact->n_items; i++) {
                const ExactItem *e = &exact->items[i];
                const ExactSet *found = NULL;
                ExactSet at =
                        describe_set(exact, &(PlanCost){ 0 }, e->item->nodes, e->item->n_nodes);

                for (size_t k = 0; k < e->n_sets; k++)
                        if (e->sets[k].nodes == at.nodes)
                                found = &e->sets[k];
                if (found)
                        placement_exact_step(exact, i, found, &key, &exact->known);
                else
                        exact->known.by[0] = UINT32_MAX;
        }
}

int placement_exact_build(PlanSearch *search, Exact *ret) {
        _cleanup_placement_exact_ Exact exact = { .search = search };
        int r = build_nodes(&exact);

        if (r >= 0)
                r = order_items(&exact);
        if (r >= 0)
                r = is_within_keys(&exact) ? build_items(&exact) : -E2BIG;
        if (r >= 0)
                r = build_layers(&exact);
        if (r < 0)
                return r;
        score_known(&exact);
        *ret = exact;
        exact = (Exact){ 0 };
        return 0;
}

void placement_exact_done(Exact *exact) {
        for (size_t i = 0; i < exact->n_items; i++)
                if (exact->items[i].owns_sets)
                        free(exact->items[i].sets);
        *exact = (Exact){ 0 };
}
