/* Reads the machine's topology through hwloc. */
#pragma once

#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"

/* Nodes with their online CPUs and memory, packages and distances, of this machine or of the dump
 * below a sysroot. What our own cgroup may not use is there too: the daemon places others. Nodes
 * without CPUs keep an empty set
 * (/sys/devices/system/node/has_cpu decides, for hwloc gives such a node the CPUs that are near
 * it). -ENODATA: the machine shows no node at all. */
int topology_load(const Sysroot *sysroot, Topology *ret);
