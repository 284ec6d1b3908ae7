/* Machines as hwloc's XML and as synthetic descriptions: reading them, and writing this one with
 * what only we know of it and with instances for lstopo to draw. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/topology-hwloc.h"

/* --- hwloc's whole tree of a machine that is here, in a dump, in a file or imagined, and the
 * message when hwloc does not accept it --- */

/* Objects that instances are shown as have a type that begins so. */
#define TOPOLOGY_MARK_TYPE "tidbnumad:"

static int hwloc_init(bool keep_misc, hwloc_topology_t *ret) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;

        if (hwloc_topology_init(&t) < 0)
                return -ENOMEM;
        if (hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) < 0 ||
            hwloc_topology_set_type_filter(t, HWLOC_OBJ_MISC,
                                           keep_misc ? HWLOC_TYPE_FILTER_KEEP_ALL
                                                     : HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
            hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0)
                return -errno;
        *ret = TAKE_PTR(t);
        return 0;
}

static int hwloc_load(hwloc_topology_t t) {
        errno = 0;
        if (hwloc_topology_load(t) < 0)
                return errno ? -errno : -EINVAL;
        return 0;
}

/* --- XML --- */

static int hwloc_load_buffer(const char *xml, size_t size, bool keep_misc, hwloc_topology_t *ret) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        int r = size >= INT_MAX ? -EFBIG : hwloc_init(keep_misc, &t);

        if (r < 0)
                return r;
        /* The size is with the final NUL. */
        if (hwloc_topology_set_xmlbuffer(t, xml, (int)size + 1) < 0)
                return -EINVAL;
        r = hwloc_load(t);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

static int source_load_xml(const char *path, hwloc_topology_t *ret, Error *error) {
        static const char format[] = "<topology version=\"";
        _cleanup_hwloc_ hwloc_topology_t t = NULL, bare = NULL;
        _cleanup_free_ char *xml = NULL;
        hwloc_obj_t object = NULL;
        char *buffer = NULL;
        const char *version;
        int length, r;
        size_t size;

        r = path_read_alloc(AT_FDCWD, &xml, &size, "%s", path);

        if (r < 0)
                return error_prefix(error, r, "cannot read %s: ", path);
        r = hwloc_load_buffer(xml, size, true, &t);
        /* The instances of an export. hwloc has no way to remove an object: so all objects of that
         * kind are left out in a second reading, DIMMs too. After a third, new ones may be added.
         */
        if (r >= 0)
                do
                        object = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_MISC, object);
                while (object && (!object->subtype || strncmp(object->subtype, TOPOLOGY_MARK_TYPE,
                                                              strlen(TOPOLOGY_MARK_TYPE)) != 0));
        if (object) {
                r = hwloc_load_buffer(xml, size, false, &bare);
                if (r >= 0 && hwloc_topology_export_xmlbuffer(bare, &buffer, &length, 0) < 0)
                        r = -ENOMEM;
                if (r >= 0) {
                        hwloc_topology_destroy(t);
                        t = NULL;
                        r = hwloc_load_buffer(buffer, strlen(buffer), true, &t);
                        hwloc_free_xmlbuffer(bare, buffer);
                }
        }
        if (r >= 0) {
                *ret = TAKE_PTR(t);
                return 0;
        }
        /* The format of hwloc 3, which hwloc 2 does not read: <topology version="3.0">. */
        version = strstr(xml, format);
        if (r != -ENOMEM && version && version[strlen(format)] > '2')
                return error_set(
                        error, -EINVAL,
                        "%s is XML of hwloc 3 or later, and this program has hwloc 2; export it "
                        "with \"lstopo --export-xml-flags v2 FILE.xml\"",
                        path);
        return error_set(error, r == -ENOMEM ? r : -EINVAL,
                         "hwloc cannot read %s; expected XML from \"lstopo FILE.xml\"", path);
}

/* --- synthetic --- */

/* The instances that an XML of ours shows are left out: they are of another plan. */
static int topology_source_load(const TopologySource *source, hwloc_topology_t *ret, Error *error) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_free_ char *output = NULL;
        const char *levels = source->synthetic ? source->synthetic : "";
        uint64_t n_cpus = 1;
        TopologyEnv env;
        int depth = 0, r;

        /* hwloc would build as many objects as the description has. Of "package:2
         * [numa(memory=1GB)] core:4 2" the numbers outside of brackets multiply. */
        for (const char *p = levels; *p; p++) {
                bool starts = p == levels || p[-1] == ' ' || p[-1] == ':';
                uint64_t number;

                depth += (*p == '[' || *p == '(') - (*p == ']' || *p == ')');
                if (depth > 0 || !starts || *p < '0' || *p > '9')
                        continue;
                number = strtoull(p, NULL, 0);
                if (number > 0 && n_cpus <= CPU_SET_MAX)
                        n_cpus = number > CPU_SET_MAX ? number : n_cpus * number;
        }
        if (n_cpus > CPU_SET_MAX)
                return error_set(error, -EINVAL,
                                 "the machine \"%s\" has too many CPUs, expected at most %u",
                                 source->synthetic, CPU_SET_MAX);
        r = topology_env_enter(&env, source->sysroot, true);
        if (r < 0)
                return r;
        if (source->xml)
                r = source_load_xml(source->xml, &t, error);
        else {
                r = hwloc_init(true, &t);
                if (r >= 0 && source->synthetic &&
                    hwloc_topology_set_synthetic(t, source->synthetic) < 0)
                        r = -EINVAL;
                if (r >= 0)
                        r = hwloc_load(t);
                if (r < 0 && !source->synthetic)
                        r = error_prefix(error, r, "hwloc cannot read this machine: ");
        }
        topology_env_leave(&env, &output);
        /* hwloc's own words name the place in the description. */
        if (r == -EINVAL && source->synthetic)
                r = error_set(
                        error, -EINVAL,
                        "hwloc rejects the machine \"%s\"%s%s; expected levels, each with its "
                        "number within the level before, such as \"package:2 "
                        "numa:4(memory=128GiB) core:8 pu:2\"",
                        source->synthetic, output ? ": " : "", output ? output : "");
        if (r >= 0)
                *ret = TAKE_PTR(t);
        return r;
}

/* --- devices in hwloc's tree, as others' XML holds them and as our own does --- */

/* Notes them on hwloc's devices of the same name, the rest on the machine. */
static int topology_devices_note(hwloc_topology_t t, const DeviceList *devices) {
        _cleanup_text_ Text others = { 0 }, note = { 0 };

        for (size_t i = 0; i < devices->n_devices; i++) {
                const Device *device = &devices->devices[i];
                const hwloc_obj_osdev_type_t type = device->kind == DEVICE_NET
                                                            ? HWLOC_OBJ_OSDEV_NETWORK
                                                            : HWLOC_OBJ_OSDEV_BLOCK;
                hwloc_obj_t object = NULL;

                do
                        object = hwloc_get_next_osdev(t, object);
                while (object && (object->attr->osdev.type != type ||
                                  !text_equal(object->name, device->name)));
                if (!object) {
                        text_append(&others, others.length > 0 ? "; " : "");
                        device_note_render(device, &others);
                        continue;
                }
                text_reset(&note);
                device_note_render(device, &note);
                if (note.error < 0 ||
                    hwloc_obj_add_info(object, TOPOLOGY_INFO_DEVICE, note.data) < 0)
                        return -ENOMEM;
        }
        text_append(&others, "");
        return others.error < 0 || hwloc_obj_add_info(hwloc_get_root_obj(t), TOPOLOGY_INFO_DEVICES,
                                                      others.data) < 0
                       ? -ENOMEM
                       : 0;
}

static int device_add_noted(const char *note, DeviceList *list) {
        _cleanup_(device_done) Device device = { 0 };
        int r = device_note_parse(note, &device);

        /* Of two the first: hwloc may see a device twice. */
        if (r < 0 || device_list_find(list, device.kind, device.name))
                return r;
        return device_list_add(list, &device);
}

static int device_add_found(hwloc_topology_t t, const Topology *topology, hwloc_obj_t object,
                            DeviceList *list) {
        _cleanup_(device_done) Device device = { 0 };
        hwloc_obj_t pci = object, near;
        NodeSet nodes;
        bool net;

        if (!object->name || !*object->name || !object->attr)
                return 0;
        while (pci && pci->type != HWLOC_OBJ_PCI_DEVICE)
                pci = pci->parent;
        net = object->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK;
        /* A memory expander is "Block" to hwloc 2. */
        if (!net && (object->attr->osdev.type != HWLOC_OBJ_OSDEV_BLOCK ||
                     (object->subtype && strncmp(object->subtype, "CXL", 3) == 0) ||
                     !disk_name_counts(object->name) || (!pci && object->subtype)))
                return 0;
        device.kind = net ? DEVICE_NET : DEVICE_DISK;
        if (device_list_find(list, device.kind, object->name))
                return 0;
        device.name = strdup(object->name);
        /* Its node, where exactly one of the nodes of its locality has CPUs. A node without CPUs is
         * local to a whole package, so it does not locate the device. */
        near = hwloc_get_non_io_ancestor_obj(t, object);
        nodes = topology_fill_nodes(near ? near->nodeset : NULL);
        device.node = DEVICE_NODE_UNKNOWN;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                if (!id_set_has(&nodes, topology->nodes[i].id) ||
                    id_set_is_empty(&topology->nodes[i].cpus))
                        continue;
                if (device.node != DEVICE_NODE_UNKNOWN) {
                        device.node = DEVICE_NODE_UNKNOWN;
                        break;
                }
                device.node = (int32_t)topology->nodes[i].id;
        }
        device.nvme = !net && strncmp(object->name, "nvme", 4) == 0;
        if (pci)
                device.pci = text_new("%04x:%02x:%02x.%x", pci->attr->pcidev.domain,
                                      pci->attr->pcidev.bus, pci->attr->pcidev.dev,
                                      pci->attr->pcidev.func);
        return !device.name || (pci && !device.pci) ? -ENOMEM : device_list_add(list, &device);
}

/* --- a device as one line of text, and back --- */

static void note_append(Text *text, const char *value) {
        for (const unsigned char *p = (const unsigned char *)value; *p; p++)
                if (*p <= 0x20 || *p >= 0x7f || *p == '\\' || *p == ';')
                        text_appendf(text, "\\%03o", *p);
                else
                        text_appendf(text, "%c", *p);
}

static void note_append_value(Text *text, const char *key, const char *value) {
        if (!value)
                return;
        text_appendf(text, " %s=", key);
        note_append(text, value);
}

void device_note_render(const Device *device, Text *text) {
        text_append(text, device->kind == DEVICE_NET ? "net " : "disk ");
        note_append(text, device->name);
        if (device->node != DEVICE_NODE_UNKNOWN)
                text_appendf(text, " node=%" PRId32, device->node);
        note_append_value(text, "pci", device->pci);
        note_append_value(text, "driver", device->driver);
        if (device->speed_mbps > 0)
                text_appendf(text, " speed=%" PRIu32, device->speed_mbps);
        if (device->size_bytes > 0)
                text_appendf(text, " size=%" PRIu64, device->size_bytes);
        note_append_value(text, "master", device->master);
        if (device->nvme)
                text_append(text, " nvme");
        if (device->default_route)
                text_append(text, " default-route");
        if (device->virtual_function)
                text_append(text, " virtual-function");
}

static int note_set_string(char **string, char *value) {
        char *copy;

        mountinfo_unescape(value);
        if (!*value)
                return -EBADMSG;
        copy = strdup(value);
        if (!copy)
                return -ENOMEM;
        free(*string);
        *string = copy;
        return 0;
}

int device_note_parse(const char *text, Device *ret) {
        _cleanup_(device_done) Device device = { .node = DEVICE_NODE_UNKNOWN };
        _cleanup_free_ char *copy = strdup(text);
        char *rest = copy, *kind = strsep(&rest, " "), *word;
        uint64_t number;
        int r;

        if (!copy)
                return -ENOMEM;
        word = strsep(&rest, " ");
        if (!word || (strcmp(kind, "net") != 0 && strcmp(kind, "disk") != 0))
                return -EBADMSG;
        device.kind = strcmp(kind, "net") == 0 ? DEVICE_NET : DEVICE_DISK;
        r = note_set_string(&device.name, word);
        while (r >= 0 && (word = strsep(&rest, " "))) {
                char *value = strchr(word, '=');

                if (value)
                        *value++ = '\0';
                if (!value) {
                        device.nvme |= strcmp(word, "nvme") == 0;
                        device.default_route |= strcmp(word, "default-route") == 0;
                        device.virtual_function |= strcmp(word, "virtual-function") == 0;
                } else if (strcmp(word, "pci") == 0)
                        r = note_set_string(&device.pci, value);
                else if (strcmp(word, "driver") == 0)
                        r = note_set_string(&device.driver, value);
                else if (strcmp(word, "master") == 0)
                        r = note_set_string(&device.master, value);
                else if (strcmp(word, "node") == 0) {
                        if (parse_u64(value, &number) < 0 || number >= NODE_SET_MAX)
                                return -EBADMSG;
                        device.node = (int32_t)number;
                } else if (strcmp(word, "speed") == 0) {
                        if (parse_u64(value, &number) < 0 || number > UINT32_MAX)
                                return -EBADMSG;
                        device.speed_mbps = (uint32_t)number;
                } else if (strcmp(word, "size") == 0 && parse_u64(value, &device.size_bytes) < 0)
                        return -EBADMSG;
        }
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(device);
        return 0;
}

/* --- machines that are not here: XML and synthetic descriptions into the model --- */

/* What an export notes on the machine, for what hwloc does not know. */
static const struct {
        const char *name;
        size_t offset, n_words;
} NOTED_SETS[] = {
#define NOTED(info, set)                                                                           \
        { (info), offsetof(Topology, set), ID_SET_N_WORDS(&((Topology *)0)->set) }
        NOTED("TidbnumadOfflineCPUs", offline_cpus),
        NOTED("TidbnumadIsolatedCPUs", isolated_cpus),
        NOTED("TidbnumadNohzFullCPUs", nohz_full_cpus),
        NOTED("TidbnumadTakenCPUs", taken_cpus),
        NOTED("TidbnumadHiddenCPUs", hidden_cpus),
        NOTED("TidbnumadHiddenNodes", hidden_nodes),
        NOTED("TidbnumadLostNodes", lost_nodes),
        NOTED("TidbnumadMismaskedNodes", mismasked_nodes),
};

static IdTarget noted_set(Topology *topology, size_t i) {
        return (IdTarget){ (uint64_t *)(void *)((char *)topology + NOTED_SETS[i].offset),
                           NOTED_SETS[i].n_words };
}

/* What is damaged is as if it were not there. */
static void read_node_note(const char *note, Node *node) {
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
        node->cpus = cpus;
}

/* What hwloc took, and we do not. */
static int topology_explain(int r, const char *source, Error *error) {
        const char *why = r == -E2BIG     ? "has too many nodes, expected at most 1024"
                          : r == -ENODATA ? "has no node"
                          : r == -EBADMSG ? "contains damaged notes on devices; export it again"
                                          : NULL;

        return why ? error_set(error, -EINVAL, "the machine \"%s\" %s", source, why) : r;
}

_Static_assert(NODE_SET_MAX == 1024, "see the message above");

static int load_foreign(const TopologySource *source, const char *name, Topology *ret,
                        DeviceList *ret_devices, Error *error) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_topology_ Topology topology = { 0 };
        _cleanup_device_list_ DeviceList devices = { 0 };
        NodeSet has_cpu = { 0 };
        bool has_memory = false;
        const char *list;
        hwloc_obj_t root;
        int r = topology_source_load(source, &t, error);

        if (r < 0)
                return r;
        root = hwloc_get_root_obj(t);
        list = topology_fill_info(root, TOPOLOGY_INFO_HAS_CPU);
        if (list)
                (void)id_set_parse_list(list, &has_cpu);
        r = topology_fill(t, id_set_is_empty(&has_cpu) ? NULL : &has_cpu, &topology);
        if (r < 0)
                return topology_explain(r, name, error);
        for (size_t i = 0; i < ELEMENTSOF(NOTED_SETS); i++) {
                list = topology_fill_info(root, NOTED_SETS[i].name);
                if (list)
                        (void)id_target_parse_list(list, noted_set(&topology, i));
        }
        for (size_t i = 0; i < topology.n_nodes; i++)
                has_memory |= topology.nodes[i].memory_bytes > 0;
        /* hwloc invents 1 GiB for each node of a description without memory, and shows a size
         * that it does not know as 0. */
        has_memory = source->synthetic ? strstr(source->synthetic, "memory=") != NULL : has_memory;
        for (size_t i = 0; i < topology.n_nodes; i++) {
                Node *node = &topology.nodes[i];
                hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(t, node->id);
                const char *note = object ? topology_fill_info(object, TOPOLOGY_INFO_NODE) : NULL;

                if (!has_memory) {
                        node->memory_unknown = true;
                        node->memory_bytes = 0;
                }
                if (note)
                        read_node_note(note, node);
        }
        /* Devices: of an exported machine what the export has, of others what hwloc reports. */
        if (ret_devices) {
                const bool noted = topology_fill_info(root, TOPOLOGY_INFO_VERSION);
                const char *others = topology_fill_info(root, TOPOLOGY_INFO_DEVICES);
                _cleanup_free_ char *copy = strdup(noted && others ? others : "");
                hwloc_obj_t object = NULL;
                char *rest = copy, *note;

                r = copy ? 0 : -ENOMEM;
                while (r >= 0 && (object = hwloc_get_next_osdev(t, object))) {
                        const char *info = topology_fill_info(object, TOPOLOGY_INFO_DEVICE);

                        if (!noted)
                                r = device_add_found(t, &topology, object, &devices);
                        else if (info)
                                r = device_add_noted(info, &devices);
                }
                while (r >= 0 && *copy && (note = strsep(&rest, ";")))
                        r = device_add_noted(note + strspn(note, " "), &devices);
                if (r < 0)
                        return topology_explain(r, name, error);
                *ret_devices = TAKE_STRUCT(devices);
        }
        *ret = TAKE_STRUCT(topology);
        return 0;
}

int topology_load_xml(const char *path, Topology *ret, DeviceList *ret_devices, Error *error) {
        return load_foreign(&(TopologySource){ .xml = path }, path, ret, ret_devices, error);
}

int topology_load_synthetic(const char *description, Topology *ret, Error *error) {
        return load_foreign(&(TopologySource){ .synthetic = description }, description, ret, NULL,
                            error);
}

/* --- writing: what we know --- */

/* --- writing: the instances --- */

/* Of more than this many equal objects, lstopo draws only the first and the last, and dots for the
 * others: an instance below these would not be visible. */
enum { LSTOPO_ALIKE_MAX = 4 };

static int topology_add_mark(hwloc_topology_t t, const TopologyMark *mark) {
        const int first = id_set_next(&mark->nodes, 0);
        hwloc_obj_t place =
                first < 0 ? NULL : hwloc_get_numanode_obj_by_os_index(t, (unsigned)first);
        _cleanup_free_ char *name = NULL;
        char nodes[ID_SET_LIST_MAX];
        hwloc_obj_t o, misc;

        if (id_set_render_list(&mark->nodes, nodes, sizeof(nodes)) < 0)
                return -ENOSPC;
        name = text_new("%s (%s %s)", mark->name,
                        id_set_count(&mark->nodes) == 1 ? "node" : "nodes", nodes);
        if (!name)
                return -ENOMEM;
        /* The smallest object that holds the nodes; the machine, where it does not have one of
         * them. */
        for (; place; place = place->parent) {
                NodeSet its = topology_fill_nodes(place->nodeset);

                if (id_set_is_subset(&mark->nodes, &its))
                        break;
        }
        for (o = place; o && !hwloc_obj_type_is_normal(o->type);)
                o = o->parent;
        for (; o && o->parent; o = o->parent)
                if (o->parent->symmetric_subtree && o->parent->arity > LSTOPO_ALIKE_MAX)
                        place = o->parent;
        misc = hwloc_topology_insert_misc_object(t, place ? place : hwloc_get_root_obj(t), name);
        if (!misc)
                return -ENOMEM;
        misc->subtype = strdup(mark->type); /* hwloc's to free */
        return misc->subtype ? 0 : -ENOMEM;
}

/* --- the file --- */

/* A link stays one, and what it points to is replaced. What is no regular file, such as a terminal,
 * is not there to be replaced. */
static int xml_file_replace(const char *path, const char *data, size_t size) {
        _cleanup_close_ int dir_fd = -EBADF;
        char target[PATH_MAX], *slash;
        struct stat st;

        if (stat(path, &st) < 0) {
                if (errno != ENOENT)
                        return -errno;
                if (strlen(path) >= PATH_MAX)
                        return -ENAMETOOLONG;
                (void)strcpy(target, path);
        } else if (!S_ISREG(st.st_mode))
                return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
        else if (!realpath(path, target))
                return -errno;
        slash = strrchr(target, '/');
        if (slash)
                *slash = '\0';
        dir_fd = open(!slash ? "." : *target ? target : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return dir_fd < 0 ? -errno
                          : atomic_file_write(dir_fd, slash ? slash + 1 : target, data, size, 0644);
}

int topology_export(const TopologySource *source, const DeviceList *devices,
                    const TopologyMark *marks, size_t n_marks, const char *path, Error *error) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_topology_ Topology topology = { 0 };
        char list[ID_SET_LIST_MAX], *xml = NULL;
        NodeSet has_cpu = { 0 };
        hwloc_obj_t root;
        TopologyEnv env;
        int length, r;

        r = source->xml         ? topology_load_xml(source->xml, &topology, NULL, error)
            : source->synthetic ? topology_load_synthetic(source->synthetic, &topology, error)
                                : topology_load(source->sysroot, &topology);
        if (r >= 0)
                r = topology_source_load(source, &t, error);
        if (r < 0)
                return r;
        /* What we know and hwloc does not. */
        root = hwloc_get_root_obj(t);
        if (hwloc_obj_add_info(root, TOPOLOGY_INFO_VERSION, "1") < 0)
                return -ENOMEM;
        for (size_t i = 0; i < topology.n_nodes; i++)
                if (!id_set_is_empty(&topology.nodes[i].cpus))
                        id_set_add(&has_cpu, topology.nodes[i].id);
        if (id_set_render_list(&has_cpu, list, sizeof(list)) < 0)
                return -ENOSPC;
        if (hwloc_obj_add_info(root, TOPOLOGY_INFO_HAS_CPU, list) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(NOTED_SETS); i++) {
                const IdTarget set = noted_set(&topology, i);

                if (id_view_render_list((IdView){ set.words, set.n_words }, list, sizeof(list)) < 0)
                        return -ENOSPC;
                if (hwloc_obj_add_info(root, NOTED_SETS[i].name, list) < 0)
                        return -ENOMEM;
        }
        for (size_t i = 0; i < topology.n_nodes; i++) {
                const Node *node = &topology.nodes[i];
                hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(t, node->id);
                _cleanup_free_ char *note = NULL;

                if (!object)
                        continue;
                if (id_set_render_list(&node->cpus, list, sizeof(list)) < 0)
                        return -ENOSPC;
                note = text_new("package=%" PRId64 " memory=%s overlaps=%s kind=%s cpus=%s",
                                node->package == PACKAGE_UNKNOWN ? -1 : (int64_t)node->package,
                                node->memory_unknown ? "unknown" : "known",
                                node->overlaps ? "yes" : "no", node_kind_to_string(node->kind),
                                list);
                if (!note || hwloc_obj_add_info(object, TOPOLOGY_INFO_NODE, note) < 0)
                        return -ENOMEM;
        }
        r = devices ? topology_devices_note(t, devices) : 0;
        for (size_t i = 0; i < n_marks && r >= 0; i++)
                r = topology_add_mark(t, &marks[i]);
        if (r < 0)
                return r;
        r = topology_env_enter(&env, NULL, true);
        if (r >= 0) {
                r = hwloc_topology_export_xmlbuffer(t, &xml, &length, 0) < 0 ? -ENOMEM : 0;
                topology_env_leave(&env, NULL);
        }
        if (r >= 0)
                r = xml_file_replace(path, xml, strlen(xml));
        if (xml)
                hwloc_free_xmlbuffer(t, xml);
        return r < 0 ? error_prefix(error, r, "cannot write %s: ", path) : 0;
}
