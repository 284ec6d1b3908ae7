/* How much memory an instance holds on which node, and how much it may have. */
#pragma once

#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/observe/members.h"

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
