/* Settings of the host that the audit judges. Plain data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"

#define HOST_FACT_UNKNOWN (-1)

typedef struct HostFacts {
        int numa_balancing;    /* kernel.numa_balancing; HOST_FACT_UNKNOWN, as the others */
        int demotion;          /* /sys/kernel/mm/numa/demotion_enabled: 0 or 1 */
        int zone_reclaim_mode; /* vm.zone_reclaim_mode */
        int swappiness;        /* vm.swappiness */
        bool swap_known;
        uint64_t swap_used_bytes;
        char huge_pages[16]; /* "always", "madvise", "never"; "": not known */
        char governor[32];   /* of the first CPU whose governor is not `performance`; "": none is */
        uint32_t governor_cpu;
        bool governor_known;
        bool cpuset_known, cpuset; /* can the cpuset controller be used? */
        char cpuset_closed[128]; /* where it is mounted, when we cannot write to it; "": nowhere */
        bool irqbalance_known, irqbalance; /* does it run? */
        bool kernel_known, pidfds;         /* pidfd_open(2); of this machine alone */
        bool numa_stat_known, numa_stat;   /* memory.numa_stat of services, on cgroup v2 */
        uint32_t n_packages;               /* sockets by /sys/devices/system/cpu; 0: not known */
} HostFacts;
