/* hwloc's objects into nodes: whose CPUs and memory, in which package, at which distance. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/world/topology-fill.h"

/* A set of hwloc's may be infinite. */
static void fill_set(hwloc_const_bitmap_t bitmap, IdTarget ret) {
        for (int id = bitmap ? hwloc_bitmap_next(bitmap, -1) : -1;
             id >= 0 && id < (int)ret.n_words * 64; id = hwloc_bitmap_next(bitmap, id))
                id_target_add(ret, (uint32_t)id);
}

static CpuSet cpus_of(hwloc_const_bitmap_t bitmap) {
        CpuSet cpus = { 0 };

        fill_set(bitmap, ID_TARGET(&cpus));
        return cpus;
}

NodeSet topology_fill_nodes(hwloc_const_bitmap_t bitmap) {
        NodeSet nodes = { 0 };

        fill_set(bitmap, ID_TARGET(&nodes));
        return nodes;
}

const char *topology_fill_info(hwloc_obj_t object, const char *name) {
        for (unsigned i = object->infos_count; i > 0; i--)
                if (strcmp(object->infos[i - 1].name, name) == 0)
                        return object->infos[i - 1].value;
        return NULL;
}

/* Arm firmware numbers packages by an offset in its tables: they may be in the thousands. */
_Static_assert(PACKAGE_UNKNOWN == HWLOC_UNKNOWN_INDEX, "a package without a number is unknown");

/* Where the firmware hides nodes, a node holds several packages: then none is its own. */
static uint32_t find_package(hwloc_topology_t t, hwloc_obj_t node) {
        hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, node);
        hwloc_obj_t other = NULL;

        while (!package && (other = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PACKAGE, other)))
                if (hwloc_bitmap_isincluded(node->cpuset, other->cpuset) &&
                    !hwloc_bitmap_iszero(node->cpuset))
                        package = other;
        return package ? package->os_index : PACKAGE_UNKNOWN;
}

static const char *info_of(hwloc_obj_t node, const char *name) {
        const char *value = topology_fill_info(node, name);

        return value ? value : "";
}

/* hwloc's words: "GPUMemory", "NVM", "HBM", "MCDRAM", "CXL-DRAM", "SPM". Before 2.10 it knew no
 * CXL: the device below the memory's region shows it. */
static NodeKind find_kind(hwloc_obj_t node) {
        const char *subtype = node->subtype ? node->subtype : "";

        if (strcmp(subtype, "GPUMemory") == 0)
                return NODE_GPU;
        if (strncmp(subtype, "CXL", 3) == 0 || strstr(info_of(node, "DAXParent"), "ACPI0017"))
                return NODE_CXL;
        if (strcmp(subtype, "NVM") == 0 || strcmp(info_of(node, "DAXType"), "NVM") == 0)
                return NODE_NVM;
        if (strcmp(subtype, "HBM") == 0 || strcmp(subtype, "MCDRAM") == 0)
                return NODE_HBM;
        return strcmp(subtype, "SPM") == 0 || strcmp(info_of(node, "DAXType"), "SPM") == 0
                       ? NODE_SPECIAL
                       : NODE_NORMAL;
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
        if (n > (int)NODE_SET_MAX)
                return -E2BIG;
        topology->nodes = calloc((size_t)n, sizeof(Node));
        if (!topology->nodes)
                return -ENOMEM;
        while ((object = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, object)))
                if (object->os_index < NODE_SET_MAX)
                        topology->nodes[topology->n_nodes++] = (Node){
                                .id = object->os_index,
                                .package = find_package(t, object),
                                .memory_bytes = object->attr->numanode.local_memory,
                                .kind = find_kind(object),
                        };
        qsort(topology->nodes, topology->n_nodes, sizeof(Node), compare_nodes);
        return topology->n_nodes > 0 ? 0 : -ENODATA;
}

/* Memory of another kind than the plain one: "NVM", "HBM", "CXL". */
static bool is_special(hwloc_obj_t node) {
        return node->subtype && strcmp(node->subtype, "DRAM") != 0;
}

/* Is a CPU of both nodes `a`'s? Of two the smaller set is the node's own; of the same, plain memory
 * comes before special one, and the kernel numbers nodes with CPUs before those without. */
static bool owns(hwloc_obj_t a, hwloc_obj_t b) {
        int x = hwloc_bitmap_weight(a->cpuset), y = hwloc_bitmap_weight(b->cpuset);

        if (x != y)
                return x < y;
        if (is_special(a) != is_special(b))
                return is_special(b);
        return a->os_index < b->os_index;
}

/* The node that it belongs to, of all nodes that hwloc shows it near. */
static hwloc_obj_t find_owner(hwloc_topology_t t, const NodeSet *has_cpu, unsigned cpu) {
        hwloc_obj_t node = NULL, owner = NULL;

        while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node)))
                if (hwloc_bitmap_isset(node->cpuset, cpu) &&
                    (!has_cpu || id_set_has(has_cpu, node->os_index)) &&
                    (!owner || owns(node, owner)))
                        owner = node;
        return owner;
}

void topology_fill_assign(Node *node, const CpuSet *cpus, const CpuSet *first_threads) {
        node->cpus = node->first_threads = *cpus;
        id_set_intersect(&node->first_threads, first_threads);
}

CpuSet topology_fill_first_threads(const Topology *topology) {
        CpuSet all = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                id_set_union(&all, &topology->nodes[i].first_threads);
        return all;
}

static void fill_cpus(hwloc_topology_t t, const NodeSet *has_cpu, Topology *topology) {
        CpuSet online = cpus_of(hwloc_topology_get_topology_cpuset(t));

        topology->offline_cpus = cpus_of(hwloc_topology_get_complete_cpuset(t));
        id_set_subtract(&topology->offline_cpus, &online);
        ID_SET_FOREACH(cpu, &online) {
                hwloc_obj_t owner = find_owner(t, has_cpu, (unsigned)cpu);
                Node *node = owner ? (Node *)topology_find(topology, owner->os_index) : NULL;

                if (node)
                        id_set_add(&node->cpus, (uint32_t)cpu);
        }
}

/* The lowest CPU of each core; a CPU without a core in hwloc counts as a core of its own. */
static int fill_cores(hwloc_topology_t t, Topology *topology) {
        hwloc_obj_t core = NULL;
        CpuSet others = { 0 };

        topology->core = calloc(CPU_SET_MAX, sizeof(topology->core[0]));
        if (!topology->core)
                return -ENOMEM;
        for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++)
                topology->core[cpu] = (uint16_t)cpu;
        while ((core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core))) {
                CpuSet threads = cpus_of(core->cpuset);
                int first = id_set_next(&threads, 0);

                ID_SET_FOREACH(cpu, &threads) {
                        topology->core[cpu] = (uint16_t)first;
                        if (cpu != first)
                                id_set_add(&others, (uint32_t)cpu);
                }
        }
        for (size_t i = 0; i < topology->n_nodes; i++) {
                topology->nodes[i].first_threads = topology->nodes[i].cpus;
                id_set_subtract(&topology->nodes[i].first_threads, &others);
        }
        return 0;
}

static ssize_t index_of(const Topology *topology, uint32_t id) {
        const Node *node = topology_find(topology, id);

        return node ? node - topology->nodes : -1;
}

/* A machine that reports no distances keeps none; topology_distance() then answers by the ACPI
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
                        uint64_t value = d->values[i * d->nbobjs + j];

                        if (a >= 0 && b >= 0)
                                topology->distances[(size_t)a * n + (size_t)b] =
                                        value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
                }
        hwloc_distances_release(t, d);
        return r;
}

int topology_fill(hwloc_topology_t t, const NodeSet *has_cpu, Topology *ret) {
        _cleanup_topology_ Topology topology = { 0 };
        int r = fill_nodes(t, &topology);

        if (r < 0)
                return r;
        fill_cpus(t, has_cpu, &topology);
        r = fill_cores(t, &topology);
        if (r >= 0)
                r = fill_distances(t, &topology);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(topology);
        return 0;
}
