/* Where each instance belongs: the rules, the search, and what it all comes to. */
#include "tidbnumad/plan/match.h"
#include "tidbnumad/plan/placement-explain.h"

bool placement_is_explicit(const Policy *policy, const char *unit, const uint16_t *ports,
                           size_t n_ports) {
        return match_instance(policy, unit, ports, n_ports) ||
               (!policy->place.count_given && !id_set_is_empty(&policy->place.nodes));
}

NodeSet placement_bound_nodes(const Topology *topology, const CpuSet *cpus, const CpuSet *allowed) {
        const NodeSet homes = topology_homes(topology);
        CpuSet could = topology_cpus(topology), bound = *cpus;
        NodeSet nodes, all;

        if (!id_set_is_empty(allowed))
                id_set_intersect(&could, allowed);
        id_set_intersect(&bound, &could);
        nodes = topology_nodes_of(topology, &bound);
        all = topology_nodes_of(topology, &could);
        id_set_intersect(&nodes, &homes);
        id_set_intersect(&all, &homes);
        return id_set_equal(&nodes, &all) ? (NodeSet){ 0 } : nodes;
}

NodeSet placement_adopted_nodes(const NodeSet *bound, const NodeSet *reserved) {
        return id_set_intersects(bound, reserved) ? (NodeSet){ 0 } : *bound;
}

bool placement_weighs_anew(const Policy *before, const Policy *after, const NodeSet *place,
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
        p->cpus = placement_open_cpus(problem, item, &bits);
}

static int tell(PlanSearch *search, const PlanCost *total) {
        PlanProblem *problem = search->problem;

        for (size_t i = 0; i < problem->n_items; i++) {
                PlanItem *item = &problem->items[i];

                fill_placement(problem, item);
                if (item->placed || item->movable)
                        placement_explain_warnings(search, item);
                if (item->movable && problem->input->explain &&
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
        placement_search_tidy(&search);
        if (placement_counts_total(problem, &total) < 0)
                return -ENOMEM;
        for (unsigned i = 0; i < N_CRITERIA; i++)
                plan->score.by[i] = (uint64_t)total.by[i];
        return tell(&search, &total);
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
        *ret = plan;
        plan = (PlacementPlan){ 0 };
        return 0;
}
