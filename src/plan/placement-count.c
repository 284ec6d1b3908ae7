/* `count: auto`: the nodes that are left for a policy, divided by its instances. */
#include "tidbnumad/plan/placement-problem.h"
#include "tidbnumad/plan/placement.h"

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
        NodeBits left = id_set_minus(&item->feasible, &problem->reserved);

        return id_set_minus(&left, taken);
}

/* The number of nodes of `left` that instances of another policy with a count will need, after
 * subtracting other nodes that are feasible for them. */
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
        elsewhere = id_set_minus(&all, left);
        n = id_set_count(&all);
        n_elsewhere = id_set_count(&elsewhere);
        wanted = wanted < n ? wanted : n;
        return wanted > n_elsewhere ? wanted - n_elsewhere : 0;
}

/* Counts the instances with which an item divides nodes: those of its own policy, and exclusive
 * instances of other policies that divide nodes as well. */
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
                return id_set_count(&item->feasible);
        ID_SET_FOREACH(i, &item->feasible) {
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
                    id_set_equal(&other->feasible, &item->feasible))
                        return other;
        }
        return NULL;
}

void placement_auto_counts(PlanProblem *problem) {
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

/* --- host.reserve: nodes for the network, or some cores of a node that cannot be spared --- */

/* `auto` takes at most this part of the cores of a node. */
enum { AUTO_PART = 8 };

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

static uint32_t auto_cores(uint32_t speed_mbps, uint32_t n_cores) {
        const uint32_t wanted = speed_mbps >= 100000 ? 8 : speed_mbps >= 25000 ? 4 : 1;
        const uint32_t most = n_cores >= AUTO_PART ? n_cores / AUTO_PART : 1;

        return wanted < most ? wanted : most;
}

/* At least one core is left to the instances. */
static uint32_t count_cores(const PlacementInput *input, uint32_t n_cores) {
        const uint32_t cpus = input->host->reserve.cpus;
        const uint32_t wanted =
                cpus == RESERVE_CPUS_AUTO ? auto_cores(input->nic_speed_mbps, n_cores) : cpus;

        return wanted < n_cores ? wanted : n_cores - (n_cores > 0);
}

static void add_cores(const PlacementInput *input, const Node *node, CpuSet *cpus) {
        const CpuSet withheld = topology_withheld_cpus(input->topology);
        CpuSet firsts = node->first_threads;
        uint32_t left;

        id_set_subtract(&firsts, &withheld); /* no interrupts go there */
        left = count_cores(input, id_set_count(&firsts));
        ID_SET_FOREACH(first, &firsts) {
                CpuSet core;

                if (left-- == 0)
                        return;
                core = topology_core(input->topology, (uint32_t)first);
                id_set_union(cpus, &core);
        }
}

CpuSet placement_reserved_cpus(const PlacementInput *input) {
        const NodeSet nodes = placement_reserved(input);
        CpuSet cpus = { 0 };

        for (size_t i = 0; input->host->reserve.cpus > 0 && i < input->topology->n_nodes; i++) {
                const Node *node = &input->topology->nodes[i];

                if (id_set_has(&input->nic_nodes, node->id) && !id_set_has(&nodes, node->id))
                        add_cores(input, node, &cpus);
        }
        return cpus;
}
