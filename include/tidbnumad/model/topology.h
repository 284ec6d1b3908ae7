/* The machine: nodes, their CPUs and memory, the distances between them. Plain data. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"

typedef struct Node {
        uint32_t id;           /* the kernel's number; numbers may have gaps */
        uint32_t package;      /* socket; any number, firmware of Arm has 36 and 8442 */
        CpuSet cpus;           /* online CPUs; empty for a memory-only node */
        CpuSet first_threads;  /* of each core with an online CPU, the lowest one */
        uint64_t memory_bytes; /* 0 for a node without memory */
} Node;

typedef struct Topology {
        Node *nodes; /* ascending by id; owned */
        size_t n_nodes;
        uint16_t *distances;  /* n_nodes × n_nodes by index, ACPI SLIT values (10 = local); owned.
                               * NULL where the machine tells none */
        CpuSet offline_cpus;  /* present, and not online */
        CpuSet isolated_cpus; /* isolcpus= and isolated cpuset partitions */
        CpuSet nohz_full_cpus;
        CpuSet hidden_cpus;   /* online, but not for the cgroup that the reader runs in */
        NodeSet hidden_nodes; /* likewise */
} Topology;

void topology_done(Topology *topology);
#define _cleanup_topology_ _cleanup_(topology_done)

/* The node of that number, or NULL. The index in `nodes` is (result - nodes). */
const Node *topology_find(const Topology *topology, uint32_t id);

/* All node numbers; all online CPUs. */
NodeSet topology_nodes(const Topology *topology);

/* The nodes that have memory: no cpuset.mems.effective ever holds another. */
NodeSet topology_memory_nodes(const Topology *topology);
CpuSet topology_cpus(const Topology *topology);

/* Can an instance live there: has it online CPUs and memory of its own? A memory-only node (NVM,
 * CXL, GPU memory) and a node without memory are nobody's home. */
bool topology_is_home(const Node *node);
NodeSet topology_homes(const Topology *topology);

/* The online CPUs of these nodes; the nodes that own any of these CPUs. */
CpuSet topology_cpus_of(const Topology *topology, const NodeSet *nodes);
NodeSet topology_nodes_of(const Topology *topology, const CpuSet *cpus);

/* SLIT distance between two node numbers. Where the machine tells none, or does not know a
 * number: 10 for the same node and 20 for another, the defaults of the ACPI specification. */
uint16_t topology_distance(const Topology *topology, uint32_t from, uint32_t to);
