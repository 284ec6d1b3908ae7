/* What the kernel shows of an instance's binding at one moment. Plain data. */
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
