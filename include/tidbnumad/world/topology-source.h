/* A machine as hwloc's whole tree, with caches and devices, from any source. */
#pragma once

#include "tidbnumad/world/topology-fill.h"
#include "tidbnumad/world/topology-load.h"

/* Objects that instances are shown as have a type that begins so. */
#define TOPOLOGY_MARK_TYPE "tidbnumad:"

/* The instances that an XML of ours shows are left out: they are of another plan. On failure
 * *ret_message, where it is not NULL, becomes a sentence on why, which the caller frees. */
int topology_source_load(const TopologySource *source, hwloc_topology_t *ret, char **ret_message);
