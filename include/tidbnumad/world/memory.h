/* The kernel's counters of each node, for the metrics of nodes. */
#pragma once

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

typedef struct ModeTicks {
        bool known;
        uint64_t ticks[N_MODES];
} ModeTicks;

/* The CPU times of nodes, kept between readings. The kernel's times of a CPU can decrease: iowait
 * when the waiting task wakes on another CPU (proc_stat(5)), idle after the CPU was offline; and an
 * offline CPU has no line at all. To a reader of counters, such as Prometheus, each decrease is a
 * reset of the counter, so that all the idle time since boot would be counted at once. */
typedef struct NodeTimes {
        ModeTicks *cpus; /* by number: the largest that were read; owned */
        size_t n_cpus;
        ModeTicks *nodes; /* by index of the topology: the sums of their CPUs; owned */
        bool begun;
} NodeTimes;

void node_times_done(NodeTimes *times);
#define _cleanup_node_times_ _cleanup_(node_times_done)

/* Fills n_nodes of the topology, by index; what cannot be read stays unknown. The times never
 * decrease: for CPUs that are online at the first reading they count since boot, for other CPUs
 * since the first reading that shows them. `times` must be used with the same topology each time,
 * apart from CPUs that go online or offline. 0 or -ENOMEM. */
int node_load(const Sysroot *sysroot, const Topology *topology, NodeTimes *times,
              NodeCounters *ret);

/* The high watermark of each node of the topology, by index. The caller frees the array. A node
 * without memory, and a dump without zoneinfo, have none: 0. 0 or -ENOMEM. */
int node_watermarks_load(const Sysroot *sysroot, const Topology *topology, uint64_t **ret);

/* One node. -ENODEV: there is no such node. */
int node_use_read(const Sysroot *sysroot, uint32_t node, uint64_t watermark_bytes, NodeUse *ret);

/* All nodes of the topology, by index; a node that has gone has no memory. `watermarks` as
 * node_watermarks_load() returns them. The caller frees the array. Negative errno: the memory of a
 * node cannot be read; -ENODEV: that of none can. */
int node_use_load(const Sysroot *sysroot, const Topology *topology, const uint64_t *watermarks,
                  NodeUse **ret);

/* Reserved huge pages: what the nodes have, and what processes have mapped. */

/* The pools of the host; one without pages is left out, so that most hosts have none. `ret` is
 * empty or done before. 0 or -ENOMEM. */
int huge_pools_load(const Sysroot *sysroot, const Topology *topology, HugePools *ret);

/* A file that is mapped shared, or, with 0 for device and inode, all private mappings of one page
 * size together. */
typedef struct HugeMapping {
        uint64_t device, inode;
        uint64_t page_bytes, n_mapped;
        uint64_t n_touched; /* by this process; of a shared file others may have touched more */
        uint64_t n_inside;  /* of n_touched, on the requested nodes */
} HugeMapping;

/* What a process has mapped, or an instance. */
typedef struct HugeMaps {
        HugeMapping list[HUGE_MAPPINGS_MAX];
        size_t n;
        bool partial; /* there is more, which is not known */
} HugeMaps;

/* Reads the maps of a process, and asks where pages of these mappings are, of no others: how many
 * are on `nodes`. -ESRCH: gone. */
int huge_maps_read(const Sysroot *sysroot, const ProcHandle *handle, const NodeSet *nodes,
                   HugeMaps *ret);

/* Private mappings of several processes add up, a shared file is the same for all. */
void huge_maps_merge(HugeMaps *all, const HugeMaps *more);

/* No more can be touched of a shared file than is reserved on the host, and no less is to be
 * expected than that of what is not known. */
HugeNeed huge_maps_need(const HugeMaps *maps, const HugePools *pools);
