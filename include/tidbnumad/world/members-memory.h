/* How much memory an instance holds on which node, and how much it may have. */
#pragma once

#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/world/members.h"

/* What its control group counts, into `by_node` (n_nodes of the topology, by index), if the group
 * is its own. -EBUSY: the group holds other processes as well; -EOPNOTSUPP: it has no group that
 * counts; -ENODATA: the group has not counted most of it, see residency_covers(). `ret_limit_bytes`
 * is its memory limit, also where nothing is counted; 0: none. */
int members_read_memory(const Members *members, const Topology *topology, NodeMemory *by_node,
                        uint64_t *ret_limit_bytes);

/* The count of a group that is known to be the instance's own. -ENODATA as above. */
int members_count_memory(const Members *members, const Topology *topology, int group_fd,
                         NodeMemory *by_node);

/* The memory limit of a group: its own, unless a group above it has less. 0: the group has none, or
 * one above all memory of the machine. */
uint64_t members_limit_bytes(const Topology *topology, int group_fd);

/* --- residency: how much of an instance's memory is on which node --- */

/* Reads memory.numa_stat of the unit's cgroup into `by_node` (n_nodes of the topology, by index).
 * Costs the same whatever the size of the process. -EOPNOTSUPP: no memory controller there; -ESRCH:
 * the unit is gone; other: not readable. */
int residency_read(const Topology *topology, int cgroup_fd, NodeMemory *by_node);

/* What the CPUs may have charged or uncharged and not reported yet. Before Linux 5.16 they keep it
 * until it is more, so that a node may show bytes for ever that are no longer there. */
uint64_t residency_uncounted_max(const Topology *topology);

/* Does the count of the cgroup include the anonymous memory of a process whose resident anonymous
 * memory (RssAnon) is `resident_bytes`? Memory from before the process came to the cgroup, or
 * before the controller was enabled, stays charged elsewhere (cgroup-v2.rst, "Memory Ownership");
 * v1 counts locked memory separately. Tolerates the normal difference between the two counters of
 * the kernel. */
bool residency_covers(const Topology *topology, const NodeMemory *by_node, uint64_t resident_bytes);

/* The sums over the nodes that are not in `nodes` of the two kinds that may be moved: anonymous
 * memory, and files and shared memory that are mapped (what others map too is among them, and
 * stays). The other fields of the result are 0. */
NodeMemory residency_outside(const Topology *topology, const NodeMemory *by_node,
                             const NodeSet *nodes);

/* Anonymous bytes outside as a share of all anonymous bytes, 0..1; NAN when there are none. */
double residency_ratio(const Topology *topology, const NodeMemory *by_node, const NodeSet *nodes);
