/* The instances on each node and socket, and the cost of one more there. */
#include "tidbnumad/plan/placement-search.h"

int placement_cost_compare(const PlanCost *a, const PlanCost *b) {
        for (unsigned i = 0; i < N_CRITERIA; i++)
                if (a->by[i] != b->by[i])
                        return a->by[i] < b->by[i] ? -1 : 1;
        return 0;
}

void placement_cost_add(PlanCost *sum, const PlanCost *more) {
        for (unsigned i = 0; i < N_CRITERIA; i++)
                sum->by[i] += more->by[i];
}

void placement_cost_subtract(PlanCost *sum, const PlanCost *less) {
        for (unsigned i = 0; i < N_CRITERIA; i++)
                sum->by[i] -= less->by[i];
}

int placement_counts_init(PlanCounts *counts, const PlanProblem *problem) {
        size_t n = problem->n_nodes + 1, p = problem->n_packages + 1;
        size_t policies = problem->n_policies + 1;

        *counts = (PlanCounts){
                .problem = problem,
                .all = calloc(n, sizeof(uint32_t)),
                .exclusive = calloc(n, sizeof(uint32_t)),
                .of_policy = calloc(policies * n, sizeof(uint32_t)),
                .exclusive_in = calloc(p, sizeof(uint32_t)),
                .of_policy_in = calloc(policies * p, sizeof(uint32_t)),
                .used_mib = calloc(n * problem->n_pools, sizeof(uint64_t)),
                .weight = calloc(n, sizeof(uint64_t)),
        };
        if (!counts->all || !counts->exclusive || !counts->of_policy || !counts->exclusive_in ||
            !counts->of_policy_in || !counts->used_mib || !counts->weight) {
                placement_counts_done(counts);
                return -ENOMEM;
        }
        return 0;
}

void placement_counts_done(PlanCounts *counts) {
        free(counts->all);
        free(counts->exclusive);
        free(counts->of_policy);
        free(counts->exclusive_in);
        free(counts->of_policy_in);
        free(counts->used_mib);
        free(counts->weight);
        *counts = (PlanCounts){ 0 };
}

/* Is it the first of the set in its socket? */
static bool is_first_in(const PlanProblem *problem, const uint16_t *nodes, size_t k) {
        uint32_t package = problem->nodes[nodes[k]].package;

        for (size_t i = 0; i < k; i++)
                if (problem->nodes[nodes[i]].package == package)
                        return false;
        return true;
}

PlanCost placement_counts_price(const PlanCounts *counts, const PlanItem *item,
                                const uint16_t *nodes, size_t n) {
        const PlanProblem *problem = counts->problem;
        PlanCost cost = { .by[WEIGH_STABILITY] = item->n_former, .by[WEIGH_MOVE] = item->all_mib };

        for (size_t k = 0; k < n; k++) {
                placement_counts_price_node(counts, item, nodes[k], &cost);
                if (is_first_in(problem, nodes, k))
                        cost.by[WEIGH_SPREAD] += placement_counts_price_package(
                                counts, item, problem->nodes[nodes[k]].package);
                for (size_t i = 0; i < k; i++)
                        cost.by[WEIGH_DISTANCE] +=
                                placement_problem_distance(problem, nodes[i], nodes[k]) +
                                placement_problem_distance(problem, nodes[k], nodes[i]);
        }
        return cost;
}

static void count(PlanCounts *counts, const PlanItem *item, const uint16_t *nodes, size_t n,
                  uint32_t by) {
        const PlanProblem *problem = counts->problem;
        uint32_t *of_policy = &counts->of_policy[item->policy_index * problem->n_nodes];
        uint32_t *of_policy_in = &counts->of_policy_in[item->policy_index * problem->n_packages];

        for (size_t k = 0; k < n; k++) {
                const PlanNode *node = &problem->nodes[nodes[k]];

                counts->all[nodes[k]] += by;
                counts->weight[nodes[k]] += item->weight * (uint64_t)(int32_t)by;
                of_policy[nodes[k]] += by;
                if (item->exclusive)
                        counts->exclusive[nodes[k]] += by;
                for (size_t p = 0; node->node->memory_bytes && p < problem->n_pools; p++)
                        counts->used_mib[nodes[k] * problem->n_pools + p] +=
                                item->share_mib[p] * (uint64_t)(int32_t)by;
                if (!is_first_in(problem, nodes, k))
                        continue;
                of_policy_in[node->package] += by;
                if (item->exclusive)
                        counts->exclusive_in[node->package] += by;
        }
}

void placement_counts_add(PlanCounts *counts, const PlanItem *item, const uint16_t *nodes,
                          size_t n) {
        count(counts, item, nodes, n, 1);
}

void placement_counts_remove(PlanCounts *counts, const PlanItem *item, const uint16_t *nodes,
                             size_t n) {
        count(counts, item, nodes, n, UINT32_MAX);
}

int placement_counts_total(const PlanProblem *problem, PlanCost *ret) {
        _cleanup_placement_counts_ PlanCounts counts = { 0 };
        PlanCost sum = { 0 };

        if (placement_counts_init(&counts, problem) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < problem->n_items; i++) {
                const PlanItem *item = &problem->items[i];
                PlanCost cost;

                if (!item->placed && !item->movable)
                        continue;
                cost = placement_counts_price(&counts, item, item->nodes, item->n_nodes);
                placement_cost_add(&sum, &cost);
                placement_counts_add(&counts, item, item->nodes, item->n_nodes);
        }
        *ret = sum;
        return 0;
}
