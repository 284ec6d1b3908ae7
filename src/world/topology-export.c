/* A machine as hwloc's XML, with what only we know of it, and with instances for lstopo to draw. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/world/topology-devices.h"
#include "tidbnumad/world/topology-env.h"
#include "tidbnumad/world/topology-source.h"

/* --- what we know --------------------------------------------------------------------------- */

static int note_set(hwloc_obj_t root, const char *name, IdView set) {
        char list[ID_SET_LIST_MAX];

        if (id_view_render_list(set, list, sizeof(list)) < 0)
                return -ENOSPC;
        return hwloc_obj_add_info(root, name, list) < 0 ? -ENOMEM : 0;
}

static NodeSet nodes_with_cpus(const Topology *topology) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (!id_set_is_empty(&topology->nodes[i].cpus))
                        id_set_add(&nodes, topology->nodes[i].id);
        return nodes;
}

static int note_node(hwloc_topology_t t, const Node *node) {
        hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(t, node->id);
        _cleanup_free_ char *note = NULL;
        char cpus[ID_SET_LIST_MAX];

        if (!object)
                return 0;
        if (id_set_render_list(&node->cpus, cpus, sizeof(cpus)) < 0)
                return -ENOSPC;
        if (asprintf(&note, "package=%" PRId64 " memory=%s overlaps=%s kind=%s cpus=%s",
                     node->package == PACKAGE_UNKNOWN ? -1 : (int64_t)node->package,
                     node->memory_unknown ? "unknown" : "known", node->overlaps ? "yes" : "no",
                     node_kind_to_string(node->kind), cpus) < 0) {
                note = NULL;
                return -ENOMEM;
        }
        return hwloc_obj_add_info(object, TOPOLOGY_INFO_NODE, note) < 0 ? -ENOMEM : 0;
}

static int note_topology(hwloc_topology_t t, const Topology *topology) {
        hwloc_obj_t root = hwloc_get_root_obj(t);
        NodeSet has_cpu = nodes_with_cpus(topology);
        int r = hwloc_obj_add_info(root, TOPOLOGY_INFO_VERSION, "1") < 0 ? -ENOMEM : 0;

        if (r >= 0)
                r = note_set(root, TOPOLOGY_INFO_HAS_CPU, ID_VIEW(&has_cpu));
        if (r >= 0)
                r = note_set(root, TOPOLOGY_INFO_OFFLINE, ID_VIEW(&topology->offline_cpus));
        if (r >= 0)
                r = note_set(root, TOPOLOGY_INFO_ISOLATED, ID_VIEW(&topology->isolated_cpus));
        if (r >= 0)
                r = note_set(root, TOPOLOGY_INFO_NOHZ_FULL, ID_VIEW(&topology->nohz_full_cpus));
        if (r >= 0)
                r = note_set(root, TOPOLOGY_INFO_TAKEN_CPUS, ID_VIEW(&topology->taken_cpus));
        if (r >= 0)
                r = note_set(root, TOPOLOGY_INFO_HIDDEN_CPUS, ID_VIEW(&topology->hidden_cpus));
        if (r >= 0)
                r = note_set(root, TOPOLOGY_INFO_HIDDEN_NODES, ID_VIEW(&topology->hidden_nodes));
        if (r >= 0)
                r = note_set(root, TOPOLOGY_INFO_LOST_NODES, ID_VIEW(&topology->lost_nodes));
        if (r >= 0)
                r = note_set(root, TOPOLOGY_INFO_MISMASKED, ID_VIEW(&topology->mismasked_nodes));
        for (size_t i = 0; r >= 0 && i < topology->n_nodes; i++)
                r = note_node(t, &topology->nodes[i]);
        return r;
}

static int load_model(const TopologySource *source, Topology *ret, char **ret_message) {
        if (source->xml)
                return topology_load_xml(source->xml, ret, NULL, ret_message);
        if (source->synthetic)
                return topology_load_synthetic(source->synthetic, ret, ret_message);
        return topology_load(source->sysroot, ret);
}

/* --- the instances -------------------------------------------------------------------------- */

/* Of more than this many equal objects, lstopo draws only the first and the last, and dots for the
 * others: an instance below these would not be visible. */
enum { LSTOPO_ALIKE_MAX = 4 };

static hwloc_obj_t find_drawn(hwloc_obj_t object) {
        hwloc_obj_t drawn = object, o = object;

        while (!hwloc_obj_type_is_normal(o->type))
                o = o->parent;
        for (; o->parent; o = o->parent)
                if (o->parent->symmetric_subtree && o->parent->arity > LSTOPO_ALIKE_MAX)
                        drawn = o->parent;
        return drawn;
}

static bool covers(hwloc_obj_t object, const NodeSet *nodes) {
        NodeSet its = topology_fill_nodes(object->nodeset);

        return id_set_is_subset(nodes, &its);
}

/* The smallest object that holds the nodes; the machine, where it does not have one of them. */
static hwloc_obj_t find_place(hwloc_topology_t t, const NodeSet *nodes) {
        int first = id_set_next(nodes, 0);
        hwloc_obj_t object =
                first < 0 ? NULL : hwloc_get_numanode_obj_by_os_index(t, (unsigned)first);

        while (object && !covers(object, nodes))
                object = object->parent;
        return object ? find_drawn(object) : hwloc_get_root_obj(t);
}

static int add_mark(hwloc_topology_t t, const TopologyMark *mark) {
        _cleanup_free_ char *name = NULL;
        char nodes[ID_SET_LIST_MAX];
        hwloc_obj_t misc;

        if (id_set_render_list(&mark->nodes, nodes, sizeof(nodes)) < 0)
                return -ENOSPC;
        if (asprintf(&name, "%s (%s %s)", mark->name,
                     id_set_count(&mark->nodes) == 1 ? "node" : "nodes", nodes) < 0) {
                name = NULL;
                return -ENOMEM;
        }
        misc = hwloc_topology_insert_misc_object(t, find_place(t, &mark->nodes), name);
        if (!misc)
                return -ENOMEM;
        misc->subtype = strdup(mark->type); /* hwloc's to free */
        return misc->subtype ? 0 : -ENOMEM;
}

/* --- the file ------------------------------------------------------------------------------- */

static int fail(char **ret_message, int r, const char *path) {
        if (ret_message && asprintf(ret_message, "cannot write %s: %s", path, strerror(-r)) < 0) {
                *ret_message = NULL;
                return -ENOMEM;
        }
        return r;
}

/* A link stays one, and what it points to is replaced. What is no regular file, such as a terminal,
 * is not there to be replaced. */
static int find_target(const char *path, char ret[static PATH_MAX]) {
        struct stat st;

        if (stat(path, &st) < 0) {
                if (errno != ENOENT)
                        return -errno;
                if (strlen(path) >= PATH_MAX)
                        return -ENAMETOOLONG;
                (void)strcpy(ret, path);
                return 0;
        }
        if (!S_ISREG(st.st_mode))
                return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
        return realpath(path, ret) ? 0 : -errno;
}

static int write_file(const char *path, const char *data, size_t size) {
        _cleanup_close_ int dir_fd = -EBADF;
        char target[PATH_MAX], *slash;
        int r = find_target(path, target);

        if (r < 0)
                return r;
        slash = strrchr(target, '/');
        if (slash)
                *slash = '\0';
        dir_fd = open(!slash ? "." : *target ? target : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -errno;
        return atomic_file_write(dir_fd, slash ? slash + 1 : target, data, size, 0644);
}

static int write_xml(hwloc_topology_t t, const char *path) {
        TopologyEnv env;
        char *xml = NULL;
        int length, r = topology_env_enter(&env, NULL, true);

        if (r < 0)
                return r;
        r = hwloc_topology_export_xmlbuffer(t, &xml, &length, 0) < 0 ? -ENOMEM : 0;
        topology_env_leave(&env, NULL);
        if (r < 0)
                return r;
        r = write_file(path, xml, strlen(xml));
        hwloc_free_xmlbuffer(t, xml);
        return r;
}

int topology_export(const TopologySource *source, const DeviceList *devices,
                    const TopologyMark *marks, size_t n_marks, const char *path,
                    char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_topology_ Topology topology = { 0 };
        int r = load_model(source, &topology, ret_message);

        if (r >= 0)
                r = topology_source_load(source, &t, ret_message);
        if (r < 0)
                return r;
        r = note_topology(t, &topology);
        if (r >= 0 && devices)
                r = topology_devices_note(t, devices);
        for (size_t i = 0; i < n_marks && r >= 0; i++)
                r = add_mark(t, &marks[i]);
        if (r < 0)
                return r;
        r = write_xml(t, path);
        return r < 0 ? fail(ret_message, r, path) : 0;
}
