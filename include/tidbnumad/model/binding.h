/* What the kernel shows of an instance's binding at one moment. Plain data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"

typedef struct Binding {
        bool cpuset;               /* its cgroup has the cpuset controller: `cpus`, `mems` count */
        CpuSet cpus;               /* cpuset.cpus.effective */
        NodeSet mems;              /* cpuset.mems.effective; without the controller: all nodes */
        size_t n_threads;          /* of all its processes */
        size_t n_threads_off_cpus; /* whose Cpus_allowed is not exactly the CPUs asked for */
        NodeSet last_nodes;        /* nodes of the CPUs on which its threads last ran */
        bool alone;                /* no unrelated process shares its unit */
        int32_t intruder;          /* a pid that does, 0 when alone */
} Binding;
