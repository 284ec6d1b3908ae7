/* The kernel's counters of each node, for the metrics of nodes. */
#pragma once

#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"

/* A CPU as it was last read. */
typedef struct CpuSeen {
        bool known;
        uint64_t ticks[N_MODES]; /* the largest that were read */
} CpuSeen;

/* What the CPUs of a node have come to. */
typedef struct NodeTicks {
        bool known;
        uint64_t ticks[N_MODES];
} NodeTicks;

/* From look to look. The kernel's times of a CPU step back: iowait where the task that waited wakes
 * on another one (proc_stat(5)), idle where the CPU was offline; and while it is, it has no line at
 * all. To a reader of counters each of that is a new beginning, and all the idle time since boot
 * comes at once. */
typedef struct NodeTimes {
        CpuSeen *cpus; /* by number; owned */
        size_t n_cpus;
        NodeTicks *nodes; /* by index of the topology; owned */
        size_t n_nodes;
        bool begun;
} NodeTimes;

void node_times_done(NodeTimes *times);
#define _cleanup_node_times_ _cleanup_(node_times_done)

/* Fills n_nodes of the topology, by index; what cannot be read stays unknown. The times never step
 * back: of what is online at the first look they are those since boot, and what comes later counts
 * from when it is seen. `times` is for the same topology each time, apart from CPUs that come and
 * go. 0 or -ENOMEM. */
int node_load(const Sysroot *sysroot, const Topology *topology, NodeTimes *times,
              NodeSnapshot *ret);
