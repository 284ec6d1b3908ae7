/* What the kernel counts by CPU and by node: /proc/stat, and numastat of a node. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/sysroot.h"

/* Clock ticks since boot (proc_stat(5)). `user` and `nice` hold what guests used. */
typedef struct CpuTimes {
        uint32_t cpu;
        uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
} CpuTimes;

/* It has online CPUs only, in any order. `ret` of `n_max`. Returns how many there are, at most
 * `n_max`; -EBADMSG: no CPU at all, or a line that is none. */
int cpu_times_parse(const char *text, CpuTimes *ret, size_t n_max);
int cpu_times_read(const Sysroot *sysroot, CpuTimes *ret, size_t n_max);

/* Pages (Documentation/admin-guide/numastat.rst). */
typedef struct NumaStat {
        uint64_t hit, miss, foreign, interleave, local, other;
} NumaStat;

/* -EBADMSG: one is missing. */
int numastat_parse(const char *text, NumaStat *ret);

/* -ENODEV: no such node, or a kernel that does not count. */
int numastat_read(const Sysroot *sysroot, uint32_t node, NumaStat *ret);
