/* The kernel's pools of reserved huge pages: /sys/kernel/mm/hugepages and
 * /sys/devices/system/node/nodeN/hugepages (Documentation/admin-guide/mm/hugetlbpage.rst), and the
 * devices of hugetlbfs, by which a mapping of such pages is recognised. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/sys/proc.h"

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
