/* The planner's hard rules: where an instance may be at all, or what it is refused for. */
#include "tidbnumad/plan/match.h"
#include "tidbnumad/plan/placement-problem.h"

static PlacementRefusal refuse(PlanItem *item, PlacementRefusal refusal) {
        item->choice->refusal = refusal;
        return refusal;
}

/* A node without memory is in no cgroup's memory nodes: what counts there is the CPUs. */
static bool allows_nodes(const PlanProblem *problem, const PlacementInstance *in,
                         const NodeSet *nodes) {
        NodeSet with_memory = topology_memory_nodes(problem->input->topology);

        id_set_intersect(&with_memory, nodes);
        return id_set_is_empty(&in->allowed_nodes) ||
               id_set_is_subset(&with_memory, &in->allowed_nodes);
}

/* CPUs that the policy lists are its own even if they are reserved or isolated, and so are isolated
 * ones of nodes that an entry of `instances` names. */
static CpuSet own_cpus(const PlanProblem *problem, const PlanItem *item, const Node *node) {
        CpuSet cpus =
                item->policy->cpus.choice == CPUS_ONE_PER_CORE ? node->first_threads : node->cpus;

        if (item->policy->cpus.choice == CPUS_LIST)
                id_set_intersect(&cpus, &item->policy->cpus.list);
        else
                id_set_subtract(&cpus, &problem->reserved_cpus);
        if (item->policy->cpus.choice != CPUS_LIST && !item->choice->entry)
                id_set_subtract(&cpus, &problem->withheld_cpus);
        id_set_subtract(&cpus, &problem->taken_cpus);
        return cpus;
}

/* What of these the parent cgroup allows. */
static CpuSet usable_cpus(const PlanProblem *problem, const PlanItem *item, const Node *node) {
        CpuSet cpus = own_cpus(problem, item, node);

        if (!id_set_is_empty(&item->in->allowed_cpus))
                id_set_intersect(&cpus, &item->in->allowed_cpus);
        return cpus;
}

CpuSet placement_usable_cpus(const PlanProblem *problem, const PlanItem *item,
                             const NodeBits *nodes) {
        CpuSet all = { 0 };

        ID_SET_FOREACH(i, nodes) {
                CpuSet cpus = usable_cpus(problem, item, problem->nodes[i].node);

                id_set_union(&all, &cpus);
        }
        return all;
}

bool placement_has_memory(const PlanProblem *problem, const NodeBits *nodes) {
        ID_SET_FOREACH(i, nodes)
        if (topology_has_memory(problem->nodes[i].node))
                return true;
        return false;
}

static CpuSet online_cpus_of(const PlanProblem *problem, const NodeBits *nodes) {
        CpuSet all = { 0 };

        ID_SET_FOREACH(i, nodes)
        id_set_union(&all, &problem->nodes[i].node->cpus);
        return all;
}

static bool has_own_cpus(const PlanProblem *problem, const PlanItem *item, const NodeBits *nodes) {
        ID_SET_FOREACH(i, nodes) {
                const CpuSet cpus = own_cpus(problem, item, problem->nodes[i].node);

                if (!id_set_is_empty(&cpus))
                        return true;
        }
        return false;
}

static bool allows_list(const PlanItem *item) {
        return id_set_is_empty(&item->in->allowed_cpus) ||
               id_set_is_subset(&item->policy->cpus.list, &item->in->allowed_cpus);
}

/* --- explicit nodes --- */

static const NodeSet *explicit_nodes(const PlanItem *item) {
        const Place *place = &item->policy->place;

        if (item->choice->entry)
                return &item->choice->entry->nodes;
        return place->count_is_set || id_set_is_empty(&place->nodes) ? NULL : &place->nodes;
}

static PlacementRefusal check_explicit(const PlanProblem *problem, const PlanItem *item,
                                       const NodeSet *nodes) {
        NodeBits bits = placement_problem_bits(problem, nodes);
        CpuSet cpus = online_cpus_of(problem, &bits), usable;
        bool list = item->policy->cpus.choice == CPUS_LIST;

        if (id_set_count(&bits) != id_set_count(nodes))
                return REFUSAL_NODE_ABSENT;
        if (id_set_is_empty(&cpus))
                return REFUSAL_NO_CPU;
        if (item->policy->memory == MEMORY_BIND && !placement_has_memory(problem, &bits))
                return REFUSAL_NO_MEMORY;
        if (list && !id_set_is_subset(&item->policy->cpus.list, &cpus))
                return REFUSAL_CPUS_ABSENT;
        if (!allows_nodes(problem, item->in, nodes))
                return REFUSAL_CGROUP_NODES;
        if (id_set_is_subset(&cpus, &problem->taken_cpus) ||
            (list && id_set_intersects(&item->policy->cpus.list, &problem->taken_cpus)))
                return REFUSAL_TAKEN;
        if (!has_own_cpus(problem, item, &bits))
                return REFUSAL_ISOLATED;
        usable = placement_usable_cpus(problem, item, &bits);
        return id_set_is_empty(&usable) || (list && !allows_list(item)) ? REFUSAL_CGROUP_CPUS
                                                                        : REFUSAL_NONE;
}

/* The need of explicit nodes is split over those that have memory. */
static size_t count_with_memory(const PlanProblem *problem, const NodeBits *bits) {
        size_t n = 0;

        ID_SET_FOREACH(i, bits)
        n += problem->nodes[i].node->memory_bytes > 0;
        return n;
}

static int fix(PlanProblem *problem, PlanItem *item, const NodeBits *bits, PlacementBasis basis) {
        if (placement_problem_reserve(item, id_set_count(bits)) < 0)
                return -ENOMEM;
        placement_problem_set_nodes(item, bits);
        item->feasible = *bits;
        item->count = item->n_nodes;
        placement_split_need(problem, item, count_with_memory(problem, bits));
        item->weight = placement_node_weight(item->in, item->n_nodes);
        item->placed = true;
        item->choice->basis = basis;
        item->choice->n_feasible = 1;
        return 0;
}

/* --- chosen nodes: each rule takes some away --- */

/* Does one socket have `need` of these nodes, including all that the item must have? */
static bool fits_package(const PlanProblem *problem, const NodeBits *must, size_t need,
                         const NodeBits *feasible) {
        int first = id_set_next(must, 0);
        uint16_t n[PLACEMENT_NODES_MAX] = { 0 };
        bool fits = false;

        ID_SET_FOREACH(i, must)
        if (problem->nodes[i].package != problem->nodes[first].package)
                return false;
        ID_SET_FOREACH(i, feasible) {
                uint32_t package = problem->nodes[i].package;

                n[package]++;
                fits |= n[package] >= need &&
                        (first < 0 || package == problem->nodes[first].package);
        }
        return fits;
}

/* Do these nodes suffice, and if not, why? */
static PlacementRefusal check_feasible(const PlanProblem *problem, const PlanItem *item,
                                       const NodeBits *feasible) {
        size_t n = id_set_count(feasible), n_must = id_set_count(&item->must);
        size_t need = item->auto_count ? (n_must ? n_must : 1) : item->count;

        if (n == 0)
                return REFUSAL_NO_NODE_LEFT;
        if (n < need)
                return REFUSAL_TOO_FEW_NODES;
        if (item->same_package && !fits_package(problem, &(NodeBits){ 0 }, need, feasible))
                return REFUSAL_NO_PACKAGE;
        if (n_must > need || !id_set_is_subset(&item->must, feasible) ||
            (item->same_package && !fits_package(problem, &item->must, need, feasible)))
                return REFUSAL_CPUS_ABSENT;
        return REFUSAL_NONE;
}

/* Takes the others away; refuses when too few stay. */
static bool narrow(const PlanProblem *problem, PlanItem *item, const NodeBits *keep,
                   PlacementRefusal refusal) {
        item->feasible = id_set_and(&item->feasible, keep);
        if (check_feasible(problem, item, &item->feasible) == REFUSAL_NONE)
                return true;
        (void)refuse(item, refusal);
        return false;
}

static bool narrow_by_policy(const PlanProblem *problem, PlanItem *item) {
        const Place *place = &item->policy->place;
        NodeBits wanted = placement_problem_bits(problem, &place->nodes);
        NodeBits avoid = placement_problem_bits(problem, &place->avoid);

        if (id_set_count(&problem->homes) == 0)
                return refuse(item, REFUSAL_NO_HOME) == REFUSAL_NONE;
        item->feasible = id_set_minus(&problem->homes, &avoid);
        if (!id_set_is_empty(&place->nodes))
                item->feasible = id_set_and(&item->feasible, &wanted);
        return refuse(item, check_feasible(problem, item, &item->feasible)) == REFUSAL_NONE;
}

/* A list of CPUs is meant to the letter, so that each set of nodes has to own all of them. */
static bool narrow_by_cpus(const PlanProblem *problem, PlanItem *item) {
        const CpuSet *list = &item->policy->cpus.list;
        CpuSet all = online_cpus_of(problem, &item->feasible);

        if (item->policy->cpus.choice != CPUS_LIST)
                return true;
        if (!id_set_is_subset(list, &all))
                return refuse(item, REFUSAL_CPUS_ABSENT) == REFUSAL_NONE;
        ID_SET_FOREACH(i, &item->feasible)
        if (id_set_intersects(&problem->nodes[i].node->cpus, list))
                id_set_add(&item->must, (size_t)i);
        return refuse(item, check_feasible(problem, item, &item->feasible)) == REFUSAL_NONE;
}

/* A node of which it would have no CPU. */
static bool narrow_by_isolation(const PlanProblem *problem, PlanItem *item) {
        NodeBits with_cpus = { 0 };
        bool taken = true;

        if (item->policy->cpus.choice == CPUS_LIST)
                return !id_set_intersects(&item->policy->cpus.list, &problem->taken_cpus) ||
                       refuse(item, REFUSAL_TAKEN) == REFUSAL_NONE;
        ID_SET_FOREACH(i, &item->feasible) {
                const Node *node = problem->nodes[i].node;
                const CpuSet cpus = own_cpus(problem, item, node);

                taken &= id_set_is_subset(&node->cpus, &problem->taken_cpus);
                if (!id_set_is_empty(&cpus))
                        id_set_add(&with_cpus, (size_t)i);
        }
        return narrow(problem, item, &with_cpus, taken ? REFUSAL_TAKEN : REFUSAL_ISOLATED);
}

static bool narrow_by_cgroup(const PlanProblem *problem, PlanItem *item) {
        NodeBits allowed = placement_problem_bits(problem, &item->in->allowed_nodes);
        NodeBits with_cpus = { 0 };

        if (!id_set_is_empty(&item->in->allowed_nodes) &&
            !narrow(problem, item, &allowed, REFUSAL_CGROUP_NODES))
                return false;
        if (item->policy->cpus.choice == CPUS_LIST)
                return allows_list(item) || refuse(item, REFUSAL_CGROUP_CPUS) == REFUSAL_NONE;
        if (id_set_is_empty(&item->in->allowed_cpus))
                return true; /* each of them has CPUs */
        ID_SET_FOREACH(i, &item->feasible) {
                CpuSet cpus = usable_cpus(problem, item, problem->nodes[i].node);

                if (!id_set_is_empty(&cpus))
                        id_set_add(&with_cpus, (size_t)i);
        }
        return narrow(problem, item, &with_cpus, REFUSAL_CGROUP_CPUS);
}

static bool narrow_by_reserve(const PlanProblem *problem, PlanItem *item) {
        NodeBits free_nodes = id_set_minus(&item->feasible, &problem->reserved);

        return !problem->input->host->reserve.strict ||
               narrow(problem, item, &free_nodes, REFUSAL_RESERVED);
}

/* Near the network card is beside its node, not on it, where that node is left to the card. */
static void keep_off_the_nic(const PlanProblem *problem, PlanItem *item) {
        NodeBits free_nodes = id_set_minus(&item->feasible, &problem->reserved);

        if (item->policy->place.near == NEAR_NIC &&
            check_feasible(problem, item, &free_nodes) == REFUSAL_NONE)
                item->feasible = free_nodes;
}

/* --- what is in force --- */

/* Is what it is bound to one of its possible sets? */
static bool still_fits(const PlanProblem *problem, const PlanItem *item) {
        PlanItem as_is = *item;

        if (item->n_former == 0 || !id_set_is_subset(&item->former, &item->feasible))
                return false;
        if (!item->auto_count && item->n_former != item->count)
                return false;
        as_is.auto_count = false;
        as_is.count = item->n_former;
        return check_feasible(problem, &as_is, &item->former) == REFUSAL_NONE;
}

/* It stays where it fits. A place to which it is not bound is weighed as if it were chosen now. */
static int keep(PlanProblem *problem, PlanItem *item) {
        const NodeBits feasible = item->feasible;
        int r = fix(problem, item, &item->former, item->in->unbound ? BASIS_CHOSEN : BASIS_KEPT);

        if (r < 0 || !item->in->unbound)
                return r;
        item->settled = true;
        item->feasible = feasible;
        item->n_former = 0;
        item->former = (NodeBits){ 0 };
        keep_off_the_nic(problem, item);
        return 0;
}

static int judge_chosen(PlanProblem *problem, PlanItem *item) {
        if (!narrow_by_policy(problem, item) || !narrow_by_cpus(problem, item) ||
            !narrow_by_isolation(problem, item) || !narrow_by_cgroup(problem, item) ||
            !narrow_by_reserve(problem, item))
                return 0;
        if (still_fits(problem, item))
                return keep(problem, item);
        keep_off_the_nic(problem, item);
        item->movable = true;
        item->choice->basis = BASIS_CHOSEN;
        return 0;
}

static int judge_item(PlanProblem *problem, PlanItem *item) {
        const PlacementInstance *in = item->in;
        const NodeSet *nodes;
        NodeBits bits;

        if (item->policy->built_in)
                return (void)refuse(item, REFUSAL_WATCH_ONLY), 0;
        if (in->n_ports == 0 && match_needs_port(item->policy, in->unit))
                return (void)refuse(item, REFUSAL_NO_PORT_YET), 0;
        item->choice->entry = match_instance(item->policy, in->unit, in->ports, in->n_ports);
        nodes = explicit_nodes(item);
        if (!nodes)
                return judge_chosen(problem, item);
        if (refuse(item, check_explicit(problem, item, nodes)) != REFUSAL_NONE)
                return 0;
        bits = placement_problem_bits(problem, nodes);
        return fix(problem, item, &bits, BASIS_EXPLICIT);
}

int placement_feasible(PlanProblem *problem) {
        for (size_t i = 0; i < problem->n_items; i++)
                if (judge_item(problem, &problem->items[i]) < 0)
                        return -ENOMEM;
        return 0;
}
