/* The machine: nodes, their CPUs and memory, the distances between them. Plain data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/text.h"

/* Node.package where the socket is not known, or where the node spans several. */
#define PACKAGE_UNKNOWN UINT32_MAX

/* What a node's memory is made of. */
typedef enum NodeKind {
        NODE_NORMAL, /* ordinary memory; also where its kind is unknown */
        NODE_GPU,
        NODE_NVM,
        NODE_CXL,
        NODE_HBM,
        NODE_SPECIAL, /* set aside by the firmware ("specific purpose"), of no kind above */
        N_NODE_KINDS,
} NodeKind;

const char *node_kind_to_string(NodeKind kind);   /* "gpu" */
NodeKind node_kind_from_string(const char *kind); /* N_NODE_KINDS: there is no such kind */

typedef struct Node {
        uint32_t id;           /* the kernel's number; numbers may have gaps */
        uint32_t package;      /* socket; any number, firmware of Arm has 36 and 8442 */
        CpuSet cpus;           /* online CPUs; empty for a memory-only node */
        uint64_t memory_bytes; /* 0 for a node without memory, or with an unknown size */
        bool memory_unknown;
        bool overlaps; /* its CPUs are listed by a node before it too: it cannot be trusted */
        NodeKind kind;
} Node;

typedef struct Topology {
        Node *nodes; /* ascending by id; owned */
        size_t n_nodes;
        uint16_t *distances; /* n_nodes × n_nodes by index, ACPI SLIT values (10 = local); owned.
                                NULL where the machine reports none */
        uint16_t *core; /* by CPU number, CPU_SET_MAX of them: the lowest CPU of its core; owned.
                         * NULL: each CPU is a core */
        CpuSet offline_cpus;  /* present, and not online */
        CpuSet isolated_cpus; /* isolcpus= and isolated cpuset partitions */
        CpuSet nohz_full_cpus;
        CpuSet taken_cpus;       /* online, and taken from all others by a cpuset partition
                                  * (cgroup-v2.rst, cpuset.cpus.partition) */
        char taken_by[128];      /* the cgroup of one such partition, "/build"; "": not found */
        CpuSet hidden_cpus;      /* online, but not for the cgroup that the reader runs in */
        NodeSet hidden_nodes;    /* likewise */
        NodeSet lost_nodes;      /* online, and not in `nodes`: they cannot be read */
        NodeSet mismasked_nodes; /* the CPU masks of their sockets contradict the sockets' numbers
                                  */
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

/* CPUs on which the kernel balances no threads, and those that nobody else gets: instances are not
 * placed on them unless a policy names them, and never on those that are taken. */
CpuSet topology_withheld_cpus(const Topology *topology);

/* The online CPUs of the core of this CPU. */
CpuSet topology_core(const Topology *topology, uint32_t cpu);

/* Of each core that has some of these CPUs the lowest of them: another thread of the core may be
 * isolated, or not allowed. */
CpuSet topology_one_per_core(const Topology *topology, const CpuSet *cpus);

bool topology_has_memory(const Node *node); /* also where the size is unknown */

/* Can instances be placed on the node: does it have online CPUs and memory of its own? A
 * memory-only node (NVM, CXL, GPU memory), a node without memory, and one that shares CPUs with
 * another are not. */
bool topology_is_home(const Node *node);
const char *topology_why_no_home(const Node *node); /* such as "GPU memory"; "" if instances can be
                                                     * placed there */
NodeSet topology_homes(const Topology *topology);

/* Are both known to be in one socket? A node is in one socket with itself. */
bool topology_same_package(const Node *a, const Node *b);

/* Notes on contradictions in the data of this machine, one sentence each without a full stop:
 * appends the note of that number, or nothing if it does not apply. */
#define TOPOLOGY_NOTES 5u
void topology_append_note(const Topology *topology, unsigned number, Text *text);

/* A sentence about nodes with CPUs and no memory, other than `used`: nothing is placed there by
 * choice. Appends nothing if there are none. */
void topology_append_unused(const Topology *topology, const NodeSet *used, Text *text);

/* The memory of these nodes together; a node whose size is unknown counts as 0. */
uint64_t topology_memory_bytes(const Topology *topology, const NodeSet *nodes);

/* The online CPUs of these nodes; the nodes that own any of these CPUs. */
CpuSet topology_cpus_of(const Topology *topology, const NodeSet *nodes);
NodeSet topology_nodes_of(const Topology *topology, const CpuSet *cpus);

/* SLIT distance between two node numbers. Where the machine reports none, or has no such node:
 * 10 for the same node and 20 for another, the defaults of the ACPI specification. */
uint16_t topology_distance(const Topology *topology, uint32_t from, uint32_t to);

/* Network cards and disks with the node that they are attached to. Plain data. */

typedef enum DeviceKind {
        DEVICE_NET,
        DEVICE_DISK,  /* a whole block device: NVMe namespace, SCSI or virtio disk */
        DEVICE_NVME,  /* an NVMe controller; it and the next only in IrqHost */
        DEVICE_OTHER, /* a PCI device that a policy names */
} DeviceKind;

const char *device_kind_to_string(DeviceKind kind); /* "net" */

#define DEVICE_NODE_UNKNOWN (-1)

typedef struct Device {
        DeviceKind kind;
        char *name;          /* "eth0", "nvme0n1"; owned */
        char *pci;           /* "0000:3b:00.0"; NULL: not on a PCI bus, or not known; owned */
        char *driver;        /* NULL: not known; owned */
        char *master;        /* of a member of a bond or team: its name; NULL: none; owned */
        int32_t node;        /* DEVICE_NODE_UNKNOWN: not reported by the firmware (-1 in sysfs) */
        uint32_t speed_mbps; /* of a network card with a link; 0: not known */
        uint64_t size_bytes; /* of a disk; 0: not known */
        bool nvme;
        bool default_route;    /* the host's default route uses this device or its master */
        bool virtual_function; /* of another card (SR-IOV) */
} Device;

typedef struct DeviceList {
        Device *devices; /* network cards first, each kind ascending by name (numbers by value:
                          * nvme2n1 before nvme10n1); owned */
        size_t n_devices;
        size_t allocated;
} DeviceList;

void device_done(Device *device);
void device_list_done(DeviceList *list);
#define _cleanup_device_list_ _cleanup_(device_list_done)

/* Takes over `device` (which is then empty), in its place in the order. -ENOMEM: it stays. */
int device_list_add(DeviceList *list, Device *device);

const Device *device_list_find(const DeviceList *list, DeviceKind kind, const char *name);

/* Is it a network card of these names? The name of a bond means its members; without names, the
 * cards with the default route. */
bool device_is_nic(const Device *device, const char *const *names, size_t n_names);

/* The known nodes of these cards. Empty: none is known. */
NodeSet device_nic_nodes(const DeviceList *list, const char *const *names, size_t n_names);

/* The speed of the fastest of them; 0: not known. */
uint32_t device_nic_speed(const DeviceList *list, const char *const *names, size_t n_names);

/* The first network card on the given nodes. NULL: none, or only one node has cards, so that there
 * is no choice. Members of a bond share its address and do not count. */
const Device *device_nic_of(const DeviceList *list, const char *const *names, size_t n_names,
                            const NodeSet *nodes);

/* "eth2" before "eth10": digits compare by value. As strcmp(3). */
int device_name_compare(const char *a, const char *b);
