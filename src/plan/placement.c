/* The planner's result: what a finished plan reports of each instance, and questions about places.
 */

#include "tidbnumad/model/match.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/plan/placement-search.h"

/* --- warnings --- */

/* Heavy is what weighs as much as a TiDB. Few is less than a quarter of what the machine's nodes
 * have on average when all CPUs are online: which node an offline CPU belongs to is not known. */
enum { HEAVY_WEIGHT = 8, FEW_CPUS_PART = 4 };

static uint32_t item_warnings(const Planner *planner, const PlanItem *item) {
        const PlacementChoice *choice = item->choice;
        const Policy *policy = item->policy;
        const NodeSet devices = placement_devices(planner->input, item->in),
                      reserved = placement_reserved(planner->input);
        const PlanNode *first = NULL;
        const bool named = choice->basis == BASIS_EXPLICIT ||
                           (item->in->pinned && choice->basis == BASIS_KEPT),
                   no_other = !id_set_is_empty(&policy->place.nodes) &&
                              id_set_is_subset(&policy->place.nodes, &reserved);
        uint32_t warnings = 0;

        if (!id_set_is_empty(&choice->reserved))
                warnings |= named || no_other ? WARN_RESERVED_NAMED : WARN_RESERVED;
        /* The network card's node does not count as far where it is left to the card. */
        if (item->has_device && !id_set_intersects(&devices, &choice->placement.nodes) &&
            !(policy->place.near == NEAR_NIC && id_set_is_subset(&devices, &reserved)))
                warnings |= WARN_FAR_DEVICE;
        if (policy->place.near != NEAR_NONE && !item->has_device)
                warnings |= WARN_DEVICE_UNKNOWN;
        for (size_t p = 0; policy->memory == MEMORY_BIND && p < planner->n_pools; p++) {
                uint64_t used = 0, room = 0;

                ID_SET_FOREACH(i, &item->nodes) {
                        const PlanNode *node = &planner->nodes[i];

                        used += node->used_mib[p];
                        room += node->node->memory_bytes ? node->free_mib[p] : 0;
                }
                if (item->share_mib[p] > 0 && used > room)
                        warnings |= WARN_MEMORY;
        }
        ID_SET_FOREACH(i, &item->nodes) {
                const PlanNode *node = &planner->nodes[i];

                if (item->exclusive && node->n_exclusive > 1)
                        warnings |= WARN_NOT_EXCLUSIVE;
                /* Memory-only nodes beside the others span nothing: nothing runs there. */
                if (id_set_is_empty(&node->node->cpus))
                        continue;
                if (named && first && first->package != node->package &&
                    first->node->package != PACKAGE_UNKNOWN &&
                    node->node->package != PACKAGE_UNKNOWN)
                        warnings |= WARN_PACKAGES;
                first = node;
        }
        if (item->count > 1 &&
            match_product(item->in->exe, &policy->match, item->in->unit) == PRODUCT_TIDB)
                warnings |= WARN_MANY_NODES;
        if (item->n_former > 0 && !id_set_is_subset(&item->in->in_force, &choice->placement.nodes))
                warnings |= WARN_MOVED;
        if (!placement_has_memory(planner, &item->nodes))
                warnings |= WARN_NO_MEMORY;
        if (policy->cpus.choice != CPUS_LIST && placement_weight(item->in) >= HEAVY_WEIGHT &&
            id_set_count(&choice->placement.cpus) * FEW_CPUS_PART * planner->n_normal <
                    planner->n_cpus)
                warnings |= WARN_FEW_CPUS;
        return warnings;
}

/* --- grounds and alternatives --- */

static PlacementCriterion first_difference(const PlanCost *a, const PlanCost *b) {
        for (unsigned c = 0; c < N_CRITERIA; c++)
                if (a->by[c] != b->by[c])
                        return (PlacementCriterion)c;
        return WEIGH_NUMBER;
}

typedef struct Other {
        PlanCost cost;
        NodeBits nodes;
} Other;

/* `total`: of the plan. 0 or -ENOMEM. */
static int item_explain(Planner *planner, PlanItem *item, const PlanCost *total) {
        _cleanup_free_ Other *others = calloc(PLACEMENT_ALTERNATIVES_MAX, sizeof(*others));
        PlacementChoice *choice = item->choice;
        PlanCost now = { 0 };
        PlanSets sets;
        size_t n = 0;
        uint32_t package = UINT32_MAX;

        if (!others)
                return -ENOMEM;
        placement_take(planner, item);
        placement_price(planner, item, &item->nodes, &now);
        placement_sets_init(&sets, planner, item);
        while (placement_sets_next(&sets)) {
                Other other = { .nodes = sets.nodes };
                size_t at = n;

                placement_price(planner, item, &sets.nodes, &other.cost);
                if (id_set_equal(&item->nodes, &sets.nodes))
                        continue;
                if (placement_cost_compare(&other.cost, &now) < 0) {
                        choice->grounds.outdone |= item->settled;
                        continue;
                }
                choice->grounds.decides |= 1u << first_difference(&other.cost, &now);
                /* Into the list of the best alternatives, the best first. */
                if (at < PLACEMENT_ALTERNATIVES_MAX)
                        n++;
                else if (placement_cost_compare(&other.cost, &others[--at].cost) >= 0)
                        continue;
                for (; at > 0 && placement_cost_compare(&other.cost, &others[at - 1].cost) < 0;
                     at--)
                        others[at] = others[at - 1];
                others[at] = other;
        }
        /* The item itself is not counted. */
        ID_SET_FOREACH(k, &item->nodes) {
                const PlanNode *node = &planner->nodes[k];

                choice->grounds.others += node->n_all;
                choice->grounds.exclusive += item->exclusive || item->aside ? node->n_exclusive : 0;
                choice->grounds.of_policy += planner->policies[item->policy_index].on[k];
                if (node->package != package) {
                        package = node->package;
                        choice->grounds.in_sockets +=
                                (uint32_t)placement_price_package(planner, item, package);
                }
        }
        placement_put(planner, item, item->nodes);
        choice->alternatives = calloc(n + 1, sizeof(choice->alternatives[0]));
        if (!choice->alternatives)
                return -ENOMEM;
        for (; choice->n_alternatives < n; choice->n_alternatives++) {
                const Other *other = &others[choice->n_alternatives];
                PlacementAlternative *a = &choice->alternatives[choice->n_alternatives];
                const PlacementCriterion c = first_difference(&now, &other->cost);

                a->criterion = c;
                ID_SET_FOREACH(i, &other->nodes)
                id_set_add(&a->nodes, planner->nodes[i].node->id);
                a->chosen = (uint64_t)total->by[c];
                a->other = (uint64_t)(total->by[c] - now.by[c] + other->cost.by[c]);
        }
        return 0;
}

/* --- the plan --- */

int placement_plan_build(const PlacementInput *input, PlacementPlan *ret) {
        _cleanup_placement_plan_ PlacementPlan plan = {
                .choices = calloc(input->n_instances + 1, sizeof(plan.choices[0])),
        };
        _cleanup_placement_planner_ Planner planner = { 0 };
        PlanCost total;

        if (!plan.choices)
                return -ENOMEM;
        plan.n_choices = input->n_instances;
        plan.reserved = placement_reserved(input);
        plan.reserved_cpus = placement_reserved_cpus(input);
        if (placement_planner_init(&planner, input, &plan) < 0)
                return -ENOMEM;
        placement_search(&planner, &total, &plan.n_prices);
        for (unsigned i = 0; i < N_CRITERIA; i++)
                plan.score.by[i] = (uint64_t)total.by[i];
        for (size_t i = 0; i < planner.n_items; i++) {
                PlanItem *item = &planner.items[i];
                PlacementChoice *choice = item->choice;
                Placement *place = &choice->placement;

                place->memory = item->policy->memory;
                place->migrate = item->policy->migrate;
                place->rate_bytes_per_sec = item->policy->rate_bytes_per_sec;
                place->reason = placement_refusal_to_string(choice->refusal);
                if (!item->placed && !item->movable)
                        continue;
                ID_SET_FOREACH(k, &item->nodes) {
                        id_set_add(&place->nodes, planner.nodes[k].node->id);
                        if (planner.nodes[k].reserved)
                                id_set_add(&choice->reserved, planner.nodes[k].node->id);
                }
                place->cpus = placement_usable_cpus(&planner, item, &item->nodes);
                /* The kernel takes memory from the nearest nodes then, which is as preferred as it
                 * gets. */
                if (!placement_has_memory(&planner, &item->nodes))
                        place->memory = MEMORY_NONE;
                choice->warnings = item_warnings(&planner, item);
                if ((item->movable || item->settled) && input->explain &&
                    item_explain(&planner, item, &total) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_STRUCT(plan);
        return 0;
}

PlacementInput placement_input_of(const Topology *topology, const HostPolicy *host,
                                  const DeviceList *devices) {
        const char *const *cards = (const char *const *)host->reserve.devices.words;
        const size_t n_cards = host->reserve.devices.n_words;

        return (PlacementInput){ .topology = topology,
                                 .host = host,
                                 .nic_nodes = device_nic_nodes(devices, cards, n_cards),
                                 .nic_speed_mbps = device_nic_speed(devices, cards, n_cards) };
}

PlacementInstance placement_instance_of(const InstanceFacts *f, const Topology *topology,
                                        bool limit_is_ours) {
        const NodeMemory *by_node = f->memory_known ? f->by_node : NULL;
        uint64_t need_bytes = limit_is_ours ? 0 : f->limit_bytes;

        /* Without a limit it needs what it holds. */
        if (need_bytes == 0)
                for (size_t i = 0; by_node && i < topology->n_nodes; i++)
                        need_bytes += node_memory_held(&by_node[i]);
        return (PlacementInstance){
                .name = f->name,
                .policy = f->policy,
                .unit = f->unit,
                .ports = f->ports,
                .n_ports = f->n_ports,
                .allowed_nodes = f->allowed_nodes,
                .allowed_cpus = f->allowed_cpus,
                .allowed_by = f->allowed_by,
                .own_nodes = memory_policy_nodes(f->memory_policy),
                .device_nodes = f->storage_nodes,
                .by_node = by_node,
                .need_bytes = need_bytes,
                /* Of others nothing depends on it: their memory nodes stay wide. */
                .huge = f->huge_known && f->policy->memory == MEMORY_BIND ? &f->huge : NULL,
                .exe = f->exe,
                .cpus_used = f->cpus_used,
        };
}

void placement_fill_free(const Topology *topology, const NodeUse *uses,
                         const PlacementInstance *instances, size_t n_instances, uint64_t *ret) {
        for (size_t n = 0; n < topology->n_nodes; n++) {
                uint64_t held = 0;

                for (size_t i = 0; i < n_instances; i++)
                        if (instances[i].by_node)
                                held += node_memory_held(&instances[i].by_node[n]);
                ret[n] = fit_left_bytes(&uses[n], held);
        }
}

void placement_plan_done(PlacementPlan *plan) {
        for (size_t i = 0; i < plan->n_choices; i++)
                free(plan->choices[i].alternatives);
        free(plan->choices);
        *plan = (PlacementPlan){ 0 };
}

/* --- questions about places --- */

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
