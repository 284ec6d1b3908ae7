/* Where each instance belongs: the rules, the search, and the result. */
#include <string.h>

#include "tidbnumad/plan/match.h"
#include "tidbnumad/plan/placement-search.h"

/* --- what a finished plan reports --- */

/* --- warnings --- */

static bool shares_exclusive(const PlanCounts *counts, const PlanItem *item) {
        for (size_t i = 0; item->exclusive && i < item->n_nodes; i++)
                if (counts->exclusive[item->nodes[i]] > 1)
                        return true;
        return false;
}

/* Away from its device, unless that is the network card's node and left to the card. */
static bool is_far(const PlanProblem *problem, const PlanItem *item) {
        NodeSet devices, reserved;

        if (!item->device)
                return false;
        devices = placement_devices(problem->input, item->in);
        reserved = placement_reserved(problem->input);
        return !id_set_intersects(&devices, &item->choice->placement.nodes) &&
               !(item->policy->place.near == NEAR_NIC && id_set_is_subset(&devices, &reserved));
}

static bool lacks_pool(const PlanCounts *counts, const PlanItem *item, size_t pool) {
        const PlanProblem *problem = counts->problem;
        uint64_t used = 0, room = 0;

        for (size_t i = 0; i < item->n_nodes; i++) {
                const PlanNode *node = &problem->nodes[item->nodes[i]];

                used += counts->used_mib[item->nodes[i] * problem->n_pools + pool];
                room += node->node->memory_bytes ? node->free_mib[pool] : 0;
        }
        return item->share_mib[pool] > 0 && used > room;
}

static bool lacks_memory(const PlanCounts *counts, const PlanItem *item) {
        bool lacks = false;

        for (size_t p = 0; p < counts->problem->n_pools; p++)
                lacks |= lacks_pool(counts, item, p);
        return item->policy->memory == MEMORY_BIND && lacks;
}

static bool is_on_memory(const PlanProblem *problem, const PlanItem *item) {
        NodeBits nodes = { 0 };

        for (size_t i = 0; i < item->n_nodes; i++)
                id_set_add(&nodes, item->nodes[i]);
        return placement_has_memory(problem, &nodes);
}

/* Memory-only nodes beside the others do not count: nothing runs there. */
static bool spans_packages(const PlanProblem *problem, const PlanItem *item) {
        const PlanNode *first = NULL;

        for (size_t i = 0; i < item->n_nodes; i++) {
                const PlanNode *node = &problem->nodes[item->nodes[i]];

                if (id_set_is_empty(&node->node->cpus))
                        continue;
                if (first && first->package != node->package &&
                    first->node->package != PACKAGE_UNKNOWN &&
                    node->node->package != PACKAGE_UNKNOWN)
                        return true;
                first = node;
        }
        return false;
}

/* Heavy is what weighs as much as a TiDB. Few is less than a quarter of what the machine's nodes
 * have on average when all CPUs are online: which node an offline CPU belongs to is not known. */
enum { HEAVY_WEIGHT = 8, FEW_CPUS_PART = 4 };

static bool has_few_cpus(const PlanProblem *problem, const PlanItem *item) {
        const Topology *topology = problem->input->topology;
        const CpuSet online = topology_cpus(topology);
        const size_t n = id_set_count(&online) + id_set_count(&topology->offline_cpus);
        size_t n_nodes = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                n_nodes += topology->nodes[i].kind == NODE_NORMAL;
        return item->policy->cpus.choice != CPUS_LIST &&
               placement_weight(item->in) >= HEAVY_WEIGHT &&
               id_set_count(&item->choice->placement.cpus) * FEW_CPUS_PART * n_nodes < n;
}

static bool is_tidb(const Policy *policy) {
        const char *exe = policy->match.exe;

        return exe && strcmp(basename(exe), "tidb-server") == 0;
}

static bool has_moved(const PlanItem *item) {
        NodeSet given_up = item->in->in_force;

        if (item->n_former == 0)
                return false;
        id_set_subtract(&given_up, &item->choice->placement.nodes);
        return !id_set_is_empty(&given_up);
}

static void placement_explain_warnings(const PlanSearch *search, const PlanItem *item) {
        const PlanCounts *counts = &search->counts;
        PlacementChoice *choice = item->choice;
        uint32_t warnings = 0;

        if (!id_set_is_empty(&choice->reserved))
                warnings |= choice->basis == BASIS_EXPLICIT ? WARN_RESERVED_NAMED : WARN_RESERVED;
        if (shares_exclusive(counts, item))
                warnings |= WARN_NOT_EXCLUSIVE;
        if (is_far(search->problem, item))
                warnings |= WARN_FAR_DEVICE;
        if (item->policy->place.near != NEAR_NONE && !item->device)
                warnings |= WARN_DEVICE_UNKNOWN;
        if (lacks_memory(counts, item))
                warnings |= WARN_MEMORY;
        if (choice->basis == BASIS_EXPLICIT && spans_packages(search->problem, item))
                warnings |= WARN_PACKAGES;
        if (item->n_nodes > 1 && is_tidb(item->policy))
                warnings |= WARN_MANY_NODES;
        if (has_moved(item))
                warnings |= WARN_MOVED;
        if (!is_on_memory(search->problem, item))
                warnings |= WARN_NO_MEMORY;
        if (has_few_cpus(search->problem, item))
                warnings |= WARN_FEW_CPUS;
        choice->warnings = warnings;
}

/* --- grounds --- */

static PlacementCriterion first_difference(const PlanCost *a, const PlanCost *b) {
        for (unsigned c = 0; c < N_CRITERIA; c++)
                if (a->by[c] != b->by[c])
                        return (PlacementCriterion)c;
        return WEIGH_NUMBER;
}

/* The item itself is not counted. */
static void count_neighbours(const PlanCounts *counts, const PlanItem *item,
                             PlacementGrounds *grounds) {
        const PlanProblem *problem = counts->problem;
        const uint32_t *of_policy = &counts->of_policy[item->policy_index * problem->n_nodes];
        uint32_t package = UINT32_MAX;

        for (size_t i = 0; i < item->n_nodes; i++) {
                uint16_t node = item->nodes[i];

                grounds->others += counts->all[node];
                grounds->exclusive += item->exclusive ? counts->exclusive[node] : 0;
                grounds->of_policy += of_policy[node];
                if (problem->nodes[node].package != package) {
                        package = problem->nodes[node].package;
                        grounds->in_sockets +=
                                (uint32_t)placement_counts_price_package(counts, item, package);
                }
        }
}

/* --- alternatives --- */

typedef struct Other {
        PlanCost cost;
        NodeBits nodes;
} Other;

typedef struct Others {
        Other list[PLACEMENT_ALTERNATIVES_MAX]; /* the best first */
        size_t n;
} Others;

static void insert(Others *others, const PlanCost *cost, const PlanSets *sets) {
        size_t at = others->n;

        if (at == PLACEMENT_ALTERNATIVES_MAX) {
                if (placement_cost_compare(cost, &others->list[at - 1].cost) >= 0)
                        return;
                at--;
        } else {
                others->n++;
        }
        for (; at > 0 && placement_cost_compare(cost, &others->list[at - 1].cost) < 0; at--)
                others->list[at] = others->list[at - 1];
        others->list[at] = (Other){ .cost = *cost };
        for (size_t i = 0; i < sets->n_nodes; i++)
                id_set_add(&others->list[at].nodes, sets->nodes[i]);
}

static void collect(PlanSearch *search, const PlanItem *item, const PlanCost *now, Others *others) {
        PlacementGrounds *grounds = &item->choice->grounds;
        PlanSets *sets = &search->sets[item - search->problem->items];

        placement_sets_rewind(sets);
        while (placement_sets_next(sets)) {
                PlanCost cost =
                        placement_counts_price(&search->counts, item, sets->nodes, sets->n_nodes);

                if (memcmp(item->nodes, sets->nodes, sets->n_nodes * sizeof(sets->nodes[0])) == 0)
                        continue;
                if (placement_cost_compare(&cost, now) < 0) {
                        grounds->outdone |= item->settled;
                        continue;
                }
                grounds->decides |= 1u << first_difference(&cost, now);
                insert(others, &cost, sets);
        }
}

static PlacementAlternative describe(const PlanProblem *problem, const PlanCost *total,
                                     const PlanCost *now, const Other *other) {
        PlacementAlternative a = { .criterion = first_difference(now, &other->cost) };

        ID_SET_FOREACH(i, &other->nodes)
        id_set_add(&a.nodes, problem->nodes[i].node->id);
        a.chosen = (uint64_t)total->by[a.criterion];
        a.other = (uint64_t)(total->by[a.criterion] - now->by[a.criterion] +
                             other->cost.by[a.criterion]);
        return a;
}

/* 0 or -ENOMEM. `total`: of the plan. */
static int placement_explain_alternatives(PlanSearch *search, PlanItem *item,
                                          const PlanCost *total) {
        _cleanup_free_ Others *others = calloc(1, sizeof(*others));
        PlacementChoice *choice = item->choice;
        PlanCost now;

        if (!others)
                return -ENOMEM;
        placement_search_take(search, item);
        now = placement_counts_price(&search->counts, item, item->nodes, item->n_nodes);
        collect(search, item, &now, others);
        count_neighbours(&search->counts, item, &choice->grounds);
        placement_search_put(search, item, item->nodes);
        choice->alternatives = calloc(others->n + 1, sizeof(choice->alternatives[0]));
        if (!choice->alternatives)
                return -ENOMEM;
        for (size_t i = 0; i < others->n; i++)
                choice->alternatives[i] = describe(search->problem, total, &now, &others->list[i]);
        choice->n_alternatives = others->n;
        return 0;
}

bool placement_is_explicit(const Policy *policy, const char *unit, const uint16_t *ports,
                           size_t n_ports) {
        return match_instance(policy, unit, ports, n_ports) ||
               (!policy->place.count_is_set && !id_set_is_empty(&policy->place.nodes));
}

NodeSet placement_bound_nodes(const Topology *topology, const CpuSet *cpus, const CpuSet *allowed) {
        const NodeSet homes = topology_homes(topology);
        const CpuSet withheld = topology_withheld_cpus(topology);
        CpuSet could = topology_cpus(topology), bound = *cpus;
        NodeSet nodes, all;

        if (!id_set_is_empty(allowed))
                id_set_intersect(&could, allowed);
        id_set_intersect(&bound, &could);
        /* Every process begins without isolated CPUs: that binds none. */
        id_set_subtract(&could, &withheld);
        id_set_union(&could, &bound);
        nodes = topology_nodes_of(topology, &bound);
        all = topology_nodes_of(topology, &could);
        id_set_intersect(&nodes, &homes);
        id_set_intersect(&all, &homes);
        return id_set_equal(&nodes, &all) ? (NodeSet){ 0 } : nodes;
}

NodeSet placement_adopted_nodes(const NodeSet *bound, const NodeSet *reserved) {
        return id_set_intersects(bound, reserved) ? (NodeSet){ 0 } : *bound;
}

bool placement_weighs_again(const Policy *before, const Policy *after, const NodeSet *place,
                            const NodeSet *newly_reserved) {
        if (!before || !after)
                return false;
        return before->place.near != after->place.near ||
               before->place.share != after->place.share ||
               id_set_intersects(place, newly_reserved);
}

void placement_plan_done(PlacementPlan *plan) {
        for (size_t i = 0; i < plan->n_choices; i++)
                free(plan->choices[i].alternatives);
        free(plan->choices);
        *plan = (PlacementPlan){ 0 };
}

static void fill_placement(const PlanProblem *problem, const PlanItem *item) {
        PlacementChoice *choice = item->choice;
        Placement *p = &choice->placement;
        NodeBits bits = { 0 };

        p->memory = item->policy->memory;
        p->migrate = item->policy->migrate;
        p->rate_bytes_per_sec = item->policy->rate_bytes_per_sec;
        p->reason = placement_refusal_to_string(choice->refusal);
        if (!item->placed && !item->movable)
                return;
        for (size_t i = 0; i < item->n_nodes; i++) {
                id_set_add(&bits, item->nodes[i]);
                id_set_add(&p->nodes, problem->nodes[item->nodes[i]].node->id);
                if (problem->nodes[item->nodes[i]].reserved)
                        id_set_add(&choice->reserved, problem->nodes[item->nodes[i]].node->id);
        }
        p->cpus = placement_usable_cpus(problem, item, &bits);
        /* The kernel takes memory from the nearest nodes then, which is as preferred as it gets. */
        if (!placement_has_memory(problem, &bits))
                p->memory = MEMORY_NONE;
}

static int describe_all(PlanSearch *search, const PlanCost *total) {
        PlanProblem *problem = search->problem;

        for (size_t i = 0; i < problem->n_items; i++) {
                PlanItem *item = &problem->items[i];

                fill_placement(problem, item);
                if (item->placed || item->movable)
                        placement_explain_warnings(search, item);
                if ((item->movable || item->settled) && problem->input->explain &&
                    placement_explain_alternatives(search, item, total) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int solve(PlanProblem *problem, PlacementPlan *plan) {
        _cleanup_placement_search_ PlanSearch search = { 0 };
        PlanCost total;

        if (placement_search_run(&search, problem) < 0)
                return -ENOMEM;
        plan->n_prices = search.n_prices;
        placement_search_canonicalize(&search);
        if (placement_counts_total(problem, &total) < 0)
                return -ENOMEM;
        for (unsigned i = 0; i < N_CRITERIA; i++)
                plan->score.by[i] = (uint64_t)total.by[i];
        return describe_all(&search, &total);
}

int placement_plan_build(const PlacementInput *input, PlacementPlan *ret) {
        _cleanup_placement_plan_ PlacementPlan plan = { .n_choices = input->n_instances };
        _cleanup_placement_problem_ PlanProblem problem = { 0 };

        plan.choices = calloc(plan.n_choices + 1, sizeof(plan.choices[0]));
        if (!plan.choices) {
                plan.n_choices = 0;
                return -ENOMEM;
        }
        plan.reserved = placement_reserved(input);
        plan.reserved_cpus = placement_reserved_cpus(input);
        if (placement_problem_build(input, &plan, &problem) < 0 || solve(&problem, &plan) < 0)
                return -ENOMEM;
        *ret = TAKE_STRUCT(plan);
        return 0;
}
