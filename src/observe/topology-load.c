/* Reads the machine's topology through hwloc. Devices are left to a later version. */
#include <errno.h>
#include <hwloc.h>
#include <string.h>

#include "tidbnumad/observe/topology-load.h"

static inline void destroy_topologyp(hwloc_topology_t *t) {
        if (*t)
                hwloc_topology_destroy(*t);
}

/* hwloc takes another machine's root, and which of its back ends to trust, from the environment
 * alone. */
static int point_at(const Sysroot *sysroot) {
        if (sysroot->live)
                return 0;
        if (setenv("HWLOC_FSROOT", sysroot->path, 1) < 0 ||
            setenv("HWLOC_THISSYSTEM", "0", 1) < 0 ||
            setenv("HWLOC_COMPONENTS", "linux,stop", 1) < 0)
                return -errno;
        return 0;
}

static void point_back(void) {
        (void)unsetenv("HWLOC_FSROOT");
        (void)unsetenv("HWLOC_THISSYSTEM");
        (void)unsetenv("HWLOC_COMPONENTS");
}

static int load_hwloc(const Sysroot *sysroot, hwloc_topology_t *ret) {
        _cleanup_(destroy_topologyp) hwloc_topology_t t = NULL;
        int r;

        if (hwloc_topology_init(&t) < 0)
                return -ENOMEM;
        /* Only packages, nodes and CPUs are wanted: caches and devices cost a walk through /sys. */
        if (hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
            hwloc_topology_set_type_filter(t, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
            /* Where a package has several nodes, a group of CPUs stands for each. */
            hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) <
                    0 ||
            hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0)
                return -errno;
        r = point_at(sysroot);
        if (r >= 0 && hwloc_topology_load(t) < 0)
                r = errno ? -errno : -ENODATA;
        point_back();
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

static void fill_node(hwloc_topology_t t, hwloc_obj_t object, Node *node) {
        hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, object);
        int cpu;

        *node = (Node){
                .id = object->os_index,
                .package =
                        package && package->os_index != HWLOC_UNKNOWN_INDEX ? package->os_index : 0,
                .memory_bytes = object->attr->numanode.local_memory,
        };
        hwloc_bitmap_foreach_begin(cpu, object->cpuset) id_set_add(&node->cpus, (uint32_t)cpu);
        hwloc_bitmap_foreach_end();
}

static int compare_nodes(const void *a, const void *b) {
        const Node *x = a, *y = b;

        return x->id < y->id ? -1 : x->id > y->id;
}

static int fill_nodes(hwloc_topology_t t, Topology *topology) {
        int n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
        hwloc_obj_t object = NULL;

        if (n <= 0)
                return -ENODATA;
        topology->nodes = calloc((size_t)n, sizeof(Node));
        if (!topology->nodes)
                return -ENOMEM;
        while ((object = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, object)))
                if (object->os_index < ID_SET_MAX)
                        fill_node(t, object, &topology->nodes[topology->n_nodes++]);
        qsort(topology->nodes, topology->n_nodes, sizeof(Node), compare_nodes);
        return 0;
}

static void clear_cpus_of_memory_only_nodes(const Sysroot *sysroot, Topology *topology) {
        char text[ID_SET_LIST_MAX];
        NodeSet has_cpu;

        /* Absent on very old kernels, which had no such nodes either; empty in some dumps. */
        if (read_file_at(sysroot->sys_fd, "devices/system/node/has_cpu", text, sizeof(text)) < 0 ||
            id_set_parse_list(text, &has_cpu) < 0 || id_set_is_empty(&has_cpu))
                return;
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (!id_set_has(&has_cpu, topology->nodes[i].id))
                        topology->nodes[i].cpus = (CpuSet){ 0 };
}

static ssize_t index_of(const Topology *topology, uint32_t id) {
        const Node *node = topology_find(topology, id);

        return node ? node - topology->nodes : -1;
}

/* A machine that tells no distances keeps none; topology_distance() then answers by the ACPI
 * defaults. */
static int fill_distances(hwloc_topology_t t, Topology *topology) {
        struct hwloc_distances_s *d = NULL;
        unsigned n_matrices = 1;
        size_t n = topology->n_nodes;
        int r = 0;

        if (hwloc_distances_get_by_type(
                    t, HWLOC_OBJ_NUMANODE, &n_matrices, &d,
                    HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
            n_matrices == 0 || !d)
                return 0;
        topology->distances = calloc(n * n, sizeof(uint16_t));
        if (!topology->distances)
                r = -ENOMEM;
        for (size_t i = 0; r == 0 && i < n * n; i++)
                topology->distances[i] = i % (n + 1) == 0 ? 10 : 20;
        for (unsigned i = 0; r == 0 && i < d->nbobjs; i++)
                for (unsigned j = 0; j < d->nbobjs; j++) {
                        ssize_t a = index_of(topology, d->objs[i]->os_index);
                        ssize_t b = index_of(topology, d->objs[j]->os_index);

                        if (a >= 0 && b >= 0)
                                topology->distances[(size_t)a * n + (size_t)b] =
                                        (uint16_t)d->values[i * d->nbobjs + j];
                }
        hwloc_distances_release(t, d);
        return r;
}

int topology_load(const Sysroot *sysroot, Topology *ret) {
        _cleanup_(destroy_topologyp) hwloc_topology_t t = NULL;
        _cleanup_topology_ Topology topology = { 0 };
        int r;

        r = load_hwloc(sysroot, &t);
        if (r < 0)
                return r;
        r = fill_nodes(t, &topology);
        if (r < 0)
                return r;
        clear_cpus_of_memory_only_nodes(sysroot, &topology);
        r = fill_distances(t, &topology);
        if (r < 0)
                return r;
        *ret = topology;
        topology = (Topology){ 0 };
        return 0;
}
