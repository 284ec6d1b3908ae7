/* What the kernel counts by node and by CPU, its pools of huge pages, and what the processor is. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

/* A small file of the node's folder, as path_read(). -ENODEV: no such node, or not that file.
 */
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

/* --- pools of huge pages --- */

/* The kernel's pools of reserved huge pages: /sys/kernel/mm/hugepages and
 * /sys/devices/system/node/nodeN/hugepages (Documentation/admin-guide/mm/hugetlbpage.rst), and the
 * devices of hugetlbfs, by which a mapping of such pages is recognised. */

typedef struct HugeSize {
        uint64_t page_bytes;
        uint64_t n_pages;    /* on all nodes, those beyond the pool's fixed size as well */
        uint64_t n_reserved; /* mapped and not touched yet */
} HugeSize;

/* Fills at most `n_max`; returns how many. A kernel without huge pages has none. */
size_t huge_sizes_read(const Sysroot *sysroot, HugeSize *ret, size_t n_max);

/* Pages of one size on one node. -ENODEV: no such node, or not that size. */
int huge_node_read(const Sysroot *sysroot, uint32_t node, uint64_t page_bytes, uint64_t *ret_pages,
                   uint64_t *ret_free);

/* File systems of huge pages. */
enum { HUGE_DEVICES_MAX = 32 };

typedef struct HugeDevices {
        struct {
                dev_t device;
                uint64_t page_bytes;
        } list[HUGE_DEVICES_MAX];
        size_t n;
} HugeDevices;

/* The kernel's own mount for each size, which mappings without a file and System V segments use,
 * and those that the process sees mounted. -ESRCH: gone. */
int huge_devices_read(const Sysroot *sysroot, const ProcHandle *handle, HugeDevices *ret);

/* Adds what a table of mounts has. For tests. */
void huge_devices_add_mounts(HugeDevices *devices, const char *mountinfo);

/* The page size of a mapping of this device; 0: no huge pages. */
uint64_t huge_devices_find(const HugeDevices *devices, dev_t device);

/* --- the processor: /proc/cpuinfo --- */

#define CPUINFO_VENDOR_MAX 16u /* CPUID has twelve characters */

typedef struct CpuInfo {
        char vendor[CPUINFO_VENDOR_MAX]; /* x86: "GenuineIntel"; "" elsewhere */
        uint32_t family, model;          /* of x86 */
        uint32_t implementer, part;      /* of Arm: fields of MIDR_EL1 */
} CpuInfo;

/* -EBADMSG: it has neither. */
int cpuinfo_parse(const char *text, CpuInfo *ret);
int cpuinfo_read(const Sysroot *sysroot, CpuInfo *ret);
