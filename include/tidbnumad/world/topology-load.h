/* Reads the machine's topology through hwloc. */
#pragma once

#include <sys/types.h>

#include "tidbnumad/base/error.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"

/* Nodes with their online CPUs and memory, packages and distances, of this machine or of the dump
 * below a sysroot. CPUs and nodes that our own cgroup may not use are included, because the daemon
 * places other processes. Nodes without CPUs keep an empty set. `hidden_…` is of the live machine
 * only. What contradicts itself is kept, marked, and named by topology_append_note(). -ENODATA: the
 * machine shows no node at all; -EINVAL: its list of nodes is none. */
int topology_load(const Sysroot *sysroot, Topology *ret);

/* Machines that are not here: hwloc's XML, or its synthetic description such as
 * "package:2 numa:4(memory=128GiB) core:8 pu:2". Devices are those that the XML holds, with what
 * topology_export() noted about them. -EINVAL: hwloc does not take it. */
int topology_load_xml(const char *path, Topology *ret, DeviceList *ret_devices, Error *error);
int topology_load_synthetic(const char *description, Topology *ret, Error *error);

/* An instance to hang under its nodes. */
typedef struct TopologyMark {
        const char *name; /* "tidb-4000" */
        const char *type; /* "tidbnumad:tidb" */
        NodeSet nodes;
} TopologyMark;

/* Where the machine comes from: one of the three. */
typedef struct TopologySource {
        const Sysroot *sysroot;
        const char *xml;
        const char *synthetic;
} TopologySource;

/* The whole machine, with caches and devices, as hwloc XML at `path` (replaced as a whole): each
 * mark a Misc object below its node, or below the smallest object that holds all of its nodes,
 * named "name (node N)". lstopo draws it; where it would fold the nodes of a wide machine into
 * "…", the mark hangs above them. topology_load_xml() reads from it the same machine and devices.
 * While hwloc works, this and the two above take the process's standard error and its HWLOC_
 * variables from it: for programs of one thread. */
int topology_export(const TopologySource *source, const DeviceList *devices,
                    const TopologyMark *marks, size_t n_marks, const char *path, Error *error);

/* The CPUs that its cpuset allows, whatever narrower affinity it has. Where the controller is not
 * enabled for its group, the nearest group above counts. -EOPNOTSUPP: no group has the controller;
 * other negative errno. */
int own_cpuset_read_cpus(const Sysroot *sysroot, pid_t pid, CpuSet *ret);

/* The nodes whose memory it may use. */
int own_cpuset_read_nodes(const Sysroot *sysroot, pid_t pid, NodeSet *ret);
