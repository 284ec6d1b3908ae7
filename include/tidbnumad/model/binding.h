/* What the kernel shows of an instance's binding at one moment, and what binds it beside the
 * daemon. Plain data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"

typedef struct Binding {
        bool cpuset;               /* a cpuset that we may write holds it: `cpus`, `mems` count.
                                    * systemd: its unit has the controller; cgroup1: all of its
                                    * processes are in our directory; affinity: never */
        CpuSet cpus;               /* cpuset.cpus.effective; without a cpuset: all CPUs */
        NodeSet mems;              /* cpuset.mems.effective; without a cpuset: what each of its
                                    * threads may use */
        CpuSet cpus_above;         /* of the group above that cpuset: it can have no others; empty:
                                    * not known */
        NodeSet mems_above;        /* likewise */
        CpuSet inner_cpus;         /* of them, what groups that it made below its unit leave to its
                                    * processes in there: in all of these groups */
        NodeSet inner_mems;        /* likewise; without such groups both are as above */
        char inner_group[256];     /* the first that leaves less: its path; "": none does */
        size_t n_threads;          /* of all its processes */
        size_t n_threads_off_cpus; /* whose Cpus_allowed is not exactly the requested CPUs */
        size_t n_threads_outside;  /* of them, those that may run outside the requested CPUs */
        CpuSet unused_cpus; /* of the requested CPUs, those on which none of its threads may run */
        NodeSet last_nodes; /* nodes of the CPUs on which its threads last ran; only if no CPUs are
                             * requested */
        bool alone;         /* no unrelated process shares its group: its unit on v2, its
                             * memory cgroup on v1 */
        int32_t intruder;   /* a pid that does, 0 when alone */
} Binding;

/* What the start of a unit has that chooses CPUs or memory nodes; see plan/start-limits.h. */
typedef enum StartSource {
        START_NOTHING, /* it asks for nothing */
        START_AFFINITY,
        START_NUMA,
        START_NUMACTL,
        START_TASKSET,
        START_SCRIPT, /* its script, which cannot be read */
        N_START_SOURCES,
} StartSource;

/* To which CPUs and memory nodes a running instance is restricted by something else than the
 * daemon; see by_hand_find(). */
typedef struct ByHand {
        CpuSet cpuset_cpus;   /* the cpuset of its unit: fewer than it could have, and not those of
                               * its place; empty: it is not so */
        NodeSet cpuset_nodes; /* likewise, the memory nodes of its group */
        CpuSet thread_cpus;   /* its threads', within that cpuset */
        StartSource start;    /* by which; START_NOTHING: by another program, or by itself */
} ByHand;
