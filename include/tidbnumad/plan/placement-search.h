/* The planner's own view of its input (nodes, sockets and policies by index, the instances by
 * name), and its search. For use in plan only; the interface for other layers is placement.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/plan/placement.h"

/* A set of indices into the topology's nodes, for id_set_*(). */
typedef struct NodeBits {
        uint64_t words[PLACEMENT_NODES_MAX / 64];
} NodeBits;

/* As id_set_next(), for the short sets that the search goes through millions of times. */
static inline int node_bits_next(const NodeBits *set, unsigned from) {
        uint64_t mask = UINT64_MAX << (from % 64);

        for (unsigned i = from / 64; i < PLACEMENT_NODES_MAX / 64; i++, mask = UINT64_MAX)
                if (set->words[i] & mask)
                        return (int)(i * 64) + __builtin_ctzll(set->words[i] & mask);
        return -1;
}

#define NODE_BITS_FOREACH(i, set)                                                                  \
        for (int i = node_bits_next((set), 0); i >= 0; i = node_bits_next((set), (unsigned)i + 1))

/* Memory of one kind: base pages, the first, and each size of reserved huge pages. */
enum { PLAN_POOLS_MAX = 1 + HUGE_SIZES_MAX };

typedef struct PlanNode {
        const Node *node;
        uint32_t package;   /* index of the socket */
        bool reserved;      /* by host.reserve */
        uint64_t cpu_part;  /* thousandths of all of its CPUs that one is */
        uint64_t room_part; /* likewise of a quarter of the largest memory, in twelfths; 0: all
                             * nodes have the same */
        size_t n_pools;     /* all, or none where it has no memory */
        uint64_t free_mib[PLAN_POOLS_MAX];
        /* of the instances that are counted there */
        uint32_t n_all, n_exclusive, n_aside;
        uint64_t weight;
        uint64_t used_mib[PLAN_POOLS_MAX];
} PlanNode;

/* A socket. */
typedef struct PlanPackage {
        NodeBits nodes;
        uint32_t n_exclusive; /* instances that are counted there */
} PlanPackage;

/* How many instances of a policy are counted, by node and by socket. */
typedef struct PlanPolicy {
        uint32_t on[PLACEMENT_NODES_MAX], in[PLACEMENT_NODES_MAX];
} PlanPolicy;

/* An instance. Those that are neither placed nor movable are refused. */
typedef struct PlanItem {
        const PlacementInstance *in;
        PlacementChoice *choice;
        const Policy *policy;
        uint32_t policy_index;
        uint32_t kind; /* equal: interchangeable */
        bool exclusive, same_package;
        bool aside;   /* of monitoring, and not exclusive */
        bool placed;  /* its nodes are fixed: explicit or kept */
        bool movable; /* its nodes are to be chosen */
        bool settled; /* they were, by an earlier plan */
        bool auto_count;
        size_t count;      /* nodes to choose, or fixed */
        NodeBits feasible; /* it may have these … */
        NodeBits must;     /* … and has to have these */
        NodeBits nearest;  /* of the feasible ones those that the search chooses from */
        NodeBits former;   /* those of in_force that are there */
        uint32_t n_former;
        uint32_t device[PLACEMENT_NODES_MAX]; /* by node, the distance to the nearest device */
        bool has_device;
        int64_t at_mib[PLACEMENT_NODES_MAX]; /* by node, of its memory what would not have to
                                              * move; 0: not known */
        int64_t all_mib;                     /* the sum of it */
        uint64_t share_mib[PLAN_POOLS_MAX];  /* of each node */
        uint32_t weight;                     /* of each node; see placement_node_weight() */
        NodeBits nodes;                      /* where it is */
} PlanItem;

typedef struct Planner {
        const PlacementInput *input;
        PlanNode nodes[PLACEMENT_NODES_MAX];
        size_t n_nodes, n_packages, n_pools;
        size_t n_normal, n_cpus; /* nodes of ordinary memory; CPUs, online or not */
        PlanPackage packages[PLACEMENT_NODES_MAX];
        PlanPolicy *policies; /* owned */
        size_t n_policies;
        NodeBits homes, reserved;
        /* CPUs that an instance does not get: none of them, unless its policy lists them, unless an
         * entry of `instances` names their nodes. Each includes the one before. */
        CpuSet taken_cpus, unlisted_cpus, unnamed_cpus;
        PlanItem *items; /* by name; owned */
        size_t n_items;
        PlanItem **movable; /* of the items, in the order in which they are placed; owned */
        size_t n_movable;
        size_t effort; /* number of costs that the search may still compute */
} Planner;

/* --- placement-rules.c: the input as the planner sees it, and the hard rules --- */

/* For each of the plan's choices, which take the results of the rules. 0 or -ENOMEM. */
int placement_planner_init(Planner *planner, const PlacementInput *input, PlacementPlan *plan);
void placement_planner_done(Planner *planner);
#define _cleanup_placement_planner_ _cleanup_(placement_planner_done)

static inline uint32_t placement_distance(const Planner *planner, size_t from, size_t to) {
        const Topology *topology = planner->input->topology;

        if (!topology->distances)
                return from == to ? 10 : 20;
        return topology->distances[from * topology->n_nodes + to];
}

/* The nodes that count as an instance's device, and are there. */
NodeSet placement_devices(const PlacementInput *input, const PlacementInstance *in);

/* MiB of each of `n` nodes that the need is split over; what a node has left of base pages. */
uint64_t placement_share_mib(uint64_t need_bytes, size_t n);
uint64_t placement_free_mib(const PlacementInput *input, size_t node);

uint32_t placement_node_weight(const PlacementInstance *in, size_t n_nodes);

/* What a weight costs per CPU and per memory; by index of the topology's nodes. */
uint64_t placement_cpu_part(const PlacementInput *input, size_t node);
uint64_t placement_room_part(const Topology *topology, size_t node);

/* The CPUs of these nodes that the policy chooses and the parent cgroup allows. */
CpuSet placement_usable_cpus(const Planner *planner, const PlanItem *item, const NodeBits *nodes);

/* Does one of them have memory? */
bool placement_has_memory(const Planner *planner, const NodeBits *nodes);

/* --- placement-search.c ---
 *
 * A good plan quickly: each item in turn to where it is cheapest, then moves, swaps and short
 * chains of moves while they help. It does not prove that no plan is better. */

/* As a PlacementScore; a difference may be below zero. */
typedef struct PlanCost {
        int64_t by[N_CRITERIA];
} PlanCost;

/* <0, 0, >0 as a is better than, equal to, worse than b. */
int placement_cost_compare(const PlanCost *a, const PlanCost *b);

/* Adds the price of these nodes for an item that is counted nowhere: the scores are sums of such
 * prices, so that a search need not count everything again. What the item keeps of its former nodes
 * and of its memory is deducted; the score adds the whole of both. */
void placement_price(const Planner *planner, const PlanItem *item, const NodeBits *nodes,
                     PlanCost *sum);

/* What the first of its nodes in a socket adds. */
static inline int64_t placement_price_package(const Planner *planner, const PlanItem *item,
                                              uint32_t package) {
        return (item->exclusive ? planner->packages[package].n_exclusive : 0) +
               planner->policies[item->policy_index].in[package];
}

/* Counts an item on nodes where it is from now on; takes it from where it is counted. */
void placement_put(Planner *planner, PlanItem *item, NodeBits nodes);
void placement_take(Planner *planner, const PlanItem *item);

/* Places every movable item; of equal plans the one that is the easiest to read. The score of the
 * plan, and the number of costs that were computed to improve it. */
void placement_search(Planner *planner, PlanCost *ret_total, size_t *ret_n_prices);

/* The feasible sets of nodes of an item, one after the other: all of them where they are some
 * thousands at most, else of each node that one with those nearest to it. */
typedef struct PlanSets {
        const Planner *planner;
        const PlanItem *item;
        uint16_t pool[PLACEMENT_NODES_MAX]; /* feasible nodes beside those it must have, socket by
                                             * socket */
        size_t n_pool;
        size_t group, n_group; /* where the present socket's nodes begin in it, and how many */
        size_t chosen[PLACEMENT_NODES_MAX]; /* positions in the group */
        size_t n_chosen, seed;
        bool begun, seeds;
        NodeBits nodes; /* the present set */
} PlanSets;

void placement_sets_init(PlanSets *sets, const Planner *planner, const PlanItem *item);
bool placement_sets_next(PlanSets *sets);
