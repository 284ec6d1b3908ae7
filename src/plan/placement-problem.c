/* Builds the planner's own view of its input, and gives it back. */
#include <string.h>

#include "tidbnumad/model/device.h"
#include "tidbnumad/plan/advice.h"
#include "tidbnumad/plan/placement-problem.h"

/* Of one instance on one node. It keeps the sums of any number of them from running over. */
#define SHARE_MIB_MAX (UINT64_C(1) << 40)

NodeBits placement_problem_bits(const PlanProblem *problem, const NodeSet *nodes) {
        NodeBits bits = { 0 };

        for (size_t i = 0; i < problem->n_nodes; i++)
                if (id_set_has(nodes, problem->nodes[i].node->id))
                        id_set_add(&bits, i);
        return bits;
}

uint32_t placement_problem_distance(const PlanProblem *problem, size_t from, size_t to) {
        const Topology *topology = problem->input->topology;

        if (!topology->distances)
                return from == to ? 10 : 20;
        return topology->distances[from * topology->n_nodes + to];
}

NodeSet placement_devices(const PlacementInput *input, const PlacementInstance *in) {
        NodeSet nodes = { 0 }, all = topology_nodes(input->topology);

        if (in->policy->place.near == NEAR_STORAGE)
                nodes = in->device_nodes;
        else if (in->policy->place.near == NEAR_NIC)
                nodes = input->nic_nodes;
        id_set_intersect(&nodes, &all);
        return nodes;
}

uint64_t placement_share_mib(uint64_t need_bytes, size_t n) {
        uint64_t part = n ? need_bytes / n + (need_bytes % n != 0) : 0;
        uint64_t mib = (part >> 20) + ((part & 0xfffff) != 0);

        return mib < SHARE_MIB_MAX ? mib : SHARE_MIB_MAX;
}

uint64_t placement_free_mib(const PlacementInput *input, size_t node) {
        return (input->free_bytes ? input->free_bytes[node]
                                  : input->topology->nodes[node].memory_bytes) >>
               20;
}

/* A page of less than a MiB is counted with others. */
static uint64_t pages_bytes(uint64_t n_pages, uint64_t page_bytes) {
        return n_pages < UINT64_MAX / page_bytes ? n_pages * page_bytes : UINT64_MAX;
}

void placement_split_need(const PlanProblem *problem, PlanItem *item, size_t n) {
        const HugeNeed *huge = item->in->huge;

        item->share_mib[0] = placement_share_mib(item->in->need_bytes, n);
        for (size_t p = 1; huge && p < problem->n_pools; p++) {
                const uint64_t page_bytes = problem->input->pools->list[p - 1].page_bytes;

                item->share_mib[p] = placement_share_mib(
                        pages_bytes(huge_need_untouched(huge, page_bytes), page_bytes), n);
        }
}

static void measure_pools(const PlanProblem *problem, size_t node, uint64_t *ret_mib) {
        const PlacementInput *input = problem->input;

        ret_mib[0] = placement_free_mib(input, node);
        for (size_t p = 1; p < problem->n_pools; p++) {
                const HugePool *pool = &input->pools->list[p - 1];

                ret_mib[p] = pages_bytes(pool->n_free[node], pool->page_bytes) >> 20;
        }
}

/* --- nodes --- */

static uint32_t find_package(const PlanProblem *problem, size_t n, const Node *node) {
        for (size_t i = 0; i < n; i++)
                if (topology_same_package(problem->nodes[i].node, node))
                        return problem->nodes[i].package;
        return (uint32_t)problem->n_packages;
}

static void add_node(PlanProblem *problem, size_t i, const NodeSet *reserved) {
        const Node *node = &problem->input->topology->nodes[i];
        PlanNode *n = &problem->nodes[i];

        n->node = node;
        n->package = find_package(problem, i, node);
        if (n->package == problem->n_packages)
                problem->n_packages++;
        n->home = topology_is_home(node);
        n->reserved = id_set_has(reserved, node->id);
        n->cpu_part = placement_cpu_part(problem->input, i);
        n->room_part = placement_room_part(problem->input->topology, i);
        measure_pools(problem, i, n->free_mib);
        if (n->home)
                id_set_add(&problem->homes, i);
        if (n->reserved)
                id_set_add(&problem->reserved, i);
}

static int build_nodes(PlanProblem *problem, const NodeSet *reserved) {
        const Topology *topology = problem->input->topology;
        size_t n =
                topology->n_nodes < PLACEMENT_NODES_MAX ? topology->n_nodes : PLACEMENT_NODES_MAX;

        problem->nodes = calloc(n + 1, sizeof(problem->nodes[0]));
        if (!problem->nodes)
                return -ENOMEM;
        problem->n_nodes = n;
        for (size_t i = 0; i < n; i++)
                add_node(problem, i, reserved);
        return 0;
}

/* --- instances --- */

static int compare_items(const void *a, const void *b) {
        const PlanItem *x = a, *y = b;
        int order = device_name_compare(x->in->name, y->in->name);

        if (order != 0)
                return order;
        return x->choice < y->choice ? -1 : x->choice > y->choice;
}

static uint32_t find_policy(const PlanProblem *problem, size_t n, const Policy *policy) {
        for (size_t i = 0; i < n; i++)
                if (problem->items[i].policy == policy)
                        return problem->items[i].policy_index;
        return (uint32_t)problem->n_policies;
}

static int measure_devices(const PlanProblem *problem, PlanItem *item) {
        NodeBits devices;
        NodeSet nodes;

        if (item->policy->place.near == NEAR_NONE)
                return 0;
        nodes = placement_devices(problem->input, item->in);
        devices = placement_problem_bits(problem, &nodes);
        if (id_set_next(&devices, 0) < 0)
                return 0;
        item->device = malloc(problem->n_nodes * sizeof(item->device[0]));
        if (!item->device)
                return -ENOMEM;
        for (size_t i = 0; i < problem->n_nodes; i++) {
                item->device[i] = UINT32_MAX;
                ID_SET_FOREACH(d, &devices) {
                        uint32_t distance = placement_problem_distance(problem, i, (size_t)d);

                        if (distance < item->device[i])
                                item->device[i] = distance;
                }
        }
        return 0;
}

/* Less than this is not worth a place that is harder to read: the libraries and the stack of a
 * server lie anywhere. */
enum { MOVE_GRAIN_MIB = 16 };

static int measure_memory(const PlanProblem *problem, PlanItem *item) {
        if (!item->in->by_node)
                return 0;
        item->at_mib = calloc(problem->n_nodes + 1, sizeof(item->at_mib[0]));
        if (!item->at_mib)
                return -ENOMEM;
        for (size_t i = 0; i < problem->n_nodes; i++) {
                uint64_t mib = (item->in->by_node[i].anon_bytes >> 20) + MOVE_GRAIN_MIB / 2;

                mib = mib < SHARE_MIB_MAX ? mib - mib % MOVE_GRAIN_MIB : SHARE_MIB_MAX;
                item->at_mib[i] = (int64_t)mib;
                item->all_mib += (int64_t)mib;
        }
        return 0;
}

static int describe_item(PlanProblem *problem, size_t i) {
        PlanItem *item = &problem->items[i];
        const Place *place = &item->policy->place;

        item->policy_index = find_policy(problem, i, item->policy);
        if (item->policy_index == problem->n_policies)
                problem->n_policies++;
        item->exclusive = place->share == SHARE_EXCLUSIVE;
        item->same_package = place->same_package;
        item->count = place->count_is_set ? place->count : 1;
        item->auto_count = place->count_is_set && place->count == PLACE_COUNT_AUTO;
        item->former = placement_problem_bits(problem, &item->in->in_force);
        item->n_former = id_set_count(&item->in->in_force);
        return measure_devices(problem, item) < 0 ? -ENOMEM : measure_memory(problem, item);
}

static int build_items(PlanProblem *problem, PlacementPlan *plan) {
        const PlacementInput *input = problem->input;

        problem->items = calloc(input->n_instances + 1, sizeof(problem->items[0]));
        if (!problem->items)
                return -ENOMEM;
        problem->n_items = input->n_instances;
        for (size_t i = 0; i < problem->n_items; i++)
                problem->items[i] = (PlanItem){ .in = &input->instances[i],
                                                .policy = input->instances[i].policy,
                                                .choice = &plan->choices[i] };
        if (problem->n_items > 1)
                qsort(problem->items, problem->n_items, sizeof(problem->items[0]), compare_items);
        for (size_t i = 0; i < problem->n_items; i++)
                if (describe_item(problem, i) < 0)
                        return -ENOMEM;
        return 0;
}

int placement_problem_reserve(PlanItem *item, size_t n) {
        free(item->nodes);
        item->nodes = malloc((n + 1) * sizeof(item->nodes[0]));
        return item->nodes ? 0 : -ENOMEM;
}

void placement_problem_set_nodes(PlanItem *item, const NodeBits *bits) {
        item->n_nodes = 0;
        ID_SET_FOREACH(i, bits)
        item->nodes[item->n_nodes++] = (uint16_t)i;
}

/* --- which are interchangeable --- */

static bool is_interchangeable(const PlanProblem *problem, const PlanItem *a, const PlanItem *b) {
        if (a->policy_index != b->policy_index || a->count != b->count ||
            memcmp(a->share_mib, b->share_mib, sizeof(a->share_mib)) != 0 ||
            a->weight != b->weight || a->n_former != b->n_former ||
            (a->device == NULL) != (b->device == NULL))
                return false;
        if (a->device && memcmp(a->device, b->device, problem->n_nodes * sizeof(a->device[0])) != 0)
                return false;
        if ((a->at_mib == NULL) != (b->at_mib == NULL) ||
            (a->at_mib &&
             memcmp(a->at_mib, b->at_mib, problem->n_nodes * sizeof(a->at_mib[0])) != 0))
                return false;
        return id_set_equal(&a->feasible, &b->feasible) && id_set_equal(&a->must, &b->must) &&
               id_set_equal(&a->former, &b->former);
}

static void find_kind(PlanProblem *problem, size_t i) {
        PlanItem *item = &problem->items[i];

        item->kind = (uint32_t)i;
        for (size_t k = 0; item->movable && k < i; k++)
                if (problem->items[k].movable && problem->items[k].kind == k &&
                    is_interchangeable(problem, &problem->items[k], item)) {
                        item->kind = (uint32_t)k;
                        return;
                }
}

static int finish_items(PlanProblem *problem) {
        for (size_t i = 0; i < problem->n_items; i++) {
                PlanItem *item = &problem->items[i];

                if (!item->movable)
                        continue;
                if (placement_problem_reserve(item, item->count) < 0)
                        return -ENOMEM;
                placement_split_need(problem, item, item->count);
                item->weight = placement_node_weight(item->in, item->count);
        }
        for (size_t i = 0; i < problem->n_items; i++)
                find_kind(problem, i);
        return 0;
}

int placement_problem_build(const PlacementInput *input, PlacementPlan *plan, PlanProblem *ret) {
        _cleanup_placement_problem_ PlanProblem problem = {
                .input = input,
                .n_pools = 1 + (input->pools ? input->pools->n : 0),
                .reserved_cpus = plan->reserved_cpus,
                .withheld_cpus = topology_withheld_cpus(input->topology),
                .taken_cpus = input->topology->taken_cpus,
        };

        if (build_nodes(&problem, &plan->reserved) < 0 || build_items(&problem, plan) < 0 ||
            placement_feasible(&problem) < 0)
                return -ENOMEM;
        placement_auto_counts(&problem);
        if (finish_items(&problem) < 0)
                return -ENOMEM;
        *ret = TAKE_STRUCT(problem);
        return 0;
}

void placement_problem_done(PlanProblem *problem) {
        for (size_t i = 0; i < problem->n_items; i++) {
                free(problem->items[i].device);
                free(problem->items[i].at_mib);
                free(problem->items[i].nodes);
        }
        free(problem->items);
        free(problem->nodes);
        *problem = (PlanProblem){ 0 };
}

/* --- weight: for how much of a node an instance counts, and the price of that --- */

/* The memory of nodes is compared in quarters of the largest: the kernel keeps some for itself on
 * the first node, and that is to decide nothing. */
enum { QUARTERS = 4, TWELFTHS = 12 };

static uint32_t weight_of_product(AdviceProduct product) {
        static const uint32_t weights[N_PRODUCTS] = {
                [PRODUCT_OTHER] = 2,   [PRODUCT_TIDB] = 8, [PRODUCT_TIKV] = 8,
                [PRODUCT_TIFLASH] = 8, [PRODUCT_PD] = 1,   [PRODUCT_HAPROXY] = 2,
                [PRODUCT_JAVA] = 8,
        };

        return weights[product];
}

uint32_t placement_weight(const PlacementInstance *in) {
        const Policy *policy = in->policy;
        uint32_t weight;

        if (policy->weight != WEIGHT_AUTO)
                return policy->weight;
        weight = weight_of_product(in->exe ? advice_product_of(in->exe)
                                           : advice_product_of_pattern(policy->match.exe));
        while (weight < in->cpus_used && weight <= WEIGHT_MAX / 2)
                weight *= 2;
        return weight;
}

uint32_t placement_node_weight(const PlacementInstance *in, size_t n_nodes) {
        return n_nodes ? (placement_weight(in) + (uint32_t)n_nodes - 1) / (uint32_t)n_nodes : 0;
}

uint64_t placement_cpu_part(const PlacementInput *input, size_t node) {
        const CpuSet reserved = placement_reserved_cpus(input);
        const CpuSet withheld = topology_withheld_cpus(input->topology);
        CpuSet cpus = input->topology->nodes[node].cpus;
        uint32_t n_cpus;

        id_set_subtract(&cpus, &reserved);
        id_set_subtract(&cpus, &withheld);
        n_cpus = id_set_count(&cpus);
        return n_cpus ? (1000 + n_cpus - 1) / n_cpus : 0;
}

static uint64_t quarters(uint64_t bytes, uint64_t most) {
        const uint64_t n = (bytes / (most / (2 * QUARTERS) + 1) + 1) / 2;

        return n < 1 ? 1 : n < QUARTERS ? n : QUARTERS;
}

uint64_t placement_room_part(const Topology *topology, size_t node) {
        uint64_t most = 0, least = UINT64_MAX;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *n = &topology->nodes[i];

                if (!topology_is_home(n))
                        continue;
                if (n->memory_unknown)
                        return 0;
                most = n->memory_bytes > most ? n->memory_bytes : most;
                least = n->memory_bytes < least ? n->memory_bytes : least;
        }
        if (most == 0 || quarters(least, most) == QUARTERS)
                return 0;
        return TWELFTHS / quarters(topology->nodes[node].memory_bytes, most);
}
