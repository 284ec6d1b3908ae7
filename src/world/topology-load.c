/* This machine's topology, or a dump's: hwloc's objects, and what only /sys has beside them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/topology-hwloc.h"
#include "tidbnumad/world/topology-load.h"

/* --- hwloc's environment ---
 *
 * hwloc takes another machine's root, and which of its back ends to trust, from the environment
 * only, and it prints why it refuses something to standard error only. */

static void env_unset(void) {
        for (char **v = environ; v && *v;) {
                _cleanup_free_ char *name = NULL;

                if (strncmp(*v, "HWLOC_", strlen("HWLOC_")) == 0)
                        name = strndup(*v, strcspn(*v, "="));
                if (!name || unsetenv(name) < 0)
                        v++; /* else the next one is here now */
        }
}

int topology_env_enter(TopologyEnv *env, const Sysroot *sysroot, bool capture) {
        int output, real;

        *env = (TopologyEnv){ .stderr_fd = -EBADF, .output_fd = -EBADF };
        env_unset();
        /* Nodes that hwloc would drop by itself: those whose CPUs another node lists too, and GPU
         * memory. hwloc also writes no banner of twelve lines about contradictory firmware tables:
         * the relevant facts are in our notes. hwloc reads the last variable once in a process's
         * life. */
        if (setenv("HWLOC_DEBUG_ALLOW_OVERLAPPING_NODE_CPUSETS", "1", 1) < 0 ||
            setenv("HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "1", 1) < 0 ||
            setenv("HWLOC_HIDE_ERRORS", "2", 1) < 0 ||
            (sysroot && !sysroot->live &&
             (setenv("HWLOC_FSROOT", sysroot->path, 1) < 0 ||
              setenv("HWLOC_THISSYSTEM", "0", 1) < 0 ||
              setenv("HWLOC_COMPONENTS", "linux,stop", 1) < 0))) {
                env_unset();
                return -ENOMEM;
        }
        if (!capture)
                return 0;
        output = memfd_create("hwloc", MFD_CLOEXEC);
        real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void)setenv("HWLOC_XML_VERBOSE", "1", 1);
        (void)setenv("HWLOC_SYNTHETIC_VERBOSE", "1", 1);
        if (output >= 0 && real >= 0 && dup2(output, STDERR_FILENO) >= 0) {
                env->output_fd = output;
                env->stderr_fd = real;
        } else { /* hwloc's messages go to standard error */
                closep(&output);
                closep(&real);
        }
        return 0;
}

void topology_env_leave(TopologyEnv *env, char **ret_output) {
        static const char own_name[] = "hwloc/";
        char text[512], *line = text;
        ssize_t n;

        if (env->stderr_fd >= 0)
                (void)dup2(env->stderr_fd, STDERR_FILENO);
        if (ret_output) {
                n = env->output_fd >= 0 ? pread(env->output_fd, text, sizeof(text) - 1, 0) : 0;
                text[n > 0 ? n : 0] = '\0';
                text[strcspn(text, "\n")] = '\0';
                /* "hwloc/synthetic: Description with …" becomes "Description with …". */
                if (strncmp(line, own_name, strlen(own_name)) == 0 && strstr(line, ": "))
                        line = strstr(line, ": ") + 2;
                *ret_output = *line ? strdup(line) : NULL;
        }
        closep(&env->stderr_fd);
        closep(&env->output_fd);
        env_unset();
}

/* --- hwloc's objects into nodes: whose CPUs and memory, in which package, at which distance --- */

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
static uint32_t node_find_package(hwloc_topology_t t, hwloc_obj_t node) {
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
static NodeKind node_find_kind(hwloc_obj_t node) {
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

/* The node that the CPU belongs to, of all nodes that hwloc shows it near. Of two the smaller set
 * is the node's own; of the same, plain memory comes before memory of another kind ("NVM", "HBM",
 * "CXL"), and the kernel numbers nodes with CPUs before those without. */
static hwloc_obj_t cpu_find_owner(hwloc_topology_t t, const NodeSet *has_cpu, unsigned cpu) {
        hwloc_obj_t node = NULL, owner = NULL;
        bool special, owner_special = false;
        int weight, owner_weight = 0;

        while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node))) {
                if (!hwloc_bitmap_isset(node->cpuset, cpu) ||
                    (has_cpu && !id_set_has(has_cpu, node->os_index)))
                        continue;
                weight = hwloc_bitmap_weight(node->cpuset);
                special = node->subtype && strcmp(node->subtype, "DRAM") != 0;
                if (owner && (weight != owner_weight     ? weight > owner_weight
                              : special != owner_special ? special
                                                         : node->os_index > owner->os_index))
                        continue;
                owner = node;
                owner_weight = weight;
                owner_special = special;
        }
        return owner;
}

/* A machine that reports no distances keeps none; topology_distance() then answers by the ACPI
 * defaults. */
static int fill_distances(hwloc_topology_t t, Topology *topology) {
        struct hwloc_distances_s *d = NULL;
        unsigned n_matrices = 1;
        size_t n = topology->n_nodes;

        if (hwloc_distances_get_by_type(
                    t, HWLOC_OBJ_NUMANODE, &n_matrices, &d,
                    HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
            n_matrices == 0 || !d)
                return 0;
        topology->distances = calloc(n * n, sizeof(uint16_t));
        for (size_t i = 0; topology->distances && i < n * n; i++)
                topology->distances[i] = i % (n + 1) == 0 ? 10 : 20;
        for (unsigned i = 0; topology->distances && i < d->nbobjs; i++)
                for (unsigned j = 0; j < d->nbobjs; j++) {
                        const Node *a = topology_find(topology, d->objs[i]->os_index);
                        const Node *b = topology_find(topology, d->objs[j]->os_index);
                        const uint64_t value = d->values[i * d->nbobjs + j];

                        if (a && b)
                                topology->distances[(size_t)(a - topology->nodes) * n +
                                                    (size_t)(b - topology->nodes)] =
                                        value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
                }
        hwloc_distances_release(t, d);
        return topology->distances ? 0 : -ENOMEM;
}

int topology_fill(hwloc_topology_t t, const NodeSet *has_cpu, Topology *ret) {
        _cleanup_topology_ Topology topology = { 0 };
        const int n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
        const CpuSet online = cpus_of(hwloc_topology_get_topology_cpuset(t));
        hwloc_obj_t object = NULL, core = NULL;
        int r;

        if (n <= 0)
                return -ENODATA;
        if (n > (int)NODE_SET_MAX)
                return -E2BIG;
        topology.nodes = calloc((size_t)n, sizeof(Node));
        if (!topology.nodes)
                return -ENOMEM;
        while ((object = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, object)))
                if (object->os_index < NODE_SET_MAX)
                        topology.nodes[topology.n_nodes++] = (Node){
                                .id = object->os_index,
                                .package = node_find_package(t, object),
                                .memory_bytes = object->attr->numanode.local_memory,
                                .kind = node_find_kind(object),
                        };
        if (topology.n_nodes == 0)
                return -ENODATA;
        qsort(topology.nodes, topology.n_nodes, sizeof(Node), compare_nodes);

        /* Each CPU is of one node, though several may be near it. */
        topology.offline_cpus = cpus_of(hwloc_topology_get_complete_cpuset(t));
        id_set_subtract(&topology.offline_cpus, &online);
        ID_SET_FOREACH(cpu, &online) {
                hwloc_obj_t owner = cpu_find_owner(t, has_cpu, (unsigned)cpu);
                Node *node = owner ? (Node *)topology_find(&topology, owner->os_index) : NULL;

                if (node)
                        id_set_add(&node->cpus, (uint32_t)cpu);
        }

        /* The lowest CPU of each core; a CPU without a core in hwloc counts as a core of its own.
         */
        topology.core = calloc(CPU_SET_MAX, sizeof(topology.core[0]));
        if (!topology.core)
                return -ENOMEM;
        for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++)
                topology.core[cpu] = (uint16_t)cpu;
        while ((core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core))) {
                CpuSet threads = cpus_of(core->cpuset);
                int first = id_set_next(&threads, 0);

                ID_SET_FOREACH(cpu, &threads)
                topology.core[cpu] = (uint16_t)first;
        }
        r = fill_distances(t, &topology);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(topology);
        return 0;
}

/* --- this machine, or a dump --- */

#define CPUS "devices/system/cpu/"
#define NODES "devices/system/node/"

/* --- what /sys knows better than hwloc --- */

static void fill_known_nodes(const Sysroot *sysroot, Topology *topology) {
        CpuSet left = topology_cpus(topology);

        for (size_t i = 0; i < topology->n_nodes; i++) {
                Node *node = &topology->nodes[i];
                const uint32_t by_mask = node->package;
                CpuSet mask;
                char text[8192];

                /* hwloc moves the CPUs of nodes that list the same ones, and gives a node without
                 * CPUs those near it. The kernel's own mask decides; a CPU of several nodes belongs
                 * to the lowest-numbered one. */
                if (path_read_mask(sysroot->sys_fd, &mask, NODES "node%" PRIu32 "/cpumap",
                                   node->id) >= 0) {
                        node->cpus = id_set_and(&mask, &left);
                        id_set_subtract(&left, &node->cpus);
                        for (size_t k = 0; k < i; k++)
                                node->overlaps |=
                                        id_set_intersects(&mask, &topology->nodes[k].cpus);
                }
                /* Of a node without CPUs hwloc knows the socket that it is near, if any. */
                if (!id_set_is_empty(&node->cpus)) {
                        uint32_t package = PACKAGE_UNKNOWN, number;

                        /* The number that all CPUs of the node have. */
                        ID_SET_FOREACH(cpu, &node->cpus) {
                                if (path_read_u32(sysroot->sys_fd, PACKAGE_UNKNOWN - 1, &number,
                                                  CPUS "cpu%d/topology/physical_package_id",
                                                  cpu) < 0 ||
                                    (package != PACKAGE_UNKNOWN && package != number)) {
                                        /* "-1": the kernel does not know it either */
                                        package = PACKAGE_UNKNOWN;
                                        break;
                                }
                                package = number;
                        }
                        node->package = package;
                        if (node->package != PACKAGE_UNKNOWN && node->package != by_mask)
                                id_set_add(&topology->mismasked_nodes, node->id);
                }
                node->memory_unknown =
                        node->memory_bytes == 0 &&
                        (node_read_file(sysroot, node->id, "meminfo", text, sizeof(text)) < 0 ||
                         !strstr(text, "MemTotal:"));
        }
}

/* --- cpuset partitions --- */

/* Control groups that are looked at to find out which one is the partition. */
enum { GROUPS_MAX = 1024 };

typedef struct PartitionSearch {
        char *name; /* of the partition that was found */
        size_t size;
        unsigned n;
} PartitionSearch;

/* A partition is at the top, or in one. */
static bool partition_find(PartitionSearch *search, int parent_fd, const char *parent,
                           unsigned depth) {
        _cleanup_closedir_ DIR *dir =
                dir_from_fd(path_open(parent_fd, O_RDONLY | O_DIRECTORY, "."));
        const struct dirent *entry;
        bool found = false;

        while (dir && !found && search->n < GROUPS_MAX && (entry = readdir(dir))) {
                _cleanup_close_ int group_fd = -EBADF;
                char path[PATH_MAX], text[64];

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                search->n++;
                group_fd = path_open(parent_fd, O_RDONLY | O_DIRECTORY, "%s", entry->d_name);
                if (group_fd < 0 || (size_t)snprintf(path, sizeof(path), "%s/%s", parent,
                                                     entry->d_name) >= sizeof(path))
                        continue;
                /* "root" and "isolated"; "root invalid (…)" has taken nothing. */
                found = path_read(group_fd, text, sizeof(text), "cpuset.cpus.partition") >= 0 &&
                        (strncmp(text, "root", 4) == 0 || strncmp(text, "isolated", 8) == 0) &&
                        !strstr(text, "invalid");
                if (found)
                        (void)snprintf(search->name, search->size, "%s", path);
                else if (depth > 0)
                        found = partition_find(search, group_fd, path, depth - 1);
        }
        return found;
}

int topology_load(const Sysroot *sysroot, Topology *ret) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_topology_ Topology topology = { 0 };
        const int sys_fd = sysroot->sys_fd, cgroup_fd = sysroot->cgroup_fd;
        PartitionSearch search = { .name = topology.taken_by, .size = sizeof(topology.taken_by) };
        CpuSet cpus, all;
        NodeSet nodes, all_nodes;
        TopologyEnv env;
        int r = path_read_list(sys_fd, &nodes, NODES "online");

        /* hwloc ends its caller then: list_sysfsnode() of its topology-linux.c asserts one node. */
        if (r == -EINVAL)
                return r;
        r = topology_env_enter(&env, sysroot, false);
        if (r < 0)
                return r;
        /* Only packages, nodes, cores and CPUs are wanted: caches and devices cost a walk through
         * /sys. */
        errno = 0;
        if (hwloc_topology_init(&t) < 0)
                r = -ENOMEM;
        else if (hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
                 hwloc_topology_set_type_filter(t, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) <
                         0 ||
                 hwloc_topology_set_type_filter(t, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) <
                         0 ||
                 /* Where a package has several nodes, each is a group of CPUs. */
                 hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP,
                                                HWLOC_TYPE_FILTER_KEEP_STRUCTURE) < 0 ||
                 hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0 ||
                 /* This component would bind its caller to each CPU in turn, to read values that
                  * /sys has as well. */
                 (hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                                "x86") < 0 &&
                  errno != EINVAL) ||
                 hwloc_topology_load(t) < 0)
                r = errno ? -errno : -ENODATA;
        topology_env_leave(&env, NULL);
        if (r >= 0)
                r = topology_fill(t, NULL, &topology);
        if (r < 0)
                return r;
        fill_known_nodes(sysroot, &topology);
        all = topology_cpus(&topology);
        all_nodes = topology_nodes(&topology);
        if (path_read_list(sys_fd, &nodes, NODES "online") >= 0)
                topology.lost_nodes = id_set_minus(&nodes, &all_nodes);
        /* The root group of cgroup v2 lacks the CPUs of partitions, whatever the kernel has besides
         * to tell of them. */
        if (cgroup_fd >= 0 && path_read_list(cgroup_fd, &cpus, "cpuset.cpus.effective") >= 0 &&
            !id_set_is_empty(&cpus)) {
                topology.taken_cpus = id_set_minus(&all, &cpus);
                if (!id_set_is_empty(&topology.taken_cpus))
                        (void)partition_find(&search, cgroup_fd, "", 1);
        }
        /* What hwloc does not show of the CPUs that it knows may also be sockets that are empty. */
        if (path_read_list(sys_fd, &cpus, CPUS "present") >= 0 && !id_set_is_empty(&cpus))
                topology.offline_cpus = id_set_minus(&cpus, &all);
        /* Absent on old kernels, or not a list: "(null)" of no nohz_full. */
        (void)path_read_list(sys_fd, &topology.isolated_cpus, CPUS "isolated");
        (void)path_read_list(sys_fd, &topology.nohz_full_cpus, CPUS "nohz_full");
        /* Linux 6.7 and later, in the root group only. */
        if (cgroup_fd >= 0 && path_read_list(cgroup_fd, &cpus, "cpuset.cpus.isolated") >= 0)
                id_set_union(&topology.isolated_cpus, &cpus);
        /* Our own cgroup; what cannot be read hides nothing. */
        if (sysroot->live && own_cpuset_read_nodes(sysroot, getpid(), &nodes) >= 0) {
                all_nodes = topology_memory_nodes(&topology);
                topology.hidden_nodes = id_set_minus(&all_nodes, &nodes);
        }
        if (sysroot->live && own_cpuset_read_cpus(sysroot, getpid(), &cpus) >= 0)
                topology.hidden_cpus = id_set_minus(&all, &cpus);
        *ret = TAKE_STRUCT(topology);
        return 0;
}

/* --- the cpuset of this process. hwloc knows the group itself only, not those above it --- */

int own_cpuset_read_cpus(const Sysroot *sysroot, pid_t pid, CpuSet *ret) {
        const bool v1 = cgroup_version(sysroot) == CGROUP_V1;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int root = -EBADF;
        int r = proc_open(sysroot, pid, &handle);

        if (r >= 0)
                r = v1 ? proc_cgroup_path_read(&handle, "cpuset", &path)
                       : proc_cgroup_read(&handle, &path);
        if (r >= 0)
                r = v1                       ? cgroup1_open(sysroot, "cpuset", &root)
                    : sysroot->cgroup_fd < 0 ? -EOPNOTSUPP
                                             : cgroup_open(sysroot, "/", &root);
        return r < 0 ? r : cgroup_nearest_cpus_read(root, path, ret);
}

/* They are those of its cpuset: nothing else changes them. */
int own_cpuset_read_nodes(const Sysroot *sysroot, pid_t pid, NodeSet *ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        ProcStatus status;
        int r = proc_open(sysroot, pid, &handle);

        if (r >= 0)
                r = proc_status_read(&handle, 0, &status);
        if (r < 0)
                return r;
        *ret = status.mems_allowed;
        return 0;
}
