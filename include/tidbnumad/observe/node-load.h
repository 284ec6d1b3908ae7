/* The kernel's counters of each node, for the metrics of nodes. */
#pragma once

#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"

/* Fills n_nodes of the topology, by index; what cannot be read stays unknown. The times are those
 * of the CPUs that are online and belong to the node by the topology: they step back when a CPU
 * goes offline, as a counter does that begins anew. 0 or -ENOMEM. */
int node_load(const Sysroot *sysroot, const Topology *topology, NodeSnapshot *ret);
