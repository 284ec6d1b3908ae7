/* Reads how much memory the nodes have free. */
#pragma once

#include "tidbnumad/model/node-use.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"

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
