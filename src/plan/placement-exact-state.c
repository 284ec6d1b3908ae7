/* States of the small problem, and how a step changes them. */
#include <string.h>

#include "tidbnumad/plan/placement-exact.h"

static void load_policy(const Exact *exact, size_t layer, ExactKey *key) {
        const PlanCounts *counts = &exact->search->counts;
        uint32_t policy = exact->items[layer].item->policy_index;
        const uint32_t *at = &counts->of_policy[policy * counts->problem->n_nodes];
        const uint32_t *in = &counts->of_policy_in[policy * counts->problem->n_packages];

        for (size_t i = 0; i < exact->n_nodes; i++)
                key->of_policy[i] = (uint8_t)at[exact->of_node[i]];
        for (size_t p = 0; p < exact->n_packages; p++)
                key->of_policy_in[p] = (uint8_t)in[exact->of_package[p]];
}

/* Forgets what no item from `layer` on can see, so that more states are the same. */
static void forget(const Exact *exact, size_t layer, ExactKey *key) {
        const ExactLayer *l = &exact->layers[layer];

        for (size_t i = 0; i < exact->n_nodes; i++) {
                if (!(l->reach >> i & 1))
                        key->all[i] = 0;
                if (!(l->reach_exclusive >> i & 1))
                        key->exclusive[i] = 0;
                if (!(l->reach_policy >> i & 1))
                        key->of_policy[i] = 0;
                if (key->room_mib[i] > l->most_mib[i])
                        key->room_mib[i] = (uint32_t)l->most_mib[i];
        }
        for (size_t p = 0; p < exact->n_packages; p++) {
                if (l->cap_in[p] == 0)
                        key->exclusive_in[p] = 0;
                if (l->cap_policy_in[p] == 0)
                        key->of_policy_in[p] = 0;
        }
}

ExactKey placement_exact_root(const Exact *exact) {
        const PlanCounts *counts = &exact->search->counts;
        ExactKey key = { 0 };

        for (size_t i = 0; i < exact->n_nodes; i++) {
                const PlanNode *node = &counts->problem->nodes[exact->of_node[i]];
                uint64_t used = counts->used_mib[exact->of_node[i]];
                uint64_t room = node->free_mib > used ? node->free_mib - used : 0;

                key.room_mib[i] = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
                key.all[i] = (uint8_t)counts->all[exact->of_node[i]];
                key.exclusive[i] = (uint8_t)counts->exclusive[exact->of_node[i]];
        }
        for (size_t p = 0; p < exact->n_packages; p++)
                key.exclusive_in[p] = (uint8_t)counts->exclusive_in[exact->of_package[p]];
        if (exact->n_items > 0)
                load_policy(exact, 0, &key);
        forget(exact, 0, &key);
        return key;
}

static void step_node(const Exact *exact, const PlanItem *item, size_t i, ExactKey *key,
                      uint64_t *by) {
        uint64_t more = item->share_mib, room = key->room_mib[i];

        by[WEIGH_POLICY - EXACT_FIRST] += key->of_policy[i]++;
        by[WEIGH_LOAD - EXACT_FIRST] += 2 * exact->weight[i] * key->all[i]++;
        by[WEIGH_MEMORY - EXACT_FIRST] += more > room ? more - room : 0;
        key->room_mib[i] -= (uint32_t)(more < room ? more : room);
        if (item->exclusive)
                by[WEIGH_EXCLUSIVE - EXACT_FIRST] += key->exclusive[i]++;
}

void placement_exact_step(const Exact *exact, size_t layer, const ExactSet *set, ExactKey *key,
                          ExactScore *score) {
        const PlanItem *item = exact->items[layer].item;
        uint64_t *by = score->by;

        for (uint32_t bits = set->nodes; bits; bits &= bits - 1)
                step_node(exact, item, (size_t)__builtin_ctz(bits), key, by);
        for (uint32_t bits = set->packages; bits; bits &= bits - 1) {
                size_t p = (size_t)__builtin_ctz(bits);

                by[WEIGH_SPREAD - EXACT_FIRST] += key->of_policy_in[p]++;
                if (item->exclusive)
                        by[WEIGH_SPREAD - EXACT_FIRST] += key->exclusive_in[p]++;
        }
        by[WEIGH_RESERVED - EXACT_FIRST] += set->reserved;
        by[WEIGH_DISTANCE - EXACT_FIRST] += set->distance;
        by[WEIGH_NUMBER - EXACT_FIRST] += set->number;
        if (layer + 1 < exact->n_items &&
            exact->items[layer + 1].item->policy_index != item->policy_index)
                load_policy(exact, layer + 1, key);
        forget(exact, layer + 1, key);
}
