/* A plan as it is reported: what it was made from, and its result. Plain data; strings and
 * arrays are borrowed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/instance.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"

/* An instance of a plan: what was planned from, the result, and what is there. */
typedef struct PlanReportInstance {
        const PlacementInstance *in;
        const PlacementChoice *choice;
        const char *storage; /* "/data: ext4 on nvme0n1", or the name of a disk; NULL: not known */

        /* For an instance that runs: */
        int32_t pid;      /* 0: it is imagined */
        NodeSet in_force; /* empty: it is not bound */
        bool bound;       /* it is bound there, and keeps its place for that */
        bool cost_known;
        uint64_t cost_bytes;         /* anonymous memory outside of its planned nodes */
        const char *bound_by;        /* "unit", "scope", "cgroup1", "affinity": that binds it, or
                                      * would; "": not known */
        const char *bound_by_reason; /* why by affinity; NULL: it is not, or the host has no more */
        const char *memory_policy;   /* that it has set itself, as numa(7) has it; NULL: none */
        const InstanceInfo *published; /* as the daemon reports it; NULL: it does not */
        const char
                *unplaced; /* why the daemon has no place for it; NULL: it has, or is not asked */
} PlanReportInstance;

/* One that is released has a place in the daemon's plan that is not in force. */
static inline bool plan_report_places(const PlanReportInstance *instance) {
        return !id_set_is_empty(&instance->choice->placement.nodes);
}

typedef struct PlanReport {
        const char *source; /* "this host", "the topology of host7.xml" */
        const Topology *topology;
        const DeviceList *devices;
        const uint64_t *free_bytes; /* by index of the nodes; NULL: not known */
        NodeSet reserved;
        CpuSet reserved_cpus; /* of nodes that are not reserved */
        NodeSet nic_nodes;
        PlanReportInstance *instances;
        size_t n_instances;
        PlacementScore score;
        bool daemon_runs; /* on this host; `published` of the instances is what it reports */
        WordList notes;   /* how the input came about: whole sentences */
} PlanReport;

/* An instance whose place differs between two plans, or between what is in force and the plan. */
typedef struct PlanChange {
        const char *name;
        const PlanReportInstance *before, *after; /* NULL: no policy takes it there */
        NodeSet from, to;                         /* empty: not bound */
} PlanChange;
