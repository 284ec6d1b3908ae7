/* This machine's topology, or a dump's: hwloc's objects, and what only /sys has beside them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/cgroup1.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/topology-env.h"
#include "tidbnumad/world/topology-fill.h"
#include "tidbnumad/world/topology-load.h"

#define CPUS "devices/system/cpu/"
#define NODES "devices/system/node/"

/* --- hwloc ---------------------------------------------------------------------------------- */

static int init_hwloc(hwloc_topology_t *ret) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;

        if (hwloc_topology_init(&t) < 0)
                return -ENOMEM;
        /* Only packages, nodes, cores and CPUs are wanted: caches and devices cost a walk through
         * /sys. */
        if (hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
            hwloc_topology_set_type_filter(t, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
            hwloc_topology_set_type_filter(t, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
            /* Where a package has several nodes, each is a group of CPUs. */
            hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) <
                    0 ||
            hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0 ||
            /* This component would bind its caller to each CPU in turn, to read values that /sys
             * has as well. */
            (hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86") <
                     0 &&
             errno != EINVAL))
                return -errno;
        *ret = TAKE_PTR(t);
        return 0;
}

static int load_hwloc(const Sysroot *sysroot, hwloc_topology_t *ret) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        TopologyEnv env;
        int r;

        r = topology_env_enter(&env, sysroot, false);
        if (r < 0)
                return r;
        r = init_hwloc(&t);
        if (r >= 0 && hwloc_topology_load(t) < 0)
                r = errno ? -errno : -ENODATA;
        topology_env_leave(&env, NULL);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

/* --- /sys ----------------------------------------------------------------------------------- */

/* false: absent, as on old kernels, or not a list: "(null)" of no nohz_full. */
static bool read_set(int dir_fd, const char *path, IdTarget ret) {
        char text[ID_SET_LIST_MAX];

        return read_file_at(dir_fd, path, text, sizeof(text)) >= 0 &&
               id_target_parse_list(text, ret) >= 0;
}

/* hwloc moves the CPUs of nodes that list the same ones, and gives a node without CPUs those near
 * it. The kernel's own mask decides; a CPU of several nodes belongs to the lowest-numbered one. */
static void fill_masks(const Sysroot *sysroot, Topology *topology) {
        const CpuSet first_threads = topology_fill_first_threads(topology);
        CpuSet left = topology_cpus(topology);

        for (size_t i = 0; i < topology->n_nodes; i++) {
                Node *node = &topology->nodes[i];
                char text[ID_SET_MASK_MAX];
                CpuSet mask, own;

                if (node_read_file(sysroot, node->id, "cpumap", text, sizeof(text)) < 0 ||
                    id_set_parse_mask(text, &mask) < 0)
                        continue;
                own = mask;
                id_set_intersect(&own, &left);
                id_set_subtract(&left, &own);
                topology_fill_assign(node, &own, &first_threads);
                for (size_t k = 0; k < i; k++)
                        node->overlaps |= id_set_intersects(&mask, &topology->nodes[k].cpus);
        }
}

/* The number that all CPUs of the node have. */
static uint32_t read_package(const Sysroot *sysroot, const CpuSet *cpus) {
        uint32_t package = PACKAGE_UNKNOWN;

        ID_SET_FOREACH(cpu, cpus) {
                char path[64], text[32];
                uint64_t number;

                (void)snprintf(path, sizeof(path), CPUS "cpu%d/topology/physical_package_id", cpu);
                if (read_file_at(sysroot->sys_fd, path, text, sizeof(text)) < 0)
                        return PACKAGE_UNKNOWN;
                text[strcspn(text, "\n")] = '\0';
                if (parse_u64(text, &number) < 0 || number >= PACKAGE_UNKNOWN ||
                    (package != PACKAGE_UNKNOWN && package != number))
                        return PACKAGE_UNKNOWN; /* "-1": the kernel does not know it either */
                package = (uint32_t)number;
        }
        return package;
}

/* Of a node without CPUs hwloc knows the socket that it is near, if any. */
static void fill_packages(const Sysroot *sysroot, Topology *topology) {
        for (size_t i = 0; i < topology->n_nodes; i++) {
                Node *node = &topology->nodes[i];
                const uint32_t by_mask = node->package;

                if (id_set_is_empty(&node->cpus))
                        continue;
                node->package = read_package(sysroot, &node->cpus);
                if (node->package != PACKAGE_UNKNOWN && node->package != by_mask)
                        id_set_add(&topology->mismasked_nodes, node->id);
        }
}

static void fill_memory(const Sysroot *sysroot, Topology *topology) {
        for (size_t i = 0; i < topology->n_nodes; i++) {
                Node *node = &topology->nodes[i];
                char text[8192];

                node->memory_unknown =
                        node->memory_bytes == 0 &&
                        (node_read_file(sysroot, node->id, "meminfo", text, sizeof(text)) < 0 ||
                         !strstr(text, "MemTotal:"));
        }
}

static void fill_lost(const Sysroot *sysroot, Topology *topology) {
        const NodeSet nodes = topology_nodes(topology);

        if (read_set(sysroot->sys_fd, NODES "online", ID_TARGET(&topology->lost_nodes)))
                id_set_subtract(&topology->lost_nodes, &nodes);
}

/* What hwloc does not show of the CPUs that it knows may also be sockets that are empty. */
static void fill_offline(const Sysroot *sysroot, Topology *topology) {
        CpuSet present, online = topology_cpus(topology);

        if (!read_set(sysroot->sys_fd, CPUS "present", ID_TARGET(&present)) ||
            id_set_is_empty(&present))
                return;
        id_set_subtract(&present, &online);
        topology->offline_cpus = present;
}

static void fill_isolated(const Sysroot *sysroot, Topology *topology) {
        CpuSet partitions;

        (void)read_set(sysroot->sys_fd, CPUS "isolated", ID_TARGET(&topology->isolated_cpus));
        (void)read_set(sysroot->sys_fd, CPUS "nohz_full", ID_TARGET(&topology->nohz_full_cpus));
        /* Linux 6.7 and later, in the root group only. */
        if (sysroot->cgroup_fd >= 0 &&
            read_set(sysroot->cgroup_fd, "cpuset.cpus.isolated", ID_TARGET(&partitions)))
                id_set_union(&topology->isolated_cpus, &partitions);
}

/* --- cpuset partitions ---------------------------------------------------------------------- */

/* Control groups that are looked at to find out which one is the partition. */
enum { GROUPS_MAX = 1024 };

typedef struct Search {
        char *name; /* of the partition that was found */
        size_t size;
        unsigned n;
} Search;

/* "root" and "isolated"; "root invalid (…)" has taken nothing. */
static bool is_partition(int group_fd) {
        char text[64];

        if (read_file_at(group_fd, "cpuset.cpus.partition", text, sizeof(text)) < 0)
                return false;
        return (strncmp(text, "root", 4) == 0 || strncmp(text, "isolated", 8) == 0) &&
               !strstr(text, "invalid");
}

/* A partition is at the top, or in one. */
static bool find_partition(Search *search, int parent_fd, const char *parent, unsigned depth) {
        int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;
        bool found = false;

        if (!dir)
                closep(&fd);
        while (dir && !found && search->n < GROUPS_MAX && (entry = readdir(dir))) {
                _cleanup_close_ int group_fd = -EBADF;
                char path[PATH_MAX];

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                search->n++;
                group_fd = openat(parent_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (group_fd < 0 || (size_t)snprintf(path, sizeof(path), "%s/%s", parent,
                                                     entry->d_name) >= sizeof(path))
                        continue;
                found = is_partition(group_fd);
                if (found)
                        (void)snprintf(search->name, search->size, "%s", path);
                else if (depth > 0)
                        found = find_partition(search, group_fd, path, depth - 1);
        }
        return found;
}

/* The root group of cgroup v2 lacks the CPUs of partitions, whatever the kernel has besides to tell
 * of them. */
static void fill_taken(const Sysroot *sysroot, Topology *topology) {
        Search search = { .name = topology->taken_by, .size = sizeof(topology->taken_by) };
        CpuSet offered;

        if (sysroot->cgroup_fd < 0 ||
            !read_set(sysroot->cgroup_fd, "cpuset.cpus.effective", ID_TARGET(&offered)) ||
            id_set_is_empty(&offered))
                return;
        topology->taken_cpus = topology_cpus(topology);
        id_set_subtract(&topology->taken_cpus, &offered);
        if (!id_set_is_empty(&topology->taken_cpus))
                (void)find_partition(&search, sysroot->cgroup_fd, "", 1);
}

/* --- our own cgroup ------------------------------------------------------------------------- */

/* What cannot be read hides nothing. */
static void fill_hidden(const Sysroot *sysroot, Topology *topology) {
        CpuSet cpus;
        NodeSet nodes;

        if (own_cpuset_read_nodes(sysroot, getpid(), &nodes) >= 0) {
                topology->hidden_nodes = topology_memory_nodes(topology);
                id_set_subtract(&topology->hidden_nodes, &nodes);
        }
        if (own_cpuset_read_cpus(sysroot, getpid(), &cpus) >= 0) {
                topology->hidden_cpus = topology_cpus(topology);
                id_set_subtract(&topology->hidden_cpus, &cpus);
        }
}

int topology_load(const Sysroot *sysroot, Topology *ret) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_topology_ Topology topology = { 0 };
        int r;

        r = load_hwloc(sysroot, &t);
        if (r < 0)
                return r;
        r = topology_fill(t, NULL, &topology);
        if (r < 0)
                return r;
        fill_masks(sysroot, &topology);
        fill_packages(sysroot, &topology);
        fill_memory(sysroot, &topology);
        fill_lost(sysroot, &topology);
        fill_taken(sysroot, &topology);
        fill_offline(sysroot, &topology);
        fill_isolated(sysroot, &topology);
        if (sysroot->live)
                fill_hidden(sysroot, &topology);
        *ret = TAKE_STRUCT(topology);
        return 0;
}

/* --- the cpuset of this process. hwloc knows the group itself only, not those above it --- */

static int open_group(const Sysroot *sysroot, const ProcHandle *handle, int *ret_root,
                      char **ret_path) {
        int r;

        if (cgroup_version(sysroot) == CGROUP_V1) {
                r = proc_cgroup_path_read(handle, "cpuset", ret_path);
                return r < 0 ? r : cgroup1_open(sysroot, "cpuset", ret_root);
        }
        if (sysroot->cgroup_fd < 0)
                return -EOPNOTSUPP;
        r = cgroup_open(sysroot, "/", ret_root);
        return r < 0 ? r : proc_cgroup_read(handle, ret_path);
}

static int read_nearest(int root, char *path, CpuSet *ret) {
        for (;;) {
                _cleanup_close_ int group = -EBADF;
                char *slash = strrchr(path, '/');
                CpuSet cpus;
                int r = cgroup_open_below(root, path, &group);

                if (r >= 0)
                        r = cgroup_effective_cpus_read(group, &cpus);
                /* On v1 the sets are empty in a group that was not set up: nothing runs there. */
                if (r >= 0 && !id_set_is_empty(&cpus)) {
                        *ret = cpus;
                        return 0;
                }
                if (r < 0 && r != -EOPNOTSUPP)
                        return r;
                if (!slash)
                        return -EOPNOTSUPP;
                *slash = '\0';
        }
}

int own_cpuset_read_cpus(const Sysroot *sysroot, pid_t pid, CpuSet *ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int root = -EBADF;
        int r = proc_open(sysroot, pid, &handle);

        if (r >= 0)
                r = open_group(sysroot, &handle, &root, &path);
        return r < 0 ? r : read_nearest(root, path, ret);
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
