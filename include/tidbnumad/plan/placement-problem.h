/* The planner's own view of its input: nodes, sockets and policies by index, sets of nodes as short
 * bit sets, the instances by name. For use in plan only; the interface for other layers is
 * placement.h. */
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

/* Memory of one kind: base pages, the first, and each size of reserved huge pages. */
enum { PLAN_POOLS_MAX = 1 + HUGE_SIZES_MAX };

typedef struct PlanNode {
        const Node *node;
        uint32_t package; /* index of the socket */
        bool home, reserved;
        uint64_t cpu_part;  /* thousandths of all of its CPUs that one is */
        uint64_t room_part; /* likewise of a quarter of the largest memory, in twelfths; 0: all
                             * nodes have the same */
        uint64_t free_mib[PLAN_POOLS_MAX];
} PlanNode;

/* An instance. Those that are neither placed nor movable are refused. */
typedef struct PlanItem {
        const PlacementInstance *in;
        PlacementChoice *choice;
        const Policy *policy;
        uint32_t policy_index;
        uint32_t kind; /* equal: interchangeable */
        bool exclusive, same_package;
        bool placed;  /* its nodes are fixed: explicit or kept */
        bool movable; /* its nodes are to be chosen */
        bool settled; /* they were, by an earlier plan */
        bool auto_count;
        size_t count;      /* nodes to choose */
        NodeBits feasible; /* it may have these … */
        NodeBits must;     /* … and has to have these */
        NodeBits former;   /* those of in_force that are there */
        uint32_t n_former;
        uint32_t *device; /* by node, the distance to the nearest device; NULL: none; owned */
        int64_t *at_mib;  /* by node, of its memory what would not have to move; NULL: not known;
                           * owned */
        int64_t all_mib;  /* the sum of it */
        uint64_t share_mib[PLAN_POOLS_MAX]; /* of each node */
        uint32_t weight;                    /* of each node; see placement_node_weight() */
        uint16_t *nodes;                    /* where it is, ascending; owned */
        size_t n_nodes;
} PlanItem;

typedef struct PlanProblem {
        const PlacementInput *input;
        PlanNode *nodes;
        size_t n_nodes;
        size_t n_packages, n_policies, n_pools;
        NodeBits homes, reserved;
        CpuSet reserved_cpus;
        CpuSet withheld_cpus, taken_cpus; /* see topology_withheld_cpus() */
        PlanItem *items;                  /* by name */
        size_t n_items;
} PlanProblem;

/* For each of PlacementPlan's choices, which take the results of the rules. 0 or -ENOMEM. */
int placement_problem_build(const PlacementInput *input, PlacementPlan *plan, PlanProblem *ret);
void placement_problem_done(PlanProblem *problem);
#define _cleanup_placement_problem_ _cleanup_(placement_problem_done)

NodeBits placement_problem_bits(const PlanProblem *problem, const NodeSet *nodes);
uint32_t placement_problem_distance(const PlanProblem *problem, size_t from, size_t to);

/* Room for `n` nodes of an item. -ENOMEM. */
int placement_problem_reserve(PlanItem *item, size_t n);
void placement_problem_set_nodes(PlanItem *item, const NodeBits *bits);

/* The nodes that count as an instance's device, and are there. */
NodeSet placement_devices(const PlacementInput *input, const PlacementInstance *in);

/* MiB of each of `n` nodes that the need is split over; what a node has left of base pages. */
uint64_t placement_share_mib(uint64_t need_bytes, size_t n);
uint64_t placement_free_mib(const PlacementInput *input, size_t node);

/* Splits the item's need of each pool over `n` nodes. */
void placement_split_need(const PlanProblem *problem, PlanItem *item, size_t n);

uint32_t placement_node_weight(const PlacementInstance *in, size_t n_nodes);

/* What a weight costs per CPU and per memory; by index of the topology's nodes. */
uint64_t placement_cpu_part(const PlacementInput *input, size_t node);
uint64_t placement_room_part(const Topology *topology, size_t node);

/* The hard rules: whether and where each item may be. Marks what is refused, explicit and kept,
 * and the nodes that are feasible for the others. */
int placement_feasible(PlanProblem *problem);

/* The CPUs of these nodes that the policy chooses and the parent cgroup allows. */
CpuSet placement_usable_cpus(const PlanProblem *problem, const PlanItem *item,
                             const NodeBits *nodes);

/* Does one of them have memory? */
bool placement_has_memory(const PlanProblem *problem, const NodeBits *nodes);

/* `count: auto`: how many nodes the movable items get that leave it open. */
void placement_auto_counts(PlanProblem *problem);
