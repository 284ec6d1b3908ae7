/* The present memory counters of a node (/sys/devices/system/node/nodeN/meminfo and /proc/zoneinfo)
 * and the times of each CPU (/proc/stat). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/sysroot.h"

/* A small file of the node's folder, as read_file_at(). -ENODEV: no such node, or not that file. */
ssize_t node_read_file(const Sysroot *sysroot, uint32_t node, const char *name, char *buffer,
                       size_t size);

typedef struct NodeMeminfo {
        uint64_t total_bytes;
        uint64_t free_bytes;
        uint64_t inactive_file_bytes;
        uint64_t active_file_bytes;
        uint64_t dirty_bytes;
        uint64_t writeback_bytes;
        uint64_t file_bytes;  /* page cache, shared memory too */
        uint64_t shmem_bytes; /* of these, what no disk has */
        uint64_t anon_bytes;
} NodeMeminfo;

/* -EBADMSG: a field that is always there is missing. */
int node_meminfo_parse(const char *text, NodeMeminfo *ret);

/* -ENODEV: no such node. */
int node_meminfo_read(const Sysroot *sysroot, uint32_t node, NodeMeminfo *ret);

/* The node's high watermark: the sum of `high` over its zones in /proc/zoneinfo without their
 * passing `boost`, in pages. Below it the kernel begins to reclaim
 * (Documentation/admin-guide/sysctl/vm.rst, watermark_scale_factor).
 */
int zoneinfo_high_parse(const char *text, uint32_t node, uint64_t *ret_pages);
int zoneinfo_high_read(const Sysroot *sysroot, uint32_t node, uint64_t *ret_pages);

/* Clock ticks since boot (proc_stat(5)). `user` and `nice` hold what guests used. */
typedef struct CpuTimes {
        uint32_t cpu;
        uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
} CpuTimes;

/* /proc/stat lists online CPUs only, in any order. `ret` has room for `n_max`. Returns the number
 * of CPUs, at most `n_max`; -EBADMSG: there is no CPU, or an invalid line. */
int cpu_times_parse(const char *text, CpuTimes *ret, size_t n_max);
int cpu_times_read(const Sysroot *sysroot, CpuTimes *ret, size_t n_max);
