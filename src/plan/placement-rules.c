/* The planner's own view of its input, and the hard rules: where an instance may be at all, or what
 * it is refused for; how many nodes it gets, and what it weighs. */
#include <assert.h>
#include <string.h>

#include "tidbnumad/model/match.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/plan/placement-search.h"

/* Of one instance on one node. It keeps the sums of any number of them from running over. */
#define SHARE_MIB_MAX (UINT64_C(1) << 40)

/* MOVE_GRAIN_MIB: less than this is not worth a place that is harder to read: the libraries and the
 * stack of a server lie anywhere. The memory of nodes is compared in QUARTERS of the largest: the
 * kernel keeps some for itself on the first node, and that is to decide nothing. AUTO_PART: `auto`
 * reserves at most this part of the cores of a node. */
enum { MOVE_GRAIN_MIB = 16, QUARTERS = 4, TWELFTHS = 12, AUTO_PART = 8 };

static NodeBits node_bits(const Planner *planner, const NodeSet *nodes) {
        NodeBits bits = { 0 };

        for (size_t i = 0; i < planner->n_nodes; i++)
                if (id_set_has(nodes, planner->nodes[i].node->id))
                        id_set_add(&bits, i);
        return bits;
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

/* --- what an instance weighs and needs, and what a node has of it --- */

uint32_t placement_weight(const PlacementInstance *in) {
        const Policy *policy = in->policy;
        uint32_t weight;

        if (policy->weight != WEIGHT_AUTO)
                return policy->weight;
        weight = match_weight(in->exe, policy, in->unit);
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

/* Splits the item's need of each pool over `n` nodes. */
static void item_split_need(const Planner *planner, PlanItem *item, size_t n) {
        const HugeNeed *huge = item->in->huge;

        item->share_mib[0] = placement_share_mib(item->in->need_bytes, n);
        for (size_t p = 1; huge && p < planner->n_pools; p++) {
                const uint64_t page_bytes = planner->input->pools->list[p - 1].page_bytes;

                item->share_mib[p] = placement_share_mib(
                        pages_bytes(huge_need_untouched(huge, page_bytes), page_bytes), n);
        }
}

/* --- the CPUs that an item may have --- */

static CpuSet online_cpus_of(const Planner *planner, const NodeBits *nodes) {
        CpuSet all = { 0 };

        ID_SET_FOREACH(i, nodes)
        id_set_union(&all, &planner->nodes[i].node->cpus);
        return all;
}

/* CPUs that the policy lists are its own even if they are reserved or isolated, and so are isolated
 * ones of nodes that an entry of `instances` names. */
static CpuSet own_cpus(const Planner *planner, const PlanItem *item, const NodeBits *nodes) {
        const CpuChoice choice = item->policy->cpus.choice;
        CpuSet all = online_cpus_of(planner, nodes);

        if (choice == CPUS_LIST)
                id_set_intersect(&all, &item->policy->cpus.list);
        id_set_subtract(&all, choice == CPUS_LIST   ? &planner->taken_cpus
                              : item->choice->entry ? &planner->unlisted_cpus
                                                    : &planner->unnamed_cpus);
        return all;
}

CpuSet placement_usable_cpus(const Planner *planner, const PlanItem *item, const NodeBits *nodes) {
        CpuSet all = own_cpus(planner, item, nodes);

        if (!id_set_is_empty(&item->in->allowed_cpus))
                id_set_intersect(&all, &item->in->allowed_cpus);
        return item->policy->cpus.choice == CPUS_ONE_PER_CORE
                       ? topology_one_per_core(planner->input->topology, &all)
                       : all;
}

bool placement_has_memory(const Planner *planner, const NodeBits *nodes) {
        ID_SET_FOREACH(i, nodes)
        if (topology_has_memory(planner->nodes[i].node))
                return true;
        return false;
}

static NodeBits nodes_with_cpus(const Planner *planner, const NodeBits *nodes, const CpuSet *cpus) {
        NodeBits with_cpus = { 0 };

        ID_SET_FOREACH(i, nodes)
        if (id_set_intersects(&planner->nodes[i].node->cpus, cpus))
                id_set_add(&with_cpus, (size_t)i);
        return with_cpus;
}

/* Those that have CPUs for an item that lists none. Nodes are asked one by one: the sets of CPUs
 * are long, and uniting them for each item took a sixth of a plan. */
static NodeBits nodes_with_own_cpus(const Planner *planner, const NodeBits *nodes) {
        NodeBits own = { 0 };

        NODE_BITS_FOREACH(i, nodes)
        if (!id_set_is_subset(&planner->nodes[i].node->cpus, &planner->unnamed_cpus))
                id_set_add(&own, (size_t)i);
        return own;
}

static bool allows_list(const PlanItem *item) {
        return id_set_is_empty(&item->in->allowed_cpus) ||
               id_set_is_subset(&item->policy->cpus.list, &item->in->allowed_cpus);
}

/* --- explicit nodes --- */

static PlacementRefusal check_explicit(const Planner *planner, const PlanItem *item,
                                       const NodeSet *nodes) {
        const NodeBits bits = node_bits(planner, nodes);
        const CpuSet cpus = online_cpus_of(planner, &bits), own = own_cpus(planner, item, &bits),
                     usable = placement_usable_cpus(planner, item, &bits);
        const CpuSet *list =
                item->policy->cpus.choice == CPUS_LIST ? &item->policy->cpus.list : NULL;
        NodeSet with_memory = topology_memory_nodes(planner->input->topology);

        id_set_intersect(&with_memory, nodes);
        if (id_set_count(&bits) != id_set_count(nodes))
                return REFUSAL_NODE_ABSENT;
        if (id_set_is_empty(&cpus))
                return REFUSAL_NO_CPU;
        if (item->policy->memory == MEMORY_BIND && !placement_has_memory(planner, &bits))
                return REFUSAL_NO_MEMORY;
        if (list && !id_set_is_subset(list, &cpus))
                return REFUSAL_CPUS_ABSENT;
        /* A node without memory is in no cgroup's memory nodes: what counts there is the CPUs. */
        if (!id_set_is_empty(&item->in->allowed_nodes) &&
            !id_set_is_subset(&with_memory, &item->in->allowed_nodes))
                return REFUSAL_CGROUP_NODES;
        if (item->policy->memory != MEMORY_NONE && !id_set_is_empty(&item->in->own_nodes) &&
            !id_set_intersects(nodes, &item->in->own_nodes))
                return REFUSAL_OWN_MEMORY;
        if (id_set_is_subset(&cpus, &planner->taken_cpus) ||
            (list && id_set_intersects(list, &planner->taken_cpus)))
                return REFUSAL_TAKEN;
        if (id_set_is_empty(&own))
                return REFUSAL_ISOLATED;
        return id_set_is_empty(&usable) || (list && !allows_list(item)) ? REFUSAL_CGROUP_CPUS
                                                                        : REFUSAL_NONE;
}

static void item_fix(const Planner *planner, PlanItem *item, const NodeBits *bits,
                     PlacementBasis basis) {
        size_t n_with_memory = 0;

        /* The need of explicit nodes is split over those that have memory. */
        ID_SET_FOREACH(i, bits)
        n_with_memory += planner->nodes[i].node->memory_bytes > 0;
        item_split_need(planner, item, n_with_memory);
        item->feasible = item->nodes = *bits;
        item->count = id_set_count(bits);
        item->weight = placement_node_weight(item->in, item->count);
        item->placed = true;
        item->choice->basis = basis;
        item->choice->n_feasible = 1;
}

/* --- chosen nodes: each rule takes some away --- */

/* Does one socket have `need` of these nodes, including all that the item must have? */
static bool fits_package(const Planner *planner, const NodeBits *must, size_t need,
                         const NodeBits *feasible) {
        for (size_t p = 0; p < planner->n_packages; p++) {
                const NodeBits in = id_set_and(feasible, &planner->packages[p].nodes);

                if (id_set_count(&in) >= need && id_set_is_subset(must, &in))
                        return true;
        }
        return false;
}

/* Do these nodes suffice for `count`, or with `count: auto` (0) for any, and if not, why? */
static PlacementRefusal check_feasible(const Planner *planner, const PlanItem *item, size_t count,
                                       const NodeBits *feasible) {
        const size_t n = id_set_count(feasible), n_must = id_set_count(&item->must);
        const size_t need = count ? count : n_must ? n_must : 1;

        if (n == 0)
                return REFUSAL_NO_NODE_LEFT;
        if (n < need)
                return REFUSAL_TOO_FEW_NODES;
        if (item->same_package && !fits_package(planner, &(NodeBits){ 0 }, need, feasible))
                return REFUSAL_NO_PACKAGE;
        if (n_must > need || !id_set_is_subset(&item->must, feasible) ||
            (item->same_package && !fits_package(planner, &item->must, need, feasible)))
                return REFUSAL_CPUS_ABSENT;
        return REFUSAL_NONE;
}

static size_t item_count_wanted(const PlanItem *item) {
        return item->auto_count ? 0 : item->count;
}

/* Takes the other nodes away. Do too few stay? */
static bool item_lacks_after(const Planner *planner, PlanItem *item, const NodeBits *keep) {
        item->feasible = id_set_and(&item->feasible, keep);
        return check_feasible(planner, item, item_count_wanted(item), &item->feasible) !=
               REFUSAL_NONE;
}

static PlacementRefusal item_narrow(const Planner *planner, PlanItem *item) {
        const PlacementInstance *in = item->in;
        const Place *place = &item->policy->place;
        const CpuSet *list =
                item->policy->cpus.choice == CPUS_LIST ? &item->policy->cpus.list : NULL;
        const NodeBits wanted = node_bits(planner, &place->nodes),
                       avoid = node_bits(planner, &place->avoid),
                       allowed = node_bits(planner, &in->allowed_nodes),
                       own = node_bits(planner, &in->own_nodes);
        PlacementRefusal refusal;
        NodeBits keep;
        CpuSet cpus;

        if (id_set_is_empty(&planner->homes))
                return REFUSAL_NO_HOME;
        item->feasible = id_set_minus(&planner->homes, &avoid);
        if (!id_set_is_empty(&place->nodes))
                item->feasible = id_set_and(&item->feasible, &wanted);
        refusal = check_feasible(planner, item, item_count_wanted(item), &item->feasible);
        if (refusal != REFUSAL_NONE)
                return refusal;
        if (list) {
                cpus = online_cpus_of(planner, &item->feasible);
                /* It is meant to the letter, so that each set of nodes has to own all of them. */
                if (!id_set_is_subset(list, &cpus))
                        return REFUSAL_CPUS_ABSENT;
                item->must = nodes_with_cpus(planner, &item->feasible, list);
                refusal = check_feasible(planner, item, item_count_wanted(item), &item->feasible);
                if (refusal != REFUSAL_NONE)
                        return refusal;
                if (id_set_intersects(list, &planner->taken_cpus))
                        return REFUSAL_TAKEN;
        } else {
                const NodeBits feasible = item->feasible;

                keep = nodes_with_own_cpus(planner, &feasible);
                if (item_lacks_after(planner, item, &keep)) {
                        cpus = online_cpus_of(planner, &feasible);
                        return id_set_is_subset(&cpus, &planner->taken_cpus) ? REFUSAL_TAKEN
                                                                             : REFUSAL_ISOLATED;
                }
        }
        if (!id_set_is_empty(&in->allowed_nodes) && item_lacks_after(planner, item, &allowed))
                return REFUSAL_CGROUP_NODES;
        if (!id_set_is_empty(&in->own_nodes) && item_lacks_after(planner, item, &own))
                return REFUSAL_OWN_MEMORY;
        if (!id_set_is_empty(&in->allowed_cpus)) {
                cpus = placement_usable_cpus(planner, item, &item->feasible);
                keep = nodes_with_cpus(planner, &item->feasible, &cpus);
                if (list ? !allows_list(item) : item_lacks_after(planner, item, &keep))
                        return REFUSAL_CGROUP_CPUS;
        }
        keep = id_set_minus(&item->feasible, &planner->reserved);
        if (planner->input->host->reserve.strict && item_lacks_after(planner, item, &keep))
                return REFUSAL_RESERVED;
        return REFUSAL_NONE;
}

/* Refuses the item, fixes its nodes, or leaves them to the search. */
static void item_judge(const Planner *planner, PlanItem *item) {
        const PlacementInstance *in = item->in;
        const Place *place = &item->policy->place;
        PlacementChoice *choice = item->choice;
        const NodeSet *nodes = NULL;
        NodeBits bits;
        bool fits;

        if (item->policy->built_in)
                choice->refusal = REFUSAL_WATCH_ONLY;
        else if (planner->input->topology->n_nodes > PLACEMENT_NODES_MAX)
                choice->refusal = REFUSAL_TOO_MANY_NODES;
        else if (in->n_ports == 0 && match_needs_port(item->policy, in->unit))
                choice->refusal = REFUSAL_NO_PORT_YET;
        if (choice->refusal != REFUSAL_NONE)
                return;
        choice->entry = match_instance(item->policy, in->unit, in->ports, in->n_ports);
        if (choice->entry)
                nodes = &choice->entry->nodes;
        else if (!place->count_is_set && !id_set_is_empty(&place->nodes))
                nodes = &place->nodes;
        if (nodes) {
                choice->refusal = check_explicit(planner, item, nodes);
                bits = node_bits(planner, nodes);
                if (choice->refusal == REFUSAL_NONE)
                        item_fix(planner, item, &bits, BASIS_EXPLICIT);
                return;
        }
        if (in->pinned && check_explicit(planner, item, &in->in_force) == REFUSAL_NONE) {
                item_fix(planner, item, &item->former, BASIS_KEPT);
                return;
        }
        choice->refusal = item_narrow(planner, item);
        if (choice->refusal != REFUSAL_NONE)
                return;
        /* Is what it is bound to one of its possible sets? */
        fits = item->n_former > 0 && id_set_is_subset(&item->former, &item->feasible) &&
               (item->auto_count || item->n_former == item->count) &&
               check_feasible(planner, item, item->n_former, &item->former) == REFUSAL_NONE;
        if (fits && !in->unbound) {
                item_fix(planner, item, &item->former, BASIS_KEPT);
                return;
        }
        if (fits) {
                const NodeBits feasible = item->feasible;

                /* It stays; but a place to which it is not bound is weighed as if it were chosen
                 * now. */
                item_fix(planner, item, &item->former, BASIS_CHOSEN);
                item->settled = true;
                item->feasible = feasible;
                item->n_former = 0;
                item->former = (NodeBits){ 0 };
        } else {
                item->movable = true;
                choice->basis = BASIS_CHOSEN;
        }
        /* Near the network card is beside its node, not on it, where that is left to the card. */
        bits = id_set_minus(&item->feasible, &planner->reserved);
        if (place->near == NEAR_NIC &&
            check_feasible(planner, item, item_count_wanted(item), &bits) == REFUSAL_NONE)
                item->feasible = bits;
}

/* --- `count: auto`: the nodes that are left for a policy, divided by its instances --- */

/* `taken`: the nodes of exclusive instances that stay where they are. */
static NodeBits left_for(const Planner *planner, const PlanItem *item, const NodeBits *taken) {
        NodeBits left = id_set_minus(&item->feasible, &planner->reserved);

        return id_set_minus(&left, taken);
}

/* The number of nodes of `left` that instances of another policy with a count will need, after
 * subtracting other nodes that are feasible for them. */
static size_t count_wanted(const Planner *planner, uint32_t policy, const NodeBits *left,
                           const NodeBits *taken) {
        NodeBits all = { 0 }, elsewhere;
        size_t wanted = 0, n, n_elsewhere;

        for (size_t i = 0; i < planner->n_items; i++) {
                const PlanItem *item = &planner->items[i];
                NodeBits of;

                if (item->policy_index != policy || !item->movable || !item->exclusive ||
                    item->auto_count)
                        continue;
                of = left_for(planner, item, taken);
                id_set_union(&all, &of);
                wanted += item->count;
        }
        elsewhere = id_set_minus(&all, left);
        n = id_set_count(&all);
        n_elsewhere = id_set_count(&elsewhere);
        wanted = wanted < n ? wanted : n;
        return wanted > n_elsewhere ? wanted - n_elsewhere : 0;
}

/* The first of these nodes that are nearest to its device. */
static uint32_t item_nearest(const PlanItem *item, const NodeBits *nodes) {
        int nearest = id_set_next(nodes, 0);

        ID_SET_FOREACH(k, nodes)
        if (item->device[k] < item->device[nearest])
                nearest = k;
        return (uint32_t)nearest;
}

static void planner_auto_counts(Planner *planner) {
        NodeBits taken = { 0 };

        for (size_t i = 0; i < planner->n_items; i++)
                if (planner->items[i].exclusive)
                        id_set_union(&taken, &planner->items[i].nodes);
        for (size_t i = 0; i < planner->n_items; i++) {
                PlanItem *item = &planner->items[i];
                const NodeBits left = left_for(planner, item, &taken);
                const size_t n_left = id_set_count(&left), n_must = id_set_count(&item->must);
                const int must = id_set_next(&item->must, 0);
                uint16_t in_package[PLACEMENT_NODES_MAX] = { 0 };
                NodeBits at_devices = { 0 };
                size_t n = 0, wanted = 0, most = 0, count = 0;

                if (!item->movable || !item->auto_count)
                        continue;
                for (size_t k = 0; k < i && count == 0; k++)
                        if (planner->items[k].movable &&
                            planner->items[k].policy_index == item->policy_index &&
                            id_set_equal(&planner->items[k].feasible, &item->feasible))
                                count = planner->items[k].count;
                if (count > 0) {
                        item->count = count;
                        continue;
                }
                /* With these it divides the nodes: instances of its own policy, and exclusive ones
                 * of other policies that divide nodes as well. */
                for (size_t k = 0; k < planner->n_items; k++) {
                        const PlanItem *other = &planner->items[k];
                        NodeBits of;

                        if (!other->movable || !other->auto_count)
                                continue;
                        of = left_for(planner, other, &taken);
                        if (other->policy_index != item->policy_index &&
                            !(item->exclusive && other->exclusive && id_set_intersects(&of, &left)))
                                continue;
                        n++;
                        if (other->has_device && !id_set_is_empty(&of))
                                id_set_add(&at_devices, item_nearest(other, &of));
                }
                for (uint32_t p = 0; p < planner->n_policies; p++)
                        if (p != item->policy_index)
                                wanted += count_wanted(planner, p, &left, &taken);
                count = (n_left > wanted ? n_left - wanted : 0) / n;
                /* The most nodes that one of its sets can have. */
                ID_SET_FOREACH(k, &item->feasible) {
                        const uint32_t package = item->same_package ? planner->nodes[k].package : 0;

                        in_package[package]++;
                        if (in_package[package] > most && (must < 0 || !item->same_package ||
                                                           planner->nodes[must].package == package))
                                most = in_package[package];
                }
                count = count < most ? count : most;
                /* Each within a socket, apart from each other, and in the socket of its device:
                 * those at one node of a device cannot be apart. */
                for (; item->same_package && count > 1; count--) {
                        size_t sets = 0;
                        bool fits = true;

                        for (size_t p = 0; p < planner->n_packages; p++) {
                                const NodeBits in = id_set_and(&left, &planner->packages[p].nodes),
                                               devices = id_set_and(&in, &at_devices);
                                const size_t n_sets = id_set_count(&in) / count;

                                sets += n_sets;
                                fits &= n_sets >= id_set_count(&devices);
                        }
                        if (fits && sets >= n)
                                break;
                }
                count = count < n_must ? n_must : count;
                item->count = count ? count : 1;
        }
}

/* --- the planner's view --- */

static int compare_items(const void *a, const void *b) {
        const PlanItem *x = a, *y = b;
        int order = device_name_compare(x->in->name, y->in->name);

        if (order != 0)
                return order;
        return x->choice < y->choice ? -1 : x->choice > y->choice;
}

static void planner_describe_item(Planner *planner, size_t i) {
        PlanItem *item = &planner->items[i];
        const Place *place = &item->policy->place;
        const NodeSet device_nodes = placement_devices(planner->input, item->in);
        const NodeBits devices = node_bits(planner, &device_nodes);

        item->policy_index = (uint32_t)planner->n_policies;
        for (size_t k = 0; k < i && item->policy_index == planner->n_policies; k++)
                if (planner->items[k].policy == item->policy)
                        item->policy_index = planner->items[k].policy_index;
        if (item->policy_index == planner->n_policies)
                planner->n_policies++;
        item->exclusive = place->share == SHARE_EXCLUSIVE;
        item->aside =
                !item->exclusive &&
                product_info(match_product(item->in->exe, &item->policy->match, item->in->unit))
                        ->aside;
        item->same_package = place->same_package;
        item->count = place->count_is_set ? place->count : 1;
        item->auto_count = place->count_is_set && place->count == PLACE_COUNT_AUTO;
        item->former = node_bits(planner, &item->in->in_force);
        item->n_former = id_set_count(&item->in->in_force);
        item->has_device = !id_set_is_empty(&devices);
        for (size_t j = 0; item->has_device && j < planner->n_nodes; j++) {
                item->device[j] = UINT32_MAX;
                ID_SET_FOREACH(d, &devices) {
                        uint32_t distance = placement_distance(planner, j, (size_t)d);

                        if (distance < item->device[j])
                                item->device[j] = distance;
                }
        }
        for (size_t j = 0; item->in->by_node && j < planner->n_nodes; j++) {
                uint64_t mib = (item->in->by_node[j].anon_bytes >> 20) + MOVE_GRAIN_MIB / 2;

                mib = mib < SHARE_MIB_MAX ? mib - mib % MOVE_GRAIN_MIB : SHARE_MIB_MAX;
                item->at_mib[j] = (int64_t)mib;
                item->all_mib += (int64_t)mib;
        }
}

static bool is_interchangeable(const PlanItem *a, const PlanItem *b) {
        return a->policy_index == b->policy_index && a->aside == b->aside && a->count == b->count &&
               memcmp(a->share_mib, b->share_mib, sizeof(a->share_mib)) == 0 &&
               a->weight == b->weight && a->n_former == b->n_former &&
               memcmp(a->device, b->device, sizeof(a->device)) == 0 &&
               memcmp(a->at_mib, b->at_mib, sizeof(a->at_mib)) == 0 &&
               id_set_equal(&a->feasible, &b->feasible) && id_set_equal(&a->must, &b->must) &&
               id_set_equal(&a->former, &b->former);
}

int placement_planner_init(Planner *planner, const PlacementInput *input, PlacementPlan *plan) {
        const Topology *topology = input->topology;
        const CpuSet online = topology_cpus(topology);

        assert(plan->n_choices == input->n_instances);
        *planner = (Planner){
                .input = input,
                .n_pools = 1 + (input->pools ? input->pools->n : 0),
                .n_cpus = id_set_count(&online) + id_set_count(&topology->offline_cpus),
                .taken_cpus = topology->taken_cpus,
                .unlisted_cpus = plan->reserved_cpus,
                .unnamed_cpus = topology_withheld_cpus(topology),
                .items = calloc(input->n_instances + 1, sizeof(PlanItem)),
                .n_items = input->n_instances,
                .movable = calloc(input->n_instances + 1, sizeof(PlanItem *)),
        };
        if (!planner->items || !planner->movable)
                return -ENOMEM;
        id_set_union(&planner->unlisted_cpus, &planner->taken_cpus);
        id_set_union(&planner->unnamed_cpus, &planner->unlisted_cpus);
        for (size_t i = 0; i < topology->n_nodes && i < PLACEMENT_NODES_MAX; i++) {
                const Node *node = &topology->nodes[i];
                PlanNode *n = &planner->nodes[planner->n_nodes++];

                *n = (PlanNode){
                        .node = node,
                        .package = (uint32_t)planner->n_packages,
                        .reserved = id_set_has(&plan->reserved, node->id),
                        .cpu_part = placement_cpu_part(input, i),
                        .room_part = placement_room_part(topology, i),
                        .n_pools = node->memory_bytes ? planner->n_pools : 0,
                        .free_mib = { placement_free_mib(input, i) },
                };
                for (size_t k = 0; k < i && n->package == planner->n_packages; k++)
                        if (topology_same_package(planner->nodes[k].node, node))
                                n->package = planner->nodes[k].package;
                if (n->package == planner->n_packages)
                        planner->n_packages++;
                id_set_add(&planner->packages[n->package].nodes, i);
                for (size_t p = 1; p < planner->n_pools; p++) {
                        const HugePool *pool = &input->pools->list[p - 1];

                        n->free_mib[p] = pages_bytes(pool->n_free[i], pool->page_bytes) >> 20;
                }
                planner->n_normal += node->kind == NODE_NORMAL;
                if (topology_is_home(node))
                        id_set_add(&planner->homes, i);
                if (n->reserved)
                        id_set_add(&planner->reserved, i);
        }
        for (size_t i = 0; i < planner->n_items; i++) {
                planner->items[i].in = &input->instances[i];
                planner->items[i].policy = input->instances[i].policy;
                planner->items[i].choice = &plan->choices[i];
        }
        if (planner->n_items > 1)
                qsort(planner->items, planner->n_items, sizeof(planner->items[0]), compare_items);
        for (size_t i = 0; i < planner->n_items; i++) {
                planner_describe_item(planner, i);
                item_judge(planner, &planner->items[i]);
        }
        planner->policies = calloc(planner->n_policies + 1, sizeof(planner->policies[0]));
        if (!planner->policies)
                return -ENOMEM;
        planner_auto_counts(planner);
        for (size_t i = 0; i < planner->n_items; i++) {
                PlanItem *item = &planner->items[i];

                item->kind = (uint32_t)i;
                if (!item->movable)
                        continue;
                item_split_need(planner, item, item->count);
                item->weight = placement_node_weight(item->in, item->count);
                for (size_t k = i; k-- > 0;)
                        if (planner->items[k].movable &&
                            is_interchangeable(&planner->items[k], item))
                                item->kind = planner->items[k].kind;
        }
        return 0;
}

void placement_planner_done(Planner *planner) {
        free(planner->policies);
        free(planner->items);
        free(planner->movable);
        *planner = (Planner){ 0 };
}

/* --- host.reserve: nodes for the network, or some cores of a node that cannot be spared --- */

NodeSet placement_reserved(const PlacementInput *input) {
        const Reserve *reserve = &input->host->reserve;
        NodeSet nodes = { 0 }, all = topology_nodes(input->topology);

        if (reserve->kind == RESERVE_NIC)
                nodes = input->nic_nodes;
        else if (reserve->kind == RESERVE_LIST)
                nodes = reserve->nodes;
        id_set_intersect(&nodes, &all);
        return nodes;
}

CpuSet placement_reserved_cpus(const PlacementInput *input) {
        const CpuSet withheld = topology_withheld_cpus(input->topology);
        const NodeSet nodes = placement_reserved(input);
        CpuSet cpus = { 0 };

        for (size_t i = 0; input->host->reserve.cpus > 0 && i < input->topology->n_nodes; i++) {
                const Node *node = &input->topology->nodes[i];
                /* No interrupts go to withheld ones. */
                const CpuSet usable = id_set_minus(&node->cpus, &withheld),
                             firsts = topology_one_per_core(input->topology, &usable);
                const uint32_t n_cores = id_set_count(&firsts),
                               most = n_cores >= AUTO_PART ? n_cores / AUTO_PART : 1;
                uint32_t left = input->host->reserve.cpus;

                if (!id_set_has(&input->nic_nodes, node->id) || id_set_has(&nodes, node->id))
                        continue;
                if (left == RESERVE_CPUS_AUTO) {
                        left = input->nic_speed_mbps >= 100000  ? 8
                               : input->nic_speed_mbps >= 25000 ? 4
                                                                : 1;
                        left = left < most ? left : most;
                }
                /* At least one core is left to the instances. */
                if (left >= n_cores)
                        left = n_cores - (n_cores > 0);
                ID_SET_FOREACH(first, &firsts) {
                        CpuSet core;

                        if (left-- == 0)
                                break;
                        core = topology_core(input->topology, (uint32_t)first);
                        id_set_union(&cpus, &core);
                }
        }
        return cpus;
}
