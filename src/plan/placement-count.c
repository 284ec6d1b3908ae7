/* `count: auto`: the nodes that are left for a policy, divided by its instances. */
#include "tidbnumad/plan/placement-problem.h"

/* Nodes of exclusive instances that stay where they are. */
static NodeBits taken_nodes(const PlanProblem *problem) {
        NodeBits taken = { 0 };

        for (size_t i = 0; i < problem->n_items; i++)
                for (size_t k = 0; problem->items[i].exclusive && k < problem->items[i].n_nodes;
                     k++)
                        id_set_add(&taken, problem->items[i].nodes[k]);
        return taken;
}

static NodeBits left_for(const PlanProblem *problem, const PlanItem *item, const NodeBits *taken) {
        NodeBits left = node_bits_minus(&item->open, &problem->reserved);

        return node_bits_minus(&left, taken);
}

/* So many of `left` the instances of one other policy will need: those with a count, less what else
 * is open to them. */
static size_t count_wanted(const PlanProblem *problem, uint32_t policy, const NodeBits *left,
                           const NodeBits *taken) {
        NodeBits all = { 0 }, elsewhere;
        size_t wanted = 0, n, n_elsewhere;

        for (size_t i = 0; i < problem->n_items; i++) {
                const PlanItem *item = &problem->items[i];
                NodeBits of;

                if (item->policy_index != policy || !item->movable || !item->exclusive ||
                    item->auto_count)
                        continue;
                of = left_for(problem, item, taken);
                id_set_union(&all, &of);
                wanted += item->count;
        }
        elsewhere = node_bits_minus(&all, left);
        n = id_set_count(&all);
        n_elsewhere = id_set_count(&elsewhere);
        wanted = wanted < n ? wanted : n;
        return wanted > n_elsewhere ? wanted - n_elsewhere : 0;
}

/* Those it divides with: of its own policy, and exclusive ones of others that divide as well. */
static size_t count_sharers(const PlanProblem *problem, const PlanItem *item, const NodeBits *left,
                            const NodeBits *taken) {
        size_t n = 0;

        for (size_t i = 0; i < problem->n_items; i++) {
                const PlanItem *other = &problem->items[i];
                NodeBits of;

                if (!other->movable || !other->auto_count)
                        continue;
                of = left_for(problem, other, taken);
                n += other->policy_index == item->policy_index ||
                     (item->exclusive && other->exclusive && id_set_intersects(&of, left));
        }
        return n;
}

/* Can `n` instances have `count` of these each, apart from each other and each within a socket? */
static bool fit_packages(const PlanProblem *problem, const NodeBits *left, size_t count, size_t n) {
        uint16_t of[PLACEMENT_NODES_MAX] = { 0 };
        size_t sets = 0;

        ID_SET_FOREACH(i, left)
        sets += ++of[problem->nodes[i].package] % count == 0;
        return sets >= n;
}

/* The most nodes that one of its sets can have. */
static size_t count_most(const PlanProblem *problem, const PlanItem *item) {
        uint16_t of[PLACEMENT_NODES_MAX] = { 0 };
        size_t most = 0;

        if (!item->same_package)
                return id_set_count(&item->open);
        ID_SET_FOREACH(i, &item->open) {
                uint32_t package = problem->nodes[i].package;
                int must = id_set_next(&item->must, 0);

                of[package]++;
                if (of[package] > most && (must < 0 || problem->nodes[must].package == package))
                        most = of[package];
        }
        return most;
}

static size_t choose_count(const PlanProblem *problem, const PlanItem *item,
                           const NodeBits *taken) {
        NodeBits left = left_for(problem, item, taken);
        size_t n_left = id_set_count(&left), n_must = id_set_count(&item->must);
        size_t n = count_sharers(problem, item, &left, taken), wanted = 0, count;
        size_t most = count_most(problem, item);

        for (uint32_t p = 0; p < problem->n_policies; p++)
                if (p != item->policy_index)
                        wanted += count_wanted(problem, p, &left, taken);
        count = (n_left > wanted ? n_left - wanted : 0) / n;
        count = count < most ? count : most;
        while (item->same_package && count > 1 && !fit_packages(problem, &left, count, n))
                count--;
        if (count < n_must)
                count = n_must;
        return count ? count : 1;
}

static const PlanItem *find_alike(const PlanProblem *problem, size_t i) {
        const PlanItem *item = &problem->items[i];

        for (size_t k = 0; k < i; k++) {
                const PlanItem *other = &problem->items[k];

                if (other->movable && other->policy_index == item->policy_index &&
                    id_set_equal(&other->open, &item->open))
                        return other;
        }
        return NULL;
}

void placement_open_counts(PlanProblem *problem) {
        NodeBits taken = taken_nodes(problem);

        for (size_t i = 0; i < problem->n_items; i++) {
                PlanItem *item = &problem->items[i];
                const PlanItem *alike;

                if (!item->movable || !item->auto_count)
                        continue;
                alike = find_alike(problem, i);
                item->count = alike ? alike->count : choose_count(problem, item, &taken);
        }
}
