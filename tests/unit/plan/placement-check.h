/* The planner's hard rules once more, written plainly and by themselves. After placement-support.h.
 */
#pragma once

#include "placement-support.h"
#include "tidbnumad/model/match.h"

/* The CPUs that an instance gets on these nodes. */
static inline CpuSet expected_cpus(const World *w, const PlacementInstance *in,
                                   const NodeSet *nodes) {
        CpuSet cpus = { 0 }, firsts = { 0 };

        for (size_t n = 0; n < w->topology.n_nodes; n++)
                if (id_set_has(nodes, w->nodes[n].id))
                        id_set_union(&cpus, &w->nodes[n].cpus);
        if (in->policy->cpus.choice == CPUS_LIST)
                id_set_intersect(&cpus, &in->policy->cpus.list);
        if (!id_set_is_empty(&in->allowed_cpus))
                id_set_intersect(&cpus, &in->allowed_cpus);
        if (in->policy->cpus.choice != CPUS_ONE_PER_CORE || !w->topology.core)
                return cpus;
        ID_SET_FOREACH(cpu, &cpus) /* of world_pair_threads() */
        if (cpu % 2 == 0 || !id_set_has(&cpus, (uint32_t)cpu - 1))
                id_set_add(&firsts, (uint32_t)cpu);
        return firsts;
}

static inline bool is_reserved(const World *w, uint32_t id) {
        switch (w->host.reserve.kind) {
        case RESERVE_NIC:
                return id_set_has(&w->input.nic_nodes, id);
        case RESERVE_LIST:
                return id_set_has(&w->host.reserve.nodes, id);
        case RESERVE_NONE:
                break;
        }
        return false;
}

static inline bool may_have_node(const World *w, const PlacementInstance *in, const Node *node) {
        const Place *place = &in->policy->place;
        NodeSet alone = { 0 };
        CpuSet cpus;

        id_set_add(&alone, node->id);
        cpus = expected_cpus(w, in, &alone);
        return topology_is_home(node) &&
               (id_set_is_empty(&place->nodes) || id_set_has(&place->nodes, node->id)) &&
               !id_set_has(&place->avoid, node->id) &&
               (id_set_is_empty(&in->allowed_nodes) || id_set_has(&in->allowed_nodes, node->id)) &&
               (in->policy->cpus.choice == CPUS_LIST || !id_set_is_empty(&cpus)) &&
               !(w->host.reserve.strict && is_reserved(w, node->id));
}

/* Do these nodes keep all rules? Of any size where the count is automatic. */
static inline bool is_possible(const World *w, const PlacementInstance *in, const NodeSet *nodes) {
        const Place *place = &in->policy->place;
        uint32_t n = id_set_count(nodes), count = place->count_is_set ? place->count : 1;
        uint32_t package = UINT32_MAX;
        CpuSet cpus = expected_cpus(w, in, nodes);

        if (n == 0 || (count != PLACE_COUNT_AUTO && n != count))
                return false;
        ID_SET_FOREACH(id, nodes) {
                const Node *node = topology_find(&w->topology, (uint32_t)id);

                if (!node || !may_have_node(w, in, node))
                        return false;
                if (place->same_package && package != UINT32_MAX && package != node->package)
                        return false;
                package = node->package;
        }
        return in->policy->cpus.choice != CPUS_LIST || id_set_equal(&cpus, &in->policy->cpus.list);
}

static inline bool uses_reserved(const World *w, const NodeSet *nodes) {
        ID_SET_FOREACH(id, nodes)
        if (is_reserved(w, (uint32_t)id))
                return true;
        return false;
}

static inline bool names_only_reserved(const World *w, const NodeSet *nodes) {
        ID_SET_FOREACH(id, nodes)
        if (!is_reserved(w, (uint32_t)id))
                return false;
        return !id_set_is_empty(nodes);
}

static inline const NodeSet *explicit_of(const PlacementInstance *in) {
        const PolicyInstance *entry = match_instance(in->policy, in->unit, in->ports, in->n_ports);

        if (entry)
                return &entry->nodes;
        return in->policy->place.count_is_set || id_set_is_empty(&in->policy->place.nodes)
                       ? NULL
                       : &in->policy->place.nodes;
}

/* The choice keeps the rules; what is not refused is where it has to be. */
static inline void check_choice(const World *w, size_t i, const PlacementChoice *choice) {
        const PlacementInstance *in = &w->instances[i];
        const NodeSet *nodes = &choice->placement.nodes, *explicit = explicit_of(in);
        CpuSet cpus = expected_cpus(w, in, nodes);

        assert_int_equal(choice->refusal == REFUSAL_NONE, choice->basis != BASIS_REFUSED);
        assert_int_equal(id_set_is_empty(nodes), choice->basis == BASIS_REFUSED);
        assert_true(id_set_equal(&cpus, &choice->placement.cpus));
        assert_int_equal(choice->warnings & (WARN_RESERVED | WARN_RESERVED_NAMED),
                         !uses_reserved(w, nodes) ? 0
                         : choice->basis == BASIS_EXPLICIT ||
                                         names_only_reserved(w, &in->policy->place.nodes)
                                 ? WARN_RESERVED_NAMED
                                 : WARN_RESERVED);
        if (explicit) {
                assert_true(choice->basis == BASIS_REFUSED ||
                            (choice->basis == BASIS_EXPLICIT && id_set_equal(nodes, explicit)));
                return;
        }
        assert_true(choice->basis != BASIS_EXPLICIT);
        assert_int_equal(choice->basis == BASIS_KEPT, is_possible(w, in, &in->in_force));
        if (choice->basis == BASIS_KEPT)
                assert_true(id_set_equal(nodes, &in->in_force));
        else if (choice->basis == BASIS_CHOSEN)
                assert_true(is_possible(w, in, nodes));
}

static inline void check_plan(const World *w, const PlacementPlan *plan) {
        PlacementScore score = score_of(w, plan);

        for (size_t i = 0; i < plan->n_choices; i++)
                check_choice(w, i, &plan->choices[i]);
        assert_memory_equal(&score, &plan->score, sizeof(score));
}
