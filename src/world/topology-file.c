/* Machines that are not here: XML and synthetic descriptions into the model. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/world/topology-devices.h"
#include "tidbnumad/world/topology-source.h"

static void fill_info(hwloc_obj_t root, const char *name, IdTarget set) {
        const char *list = topology_fill_info(root, name);

        if (list)
                (void)id_target_parse_list(list, set);
}

/* What is damaged is as if it were not there. */
static void read_node_note(const char *note, const CpuSet *first_threads, Node *node) {
        char memory[8], overlaps[4], kind[12];
        NodeKind known_kind;
        int64_t package;
        int length = 0;
        CpuSet cpus;

        if (sscanf(note, "package=%" SCNd64 " memory=%7s overlaps=%3s kind=%11s cpus=%n", &package,
                   memory, overlaps, kind, &length) != 4 ||
            length == 0 || package < -1 || package >= PACKAGE_UNKNOWN ||
            id_set_parse_list(note + length, &cpus) < 0)
                return;
        known_kind = node_kind_from_string(kind);
        if (known_kind == N_NODE_KINDS)
                return;
        node->package = package < 0 ? PACKAGE_UNKNOWN : (uint32_t)package;
        node->memory_unknown = strcmp(memory, "unknown") == 0;
        if (node->memory_unknown)
                node->memory_bytes = 0;
        node->overlaps = strcmp(overlaps, "yes") == 0;
        node->kind = known_kind;
        topology_fill_assign(node, &cpus, first_threads);
}

static void fill_noted_nodes(hwloc_topology_t t, Topology *topology) {
        const CpuSet first_threads = topology_fill_first_threads(topology);

        for (size_t i = 0; i < topology->n_nodes; i++) {
                Node *node = &topology->nodes[i];
                hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(t, node->id);
                const char *note = object ? topology_fill_info(object, TOPOLOGY_INFO_NODE) : NULL;

                if (note)
                        read_node_note(note, &first_threads, node);
        }
}

static void forget_memory(Topology *topology) {
        for (size_t i = 0; i < topology->n_nodes; i++) {
                topology->nodes[i].memory_unknown = true;
                topology->nodes[i].memory_bytes = 0;
        }
}

static bool has_memory(const Topology *topology) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].memory_bytes > 0)
                        return true;
        return false;
}

static int fill(hwloc_topology_t t, const TopologySource *source, Topology *ret) {
        hwloc_obj_t root = hwloc_get_root_obj(t);
        NodeSet has_cpu = { 0 };
        int r;

        fill_info(root, TOPOLOGY_INFO_HAS_CPU, ID_TARGET(&has_cpu));
        r = topology_fill(t, id_set_is_empty(&has_cpu) ? NULL : &has_cpu, ret);
        if (r < 0)
                return r;
        fill_info(root, TOPOLOGY_INFO_OFFLINE, ID_TARGET(&ret->offline_cpus));
        fill_info(root, TOPOLOGY_INFO_ISOLATED, ID_TARGET(&ret->isolated_cpus));
        fill_info(root, TOPOLOGY_INFO_NOHZ_FULL, ID_TARGET(&ret->nohz_full_cpus));
        fill_info(root, TOPOLOGY_INFO_TAKEN_CPUS, ID_TARGET(&ret->taken_cpus));
        fill_info(root, TOPOLOGY_INFO_HIDDEN_CPUS, ID_TARGET(&ret->hidden_cpus));
        fill_info(root, TOPOLOGY_INFO_HIDDEN_NODES, ID_TARGET(&ret->hidden_nodes));
        fill_info(root, TOPOLOGY_INFO_LOST_NODES, ID_TARGET(&ret->lost_nodes));
        fill_info(root, TOPOLOGY_INFO_MISMASKED, ID_TARGET(&ret->mismasked_nodes));
        /* hwloc invents 1 GiB for each node of a description without memory, and shows a size
         * that it does not know as 0. */
        if (source->synthetic ? !strstr(source->synthetic, "memory=") : !has_memory(ret))
                forget_memory(ret);
        fill_noted_nodes(t, ret);
        return 0;
}

/* What hwloc took, and we do not. */
static int explain(int r, const char *source, char **ret_message) {
        const char *why = r == -E2BIG     ? "has too many nodes, expected at most 1024"
                          : r == -ENODATA ? "has no node"
                          : r == -EBADMSG ? "contains damaged notes on devices; export it again"
                                          : NULL;

        if (!why)
                return r;
        if (ret_message && asprintf(ret_message, "the machine \"%s\" %s", source, why) < 0) {
                *ret_message = NULL;
                return -ENOMEM;
        }
        return -EINVAL;
}

_Static_assert(NODE_SET_MAX == 1024, "see the message above");

static int load(const TopologySource *source, const char *name, Topology *ret,
                DeviceList *ret_devices, char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_topology_ Topology topology = { 0 };
        int r = topology_source_load(source, &t, ret_message);

        if (r < 0)
                return r;
        r = fill(t, source, &topology);
        if (r < 0)
                return explain(r, name, ret_message);
        if (ret_devices) {
                r = topology_devices_load(t, &topology, ret_devices);
                if (r < 0)
                        return explain(r, name, ret_message);
        }
        *ret = TAKE_STRUCT(topology);
        return 0;
}

int topology_load_xml(const char *path, Topology *ret, DeviceList *ret_devices,
                      char **ret_message) {
        return load(&(TopologySource){ .xml = path }, path, ret, ret_devices, ret_message);
}

int topology_load_synthetic(const char *description, Topology *ret, char **ret_message) {
        return load(&(TopologySource){ .synthetic = description }, description, ret, NULL,
                    ret_message);
}
