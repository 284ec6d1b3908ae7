/* The planner: computes from topology, instances, policies and the placements in force where each
 * instance belongs, and why.
 *
 * Pure and deterministic: the same result for the same input, independent of the order of the
 * instances. Stable: an instance that is bound and still fits stays, so that one more instance
 * moves no other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/model/instance.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/topology.h"

/* On a machine with more nodes than this no instance is placed. */
#define PLACEMENT_NODES_MAX 128u

typedef struct PlacementInput {
        const Topology *topology;
        const HostPolicy *host;
        uint32_t nic_speed_mbps;    /* of the fastest of the cards; 0: not known */
        NodeSet nic_nodes;          /* of the cards that `host` names; empty: none known */
        const uint64_t *free_bytes; /* by index of the topology's nodes: what each has left beside
                                     * what the instances here hold; NULL: not known, then all of
                                     * its memory */
        const HugePools *pools;     /* of reserved huge pages; NULL: none */
        const PlacementInstance *instances;
        size_t n_instances;
        bool explain; /* collect alternatives */
} PlacementInput;

/* As many as an operator reads: one of each single node of the widest machines. */
#define PLACEMENT_ALTERNATIVES_MAX 64u

typedef struct PlacementPlan {
        PlacementChoice *choices; /* beside the input's instances; owned */
        size_t n_choices;
        NodeSet reserved;     /* the nodes that `host.reserve` selects */
        CpuSet reserved_cpus; /* likewise, see placement_reserved_cpus() */
        PlacementScore score;
        size_t n_prices; /* number of costs that were computed to improve the plan: the same on
                          * every machine */
} PlacementPlan;

/* The input of a host, without its memory and without instances. Borrows. */
PlacementInput placement_input_of(const Topology *topology, const HostPolicy *host,
                                  const DeviceList *devices);

/* The input of an instance, running or not, without what is in force: that only the caller knows.
 * `limit_is_ours`: the memory limit was set because of its place, so it is not what it needs.
 * Borrows. */
PlacementInstance placement_instance_of(const InstanceFacts *facts, const Topology *topology,
                                        bool limit_is_ours);

/* Fills `ret` with `free_bytes` for these instances, from the use of each node of the topology. */
void placement_fill_free(const Topology *topology, const NodeUse *uses,
                         const PlacementInstance *instances, size_t n_instances, uint64_t *ret);

void placement_plan_done(PlacementPlan *plan);
#define _cleanup_placement_plan_ _cleanup_(placement_plan_done)

/* 0 or -ENOMEM: what cannot be placed is refused in its choice, and is no error. */
int placement_plan_build(const PlacementInput *input, PlacementPlan *ret);

/* The share of a node's CPUs that an instance counts for: the `weight` of its policy. With `auto`,
 * the CPUs that its product needs under load (model/product.h), or the CPUs that it uses if these
 * are more, as a power of two. So an idle server has the weight of a busy one, and a varying load
 * does not change the weight. */
uint32_t placement_weight(const PlacementInstance *in);

/* The nodes that `host.reserve` selects. Reads `topology`, `host` and `nic_nodes` only. */
NodeSet placement_reserved(const PlacementInput *input);

/* Whole cores of the nodes of the network cards, the lowest first, where these nodes are not
 * reserved themselves: for interrupts. No instance gets them unless its policy lists CPUs. */
CpuSet placement_reserved_cpus(const PlacementInput *input);

/* Does the policy itself name the instance's nodes, so that nothing else decides its place? */
bool placement_is_explicit(const Policy *policy, const char *unit, const uint16_t *ports,
                           size_t n_ports);

/* The nodes to which an instance counts as bound, by the CPUs that it is bound to and those that
 * its parent cgroup allows (empty: all): fewer nodes than it could have. Empty: it is not bound. */
NodeSet placement_bound_nodes(const Topology *topology, const CpuSet *cpus, const CpuSet *allowed);

/* The nodes of `bound` to keep an instance on that has bound itself. None if one is reserved: a
 * program that binds itself takes the first node, as haproxy does, and that is often the network
 * card's. */
NodeSet placement_adopted_nodes(const NodeSet *bound, const NodeSet *reserved);

/* The policies have changed. Must an instance be placed again although it still fits where it
 * is, because that may be the wrong place now? So it is with another `near` or `share`, and on a
 * node that is reserved from now on. Either policy may be NULL: then it is not. */
bool placement_weighs_again(const Policy *before, const Policy *after, const NodeSet *place,
                            const NodeSet *newly_reserved);
