/* Machines that are not here: XML and synthetic descriptions into the model. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/observe/topology-devices.h"
#include "tidbnumad/observe/topology-source.h"

static void fill_info(hwloc_obj_t root, const char *name, IdSet *set) {
        const char *list = topology_fill_info(root, name);
        IdSet parsed;

        if (list && id_set_parse_list(list, &parsed) >= 0)
                *set = parsed;
}

static int fill(hwloc_topology_t t, Topology *ret) {
        hwloc_obj_t root = hwloc_get_root_obj(t);
        NodeSet has_cpu = { 0 };
        int r;

        fill_info(root, TOPOLOGY_INFO_HAS_CPU, &has_cpu);
        r = topology_fill(t, id_set_is_empty(&has_cpu) ? NULL : &has_cpu, ret);
        if (r < 0)
                return r;
        fill_info(root, TOPOLOGY_INFO_OFFLINE, &ret->offline_cpus);
        fill_info(root, TOPOLOGY_INFO_ISOLATED, &ret->isolated_cpus);
        fill_info(root, TOPOLOGY_INFO_NOHZ_FULL, &ret->nohz_full_cpus);
        fill_info(root, TOPOLOGY_INFO_HIDDEN_CPUS, &ret->hidden_cpus);
        fill_info(root, TOPOLOGY_INFO_HIDDEN_NODES, &ret->hidden_nodes);
        return 0;
}

/* What hwloc took, and we do not. */
static int explain(int r, const char *source, char **ret_message) {
        const char *why = r == -E2BIG     ? "has too many nodes: 1024 are the most"
                          : r == -ENODATA ? "has no node"
                          : r == -EBADMSG
                                  ? "has notes on its devices that are damaged; export it again"
                                  : NULL;

        if (!why)
                return r;
        if (ret_message && asprintf(ret_message, "the machine \"%s\" %s", source, why) < 0) {
                *ret_message = NULL;
                return -ENOMEM;
        }
        return -EINVAL;
}

_Static_assert(TOPOLOGY_NODES_MAX == 1024, "it is told above");

static int load(const TopologySource *source, const char *name, Topology *ret,
                DeviceList *ret_devices, char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_topology_ Topology topology = { 0 };
        int r = topology_source_load(source, &t, ret_message);

        if (r < 0)
                return r;
        r = fill(t, &topology);
        if (r < 0)
                return explain(r, name, ret_message);
        if (ret_devices) {
                r = topology_devices_load(t, &topology, ret_devices);
                if (r < 0)
                        return explain(r, name, ret_message);
        }
        *ret = topology;
        topology = (Topology){ 0 };
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
