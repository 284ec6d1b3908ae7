/* Where everybody belongs: the running instances and the known units, planned together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/plan/placement.h"

typedef struct Manager Manager;
typedef struct Instance Instance;

/* What the planner said of an instance or a unit, and what it has to be told about it. */
typedef struct Planned {
        bool known;   /* it was planned */
        bool changed; /* and not yet acted upon */
        bool again;   /* its rules have changed: where it is does not count */
        Placement placement;
        PlacementBasis basis;
        PlacementRefusal refusal;
        uint32_t warnings;    /* PlacementWarning */
        NodeSet device_nodes; /* of the disks under its data directory */
        bool allowed_known;
        NodeSet allowed_nodes; /* of its parent cgroup; empty: everything */
        CpuSet allowed_cpus;
} Planned;

/* Units whose place has become another one by the last plan are prepared anew. */
void place_decide_units(Manager *manager);

/* So that `planned` of the instance is known. Of one whose nodes are explicit it is without a look
 * at the others: a storm of starts must not plan for all of them at each. */
void place_ensure(Instance *instance);

/* Plans, if something has changed since, with what the instances hold and the nodes have left now.
 * Those whose place has become another one are looked at soon. What cannot be planned for want of
 * memory keeps its place. */
void place_refresh(Manager *manager);

/* The disks under its data directory are known, or others. */
void place_note_devices(Instance *instance, const NodeSet *nodes);

/* CPUs have come or gone: what parent cgroups allow is read anew. */
void place_note_topology(Manager *manager);

/* These policies are about to come in force. Who no longer fits will move, and who
 * placement_weighs_anew() names; nobody else. */
void place_note_policies(Manager *manager, const PolicySet *fresh);
