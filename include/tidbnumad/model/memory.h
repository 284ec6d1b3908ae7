/* Huge pages that the host has reserved (hugetlbfs): memory beside the base pages, in pools of its
 * own by page size and node. Plain data, and questions about it.
 *
 * A mapping reserves its pages on the host, not on a node: a page is taken from a node when it is
 * touched. A process that may use memory of some nodes only is killed by SIGBUS at the touch where
 * the pools of these nodes are empty, and a new mapping of more pages than these nodes have free is
 * refused (ENOMEM), whatever the pools of other nodes have (hugetlb_fault() and
 * hugetlb_acct_memory() of mm/hugetlb.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/model/topology.h"

/* Kernels have two to four sizes. */
enum { HUGE_SIZES_MAX = 8 };

typedef struct HugePool {
        uint64_t page_bytes;
        uint64_t n_reserved; /* pages of mappings of the whole host that are not touched yet */
        uint64_t *n_pages;   /* by index of the topology's nodes; owned, as the next */
        uint64_t *n_free;    /* those that are reserved are among them */
} HugePool;

/* The sizes of which the host has pages. */
typedef struct HugePools {
        HugePool list[HUGE_SIZES_MAX];
        size_t n;
} HugePools;

void huge_pools_done(HugePools *pools);
#define _cleanup_huge_pools_ _cleanup_(huge_pools_done)

typedef struct HugeUse {
        uint64_t page_bytes;
        uint64_t n_mapped;
        uint64_t n_touched; /* of n_mapped */
        uint64_t n_inside;  /* of n_touched, on the nodes of its place */
} HugeUse;

/* What the processes of an instance have mapped. */
typedef struct HugeNeed {
        HugeUse list[HUGE_SIZES_MAX];
        size_t n;
} HugeNeed;

/* What an instance may need of which nothing is known: all that is reserved on the host. */
HugeNeed huge_need_unknown(const HugePools *pools);

/* Adds the pages of one size; a size beyond HUGE_SIZES_MAX is left out. */
void huge_need_add(HugeNeed *need, const HugeUse *use);

/* Pages that are mapped and may still be touched. */
uint64_t huge_need_untouched(const HugeNeed *need, uint64_t page_bytes);

/* What it needs of its nodes if it is to be started again within them: what it has touched
 * elsewhere as well. */
HugeNeed huge_need_of_restart(const HugeNeed *need);

/* Raises each size's mapped pages to those of `other`. */
void huge_need_raise(HugeNeed *need, const HugeNeed *other);

/* Adds what of `other` is not touched. */
void huge_need_add_untouched(HugeNeed *need, const HugeNeed *other);

typedef struct HugeShortage {
        uint64_t page_bytes;
        uint64_t n_wanted;    /* pages that may still be touched */
        uint64_t n_free;      /* on the nodes */
        uint64_t n_elsewhere; /* on all other nodes */
} HugeShortage;

/* Would a binding to these nodes keep the instance from pages that it has reserved: do the pools of
 * the nodes have less than may still be touched, and pools of other nodes have some? `ret` may be
 * NULL. */
bool huge_pools_lack(const HugePools *pools, const Topology *topology, const HugeNeed *need,
                     const NodeSet *nodes, HugeShortage *ret);

/* Does any pool have free pages outside these nodes? */
bool huge_pools_have_elsewhere(const HugePools *pools, const Topology *topology,
                               const NodeSet *nodes);

/* The pool of this page size, or NULL. */
const HugePool *huge_pools_find(const HugePools *pools, uint64_t page_bytes);

/* Accesses to local and remote memory: what processors count of them. */

typedef enum Locality {
        LOCALITY_LOCAL,
        LOCALITY_REMOTE,
        N_LOCALITIES,
} Locality;

const char *locality_to_string(Locality locality); /* "local", "remote" */

typedef enum ProcessorVendor {
        PROCESSOR_OTHER,
        PROCESSOR_INTEL,
        PROCESSOR_AMD,
        PROCESSOR_ARM,       /* implementer 0x41: Neoverse, also in chips of others */
        PROCESSOR_HISILICON, /* implementer 0x48 */
} ProcessorVendor;

typedef struct Processor {
        ProcessorVendor vendor;
        uint32_t family; /* of x86, else 0 */
        uint32_t model;  /* of Arm the part */
} Processor;

/* What perf_event_open(2) calls `type` and `config`; two of its types, of linux/perf_event.h. */
enum { ACCESS_EVENT_SOFTWARE = 1, ACCESS_EVENT_RAW = 4 };

typedef struct AccessEvent {
        bool given;
        uint32_t type;
        uint64_t config;
} AccessEvent;

typedef struct AccessEvents {
        const char *source;   /* metric label: whose event it is */
        const char *coverage; /* metric label: which accesses it counts, as vendors differ */
        AccessEvent events[N_LOCALITIES]; /* at least one of them is given */
} AccessEvents;

/* What the processor counts for a single thread. -ENOENT: the table does not know it; -EOPNOTSUPP:
 * it does, and the processor counts by die, not by thread. */
int access_events_find(const Processor *processor, AccessEvents *ret);

bool access_events_equal(const AccessEvents *a, const AccessEvents *b);

/* The memory of one node: what is free there and what the kernel can make free at once. */

typedef struct NodeUse {
        uint64_t total_bytes;
        uint64_t free_bytes;           /* MemFree */
        uint64_t idle_file_bytes;      /* page cache that is clean and was not used lately */
        uint64_t active_file_bytes;    /* page cache in use */
        uint64_t high_watermark_bytes; /* the kernel reclaims memory below this; 0: not known */
} NodeUse;

/* Resident bytes on one node, as memory.numa_stat counts them (cgroup-v2.rst). */
typedef struct NodeMemory {
        uint64_t anon_bytes;
        uint64_t file_bytes;   /* page cache without shmem */
        uint64_t shmem_bytes;  /* shared memory, tmpfs */
        uint64_t mapped_bytes; /* of both, what is mapped; unknown on cgroup v1 */
} NodeMemory;

/* The nodes of a memory policy as /proc/PID/numa_maps has it, "bind:0-1" (see memory_policy_parse()
 * of sys/maps.h). Empty: NULL, one without nodes, or with nodes that depend on the cpuset. */
NodeSet memory_policy_nodes(const char *policy);

/* Used memory without the page cache, which the kernel can reclaim. */
uint64_t node_memory_held(const NodeMemory *memory);

/* value * part / whole, rounded down, without overflow of the product. */
uint64_t memory_part(uint64_t value, uint64_t part, uint64_t whole);
