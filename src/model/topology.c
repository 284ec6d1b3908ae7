/* Questions about the machine's topology. Where it is read from is observe's business. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/model/topology.h"

static const struct {
        const char *id, *memory;
} node_kinds[N_NODE_KINDS] = {
        [NODE_NORMAL] = { "normal", "memory without CPUs" },
        [NODE_GPU] = { "gpu", "GPU memory" },
        [NODE_NVM] = { "nvm", "non-volatile memory" },
        [NODE_CXL] = { "cxl", "CXL memory" },
        [NODE_HBM] = { "hbm", "high-bandwidth memory" },
        [NODE_SPECIAL] = { "special", "specific-purpose memory" },
};

const char *node_kind_to_string(NodeKind kind) {
        return node_kinds[kind].id;
}

NodeKind node_kind_from_string(const char *kind) {
        for (unsigned i = 0; i < N_NODE_KINDS; i++)
                if (strcmp(kind, node_kinds[i].id) == 0)
                        return i;
        return N_NODE_KINDS;
}

void topology_done(Topology *topology) {
        free(topology->nodes);
        free(topology->distances);
        free(topology->core);
        *topology = (Topology){ 0 };
}

static uint32_t core_of(const Topology *topology, uint32_t cpu) {
        return topology->core ? topology->core[cpu] : cpu;
}

CpuSet topology_core(const Topology *topology, uint32_t cpu) {
        const CpuSet online = topology_cpus(topology);
        CpuSet cpus = { 0 };

        ID_SET_FOREACH(other, &online)
        if (core_of(topology, (uint32_t)other) == core_of(topology, cpu))
                id_set_add(&cpus, (uint32_t)other);
        return cpus;
}

CpuSet topology_one_per_core(const Topology *topology, const CpuSet *cpus) {
        CpuSet firsts = { 0 }, cores = { 0 };

        ID_SET_FOREACH(cpu, cpus) {
                const uint32_t core = core_of(topology, (uint32_t)cpu);

                if (!id_set_has(&cores, core))
                        id_set_add(&firsts, (uint32_t)cpu);
                id_set_add(&cores, core);
        }
        return firsts;
}

const Node *topology_find(const Topology *topology, uint32_t id) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].id == id)
                        return &topology->nodes[i];
        return NULL;
}

/* The nodes for which `holds` does; NULL: all. */
static NodeSet nodes_where(const Topology *topology, bool (*holds)(const Node *node)) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (!holds || holds(&topology->nodes[i]))
                        id_set_add(&nodes, topology->nodes[i].id);
        return nodes;
}

NodeSet topology_nodes(const Topology *topology) {
        return nodes_where(topology, NULL);
}

NodeSet topology_memory_nodes(const Topology *topology) {
        return nodes_where(topology, topology_has_memory);
}

bool topology_has_memory(const Node *node) {
        return node->memory_bytes > 0 || node->memory_unknown;
}

const char *topology_why_no_home(const Node *node) {
        if (node->overlaps)
                return "lists CPUs of another node";
        if (id_set_is_empty(&node->cpus))
                return topology_has_memory(node) ? node_kinds[node->kind].memory
                                                 : "no CPUs, no memory";
        return topology_has_memory(node) ? "" : "no memory";
}

bool topology_is_home(const Node *node) {
        return *topology_why_no_home(node) == '\0';
}

bool topology_same_package(const Node *a, const Node *b) {
        return a == b || (a->package == b->package && a->package != PACKAGE_UNKNOWN);
}

NodeSet topology_homes(const Topology *topology) {
        return nodes_where(topology, topology_is_home);
}

uint64_t topology_memory_bytes(const Topology *topology, const NodeSet *nodes) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_has(nodes, topology->nodes[i].id) &&
                    __builtin_add_overflow(bytes, topology->nodes[i].memory_bytes, &bytes))
                        return UINT64_MAX;
        return bytes;
}

CpuSet topology_cpus(const Topology *topology) {
        NodeSet nodes = topology_nodes(topology);

        return topology_cpus_of(topology, &nodes);
}

CpuSet topology_withheld_cpus(const Topology *topology) {
        CpuSet cpus = topology->isolated_cpus;

        id_set_union(&cpus, &topology->nohz_full_cpus);
        id_set_union(&cpus, &topology->taken_cpus);
        return cpus;
}

CpuSet topology_cpus_of(const Topology *topology, const NodeSet *nodes) {
        CpuSet cpus = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_has(nodes, topology->nodes[i].id))
                        id_set_union(&cpus, &topology->nodes[i].cpus);
        return cpus;
}

NodeSet topology_nodes_of(const Topology *topology, const CpuSet *cpus) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_intersects(&topology->nodes[i].cpus, cpus))
                        id_set_add(&nodes, topology->nodes[i].id);
        return nodes;
}

uint16_t topology_distance(const Topology *topology, uint32_t from, uint32_t to) {
        const Node *a = topology_find(topology, from), *b = topology_find(topology, to);

        if (!a || !b || !topology->distances)
                return from == to ? 10 : 20;
        return topology->distances[(size_t)(a - topology->nodes) * topology->n_nodes +
                                   (size_t)(b - topology->nodes)];
}

/* --- notes --- */

void topology_append_note(const Topology *topology, unsigned number, Text *text) {
        static const struct {
                const char *one, *several;
        } notes[TOPOLOGY_NOTES] = {
                { "lists CPUs that a node with a lower number lists too (faulty firmware or "
                  "numa=fake): it is kept as memory, and no instance is placed on it",
                  "list CPUs that a node with a lower number lists too (faulty firmware or "
                  "numa=fake): they are kept as memory, and no instance is placed on them" },
                { "is online, but its CPUs cannot be read: it is not used",
                  "are online, but their CPUs cannot be read: they are not used" },
                { "has no known socket (physical_package_id of its CPUs is missing or differs): it "
                  "shares a socket with no other node",
                  "have no known socket (physical_package_id of their CPUs is missing or differs): "
                  "no two of them share a socket" },
                { "has a socket whose CPU mask contradicts physical_package_id: the latter is used",
                  "have sockets whose CPU masks contradict physical_package_id: the latter is "
                  "used" },
                { "has memory of unknown size: no instance's need is compared with it",
                  "have memory of unknown size: no instance's need is compared with it" },
        };
        NodeSet nodes[TOPOLOGY_NOTES] = {
                [1] = topology->lost_nodes, [3] = topology->mismasked_nodes
        };
        const NodeSet homes = topology_homes(topology);
        bool one;

        assert(number < TOPOLOGY_NOTES);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];

                if (node->overlaps)
                        id_set_add(&nodes[0], node->id);
                if (node->package == PACKAGE_UNKNOWN && !id_set_is_empty(&node->cpus) &&
                    id_set_count(&homes) > 1)
                        id_set_add(&nodes[2], node->id);
                if (node->memory_unknown)
                        id_set_add(&nodes[4], node->id);
        }
        if (id_set_is_empty(&nodes[number]))
                return;
        one = id_set_count(&nodes[number]) == 1;
        text_appendf(text, "%s %s %s", one ? "node" : "nodes", id_set_list(&nodes[number]),
                     one ? notes[number].one : notes[number].several);
}

void topology_append_unused(const Topology *topology, const NodeSet *used, Text *text) {
        NodeSet idle = { 0 };
        CpuSet theirs;
        bool one;

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (!topology_has_memory(&topology->nodes[i]) &&
                    !id_set_is_empty(&topology->nodes[i].cpus))
                        id_set_add(&idle, topology->nodes[i].id);
        id_set_subtract(&idle, used);
        if (id_set_is_empty(&idle))
                return;
        theirs = topology_cpus_of(topology, &idle);
        one = id_set_count(&idle) == 1;
        text_appendf(text,
                     "node%s %s (CPUs %s) %s no memory, so no instance uses %s CPUs unless its "
                     "policy names %s, with memory: preferred or none",
                     one ? "" : "s", id_set_list(&idle), id_set_list(&theirs), one ? "has" : "have",
                     one ? "its" : "their", one ? "the node" : "these nodes");
}

/* --- lists of devices, and which nodes a host's network cards are on --- */

static const char *const device_kind_strings[] = {
        [DEVICE_NET] = "net",
        [DEVICE_DISK] = "disk",
        [DEVICE_NVME] = "nvme",
        [DEVICE_OTHER] = "other",
};
DEFINE_STRING_TABLE(device_kind_to_string, DeviceKind, device_kind_strings)

void device_done(Device *device) {
        free(device->name);
        free(device->pci);
        free(device->driver);
        free(device->master);
        *device = (Device){ 0 };
}

void device_list_done(DeviceList *list) {
        for (size_t i = 0; i < list->n_devices; i++)
                device_done(&list->devices[i]);
        free(list->devices);
        *list = (DeviceList){ 0 };
}

/* The length of a number without its leading zeros, which are skipped. */
static size_t number_length(const char **text) {
        size_t n = 0;

        while (**text == '0' && isdigit((unsigned char)(*text)[1]))
                (*text)++;
        while (isdigit((unsigned char)(*text)[n]))
                n++;
        return n;
}

int device_name_compare(const char *a, const char *b) {
        const char *x = a, *y = b;

        while (*x && *y) {
                if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
                        size_t n = number_length(&x), m = number_length(&y);
                        int order = n != m ? (n < m ? -1 : 1) : memcmp(x, y, n);

                        if (order != 0)
                                return order;
                        x += n;
                        y += m;
                } else if (*x != *y) {
                        return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
                } else {
                        x++;
                        y++;
                }
        }
        if (*x || *y)
                return *x ? 1 : -1;
        return strcmp(a, b); /* "eth01" and "eth1" remain two names */
}

int device_list_add(DeviceList *list, Device *device) {
        size_t i = list->n_devices;

        for (; i > 0; i--) {
                const Device *before = &list->devices[i - 1];

                if (device->kind > before->kind ||
                    (device->kind == before->kind &&
                     device_name_compare(device->name, before->name) >= 0))
                        break;
        }
        if (ARRAY_INSERT(list->devices, list->n_devices, list->allocated, i, device) < 0)
                return -ENOMEM;
        *device = (Device){ 0 };
        return 0;
}

const Device *device_list_find(const DeviceList *list, DeviceKind kind, const char *name) {
        for (size_t i = 0; i < list->n_devices; i++)
                if (list->devices[i].kind == kind && strcmp(list->devices[i].name, name) == 0)
                        return &list->devices[i];
        return NULL;
}

bool device_is_nic(const Device *device, const char *const *names, size_t n_names) {
        if (device->kind != DEVICE_NET)
                return false;
        for (size_t i = 0; i < n_names; i++)
                if (strcmp(device->name, names[i]) == 0 ||
                    (device->master && strcmp(device->master, names[i]) == 0))
                        return true;
        return n_names == 0 && device->default_route;
}

NodeSet device_nic_nodes(const DeviceList *list, const char *const *names, size_t n_names) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < list->n_devices; i++) {
                const Device *device = &list->devices[i];

                if (device_is_nic(device, names, n_names) && device->node >= 0)
                        id_set_add(&nodes, (uint32_t)device->node);
        }
        return nodes;
}

uint32_t device_nic_speed(const DeviceList *list, const char *const *names, size_t n_names) {
        uint32_t speed = 0;

        for (size_t i = 0; i < list->n_devices; i++)
                if (device_is_nic(&list->devices[i], names, n_names) &&
                    list->devices[i].speed_mbps > speed)
                        speed = list->devices[i].speed_mbps;
        return speed;
}

const Device *device_nic_of(const DeviceList *list, const char *const *names, size_t n_names,
                            const NodeSet *nodes) {
        const NodeSet all = device_nic_nodes(list, names, n_names);

        for (size_t i = 0; id_set_count(&all) > 1 && i < list->n_devices; i++) {
                const Device *device = &list->devices[i];

                if (device_is_nic(device, names, n_names) && !device->master && device->node >= 0 &&
                    id_set_has(nodes, (uint32_t)device->node))
                        return device;
        }
        return NULL;
}
