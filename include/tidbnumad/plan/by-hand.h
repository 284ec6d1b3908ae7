/* To which CPUs and memory nodes a running instance is restricted by something else than the
 * daemon, and by what: the unit, numactl or taskset in its start, or the program itself. */
#pragma once

#include "tidbnumad/plan/start-limits.h"

/* Borrowed. */
typedef struct ByHandInput {
        const Topology *topology;
        const CpuSet *thread_cpus;  /* all that its threads may use, together; empty: not known */
        const CpuSet *unit_cpus;    /* the cpuset of its unit; empty: none, or not known */
        const NodeSet *mems;        /* the memory nodes that it may use; empty: not known */
        const CpuSet *above_cpus;   /* what the groups above its own allow; empty: everything */
        const NodeSet *above_nodes; /* likewise */
        const CpuSet *place_cpus;   /* the planned ones */
        const NodeSet *place_nodes;
        bool bound_by_daemon;   /* so that its cpuset is the daemon's own */
        StartSource cpu_source; /* what chooses CPUs in its start */
} ByHandInput;

typedef struct ByHand {
        CpuSet cpuset_cpus;   /* the cpuset of its unit: fewer than it could have, and not those of
                               * its place; empty: it is not so */
        NodeSet cpuset_nodes; /* likewise, the memory nodes of its group */
        CpuSet thread_cpus;   /* its threads', within that cpuset */
        StartSource start;    /* by which; START_NOTHING: by another program, or by itself */
} ByHand;

/* Threads that have chosen single CPUs are the program's own business (a haproxy's cpu-map): the
 * CPUs count that they have together. Isolated CPUs nobody has without asking for them. */
ByHand by_hand_find(const ByHandInput *input);

/* What it leaves of these CPUs. All of them where that would be none: a thread whose own CPUs are
 * all outside of its cpuset gets those of the cpuset. */
CpuSet by_hand_left(const ByHand *found, const CpuSet *cpus);
