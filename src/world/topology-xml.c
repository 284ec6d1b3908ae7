/* Machines as hwloc's XML and as synthetic descriptions: reading them, and writing this one with
 * what only we know of it and with instances for lstopo to draw. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/topology-hwloc.h"

/* --- topology-source --- */

/* hwloc's whole tree of a machine that is here, in a dump, in a file or imagined, and the
 * message when hwloc does not accept it. */

static int fail(char **ret_message, int r, const char *format, ...) _printf_(3, 4);

static int fail(char **ret_message, int r, const char *format, ...) {
        va_list arguments;

        if (!ret_message)
                return r;
        va_start(arguments, format);
        if (vasprintf(ret_message, format, arguments) < 0) {
                *ret_message = NULL;
                r = -ENOMEM;
        }
        va_end(arguments);
        return r;
}

static int init(bool keep_misc, hwloc_topology_t *ret) {
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

static int load(hwloc_topology_t t) {
        errno = 0;
        if (hwloc_topology_load(t) < 0)
                return errno ? -errno : -EINVAL;
        return 0;
}

/* --- XML ------------------------------------------------------------------------------------ */

static int load_buffer(const char *xml, size_t size, bool keep_misc, hwloc_topology_t *ret) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        int r = size >= INT_MAX ? -EFBIG : init(keep_misc, &t);

        if (r < 0)
                return r;
        /* The size is with the final NUL. */
        if (hwloc_topology_set_xmlbuffer(t, xml, (int)size + 1) < 0)
                return -EINVAL;
        r = load(t);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

static bool has_marks(hwloc_topology_t t) {
        hwloc_obj_t object = NULL;

        while ((object = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_MISC, object)))
                if (object->subtype &&
                    strncmp(object->subtype, TOPOLOGY_MARK_TYPE, strlen(TOPOLOGY_MARK_TYPE)) == 0)
                        return true;
        return false;
}

/* hwloc has no way to remove an object: so all objects of that kind are left out in a second
 * reading, DIMMs too. After a third, new ones may be added. */
static int drop_marks(const char *xml, size_t size, hwloc_topology_t *t) {
        _cleanup_hwloc_ hwloc_topology_t bare = NULL;
        char *buffer = NULL;
        int length, r;

        r = load_buffer(xml, size, false, &bare);
        if (r < 0)
                return r;
        if (hwloc_topology_export_xmlbuffer(bare, &buffer, &length, 0) < 0)
                return -ENOMEM;
        hwloc_topology_destroy(*t);
        *t = NULL;
        r = load_buffer(buffer, strlen(buffer), true, t);
        hwloc_free_xmlbuffer(bare, buffer);
        return r;
}

/* The format of hwloc 3, which hwloc 2 does not read: <topology version="3.0">. */
static bool is_newer_format(const char *xml) {
        const char *at = strstr(xml, "<topology version=\"");

        return at && at[strlen("<topology version=\"")] > '2';
}

static int load_xml(const char *path, hwloc_topology_t *ret, char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_free_ char *xml = NULL;
        size_t size;
        int r;

        r = path_read_alloc(AT_FDCWD, &xml, &size, "%s", path);
        if (r < 0)
                return fail(ret_message, r, "cannot read %s: %s", path, strerror(-r));
        r = load_buffer(xml, size, true, &t);
        if (r >= 0 && has_marks(t))
                r = drop_marks(xml, size, &t);
        if (r < 0 && r != -ENOMEM && is_newer_format(xml))
                return fail(
                        ret_message, -EINVAL,
                        "%s is XML of hwloc 3 or later, and this program has hwloc 2; export it "
                        "with \"lstopo --export-xml-flags v2 FILE.xml\"",
                        path);
        if (r < 0)
                return fail(ret_message, r == -ENOMEM ? r : -EINVAL,
                            "hwloc cannot read %s; expected XML from \"lstopo FILE.xml\"", path);
        *ret = TAKE_PTR(t);
        return 0;
}

/* --- synthetic ------------------------------------------------------------------------------ */

/* hwloc would build as many objects as the description has. Of "package:2 [numa(memory=1GB)]
 * core:4 2" the numbers outside of brackets multiply. */
static uint64_t count_cpus(const char *description) {
        uint64_t n = 1;
        int depth = 0;

        for (const char *p = description; *p; p++) {
                bool starts = p == description || p[-1] == ' ' || p[-1] == ':';
                uint64_t number;

                depth += (*p == '[' || *p == '(') - (*p == ']' || *p == ')');
                if (depth > 0 || !starts || *p < '0' || *p > '9')
                        continue;
                number = strtoull(p, NULL, 0);
                if (number > 0 && n <= CPU_SET_MAX)
                        n = number > CPU_SET_MAX ? number : n * number;
        }
        return n;
}

static int load_synthetic(const char *description, hwloc_topology_t *ret, char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        int r;

        if (count_cpus(description) > CPU_SET_MAX)
                return fail(ret_message, -EINVAL,
                            "the machine \"%s\" has too many CPUs, expected at most %u",
                            description, CPU_SET_MAX);
        r = init(true, &t);
        if (r < 0)
                return r;
        if (hwloc_topology_set_synthetic(t, description) < 0)
                return -EINVAL;
        r = load(t);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

/* hwloc's own words name the place in the description. */
static int explain_synthetic(const char *description, const char *output, char **ret_message) {
        return fail(ret_message, -EINVAL,
                    "hwloc rejects the machine \"%s\"%s%s; expected levels, each with its number "
                    "within the level before, such as \"package:2 numa:4(memory=128GiB) "
                    "core:8 pu:2\"",
                    description, output ? ": " : "", output ? output : "");
}

/* --- any ------------------------------------------------------------------------------------ */

static int load_sysroot(hwloc_topology_t *ret, char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        int r = init(true, &t);

        if (r >= 0)
                r = load(t);
        if (r < 0)
                return fail(ret_message, r, "hwloc cannot read this machine: %s", strerror(-r));
        *ret = TAKE_PTR(t);
        return 0;
}

int topology_source_load(const TopologySource *source, hwloc_topology_t *ret, char **ret_message) {
        _cleanup_free_ char *output = NULL, *message = NULL;
        TopologyEnv env;
        int r = topology_env_enter(&env, source->sysroot, true);

        if (r < 0)
                return r;
        if (source->xml)
                r = load_xml(source->xml, ret, &message);
        else if (source->synthetic)
                r = load_synthetic(source->synthetic, ret, &message);
        else
                r = load_sysroot(ret, &message);
        topology_env_leave(&env, &output);
        if (r == -EINVAL && source->synthetic && !message)
                r = explain_synthetic(source->synthetic, output, &message);
        if (r < 0 && ret_message)
                *ret_message = TAKE_PTR(message);
        return r;
}

/* --- topology-devices --- */

/* Devices in hwloc's tree, as others' XML holds them and as our own does. */

/* --- writing -------------------------------------------------------------------------------- */

static hwloc_obj_t find_object(hwloc_topology_t t, const Device *device) {
        const hwloc_obj_osdev_type_t type =
                device->kind == DEVICE_NET ? HWLOC_OBJ_OSDEV_NETWORK : HWLOC_OBJ_OSDEV_BLOCK;
        hwloc_obj_t object = NULL;

        while ((object = hwloc_get_next_osdev(t, object)))
                if (object->attr->osdev.type == type && object->name &&
                    strcmp(object->name, device->name) == 0)
                        return object;
        return NULL;
}

static int add_info(hwloc_obj_t object, const char *name, const Text *value) {
        if (value->error < 0)
                return value->error;
        return hwloc_obj_add_info(object, name, value->data) < 0 ? -ENOMEM : 0;
}

int topology_devices_note(hwloc_topology_t t, const DeviceList *devices) {
        _cleanup_text_ Text others = { 0 }, note = { 0 };

        for (size_t i = 0; i < devices->n_devices; i++) {
                hwloc_obj_t object = find_object(t, &devices->devices[i]);
                int r = 0;

                if (object) {
                        text_reset(&note);
                        device_note_render(&devices->devices[i], &note);
                        r = add_info(object, TOPOLOGY_INFO_DEVICE, &note);
                } else {
                        text_append(&others, others.length > 0 ? "; " : "");
                        device_note_render(&devices->devices[i], &others);
                }
                if (r < 0)
                        return r;
        }
        text_append(&others, "");
        return add_info(hwloc_get_root_obj(t), TOPOLOGY_INFO_DEVICES, &others);
}

/* --- reading our own ------------------------------------------------------------------------ */

static int add_note(const char *note, DeviceList *list) {
        _cleanup_(device_done) Device device = { 0 };
        int r = device_note_parse(note, &device);

        /* Of two the first: hwloc may see a device twice. */
        if (r < 0 || device_list_find(list, device.kind, device.name))
                return r;
        return device_list_add(list, &device);
}

static int add_notes(const char *notes, DeviceList *list) {
        _cleanup_free_ char *copy = strdup(notes);
        char *rest = copy, *note;
        int r = 0;

        if (!copy)
                return -ENOMEM;
        while (r >= 0 && (note = strsep(&rest, ";"))) {
                note += strspn(note, " ");
                r = add_note(note, list);
        }
        return r;
}

static int load_noted(hwloc_topology_t t, DeviceList *list) {
        const char *others = topology_fill_info(hwloc_get_root_obj(t), TOPOLOGY_INFO_DEVICES);
        hwloc_obj_t object = NULL;

        while ((object = hwloc_get_next_osdev(t, object))) {
                const char *note = topology_fill_info(object, TOPOLOGY_INFO_DEVICE);
                int r = note ? add_note(note, list) : 0;

                if (r < 0)
                        return r;
        }
        return others && *others ? add_notes(others, list) : 0;
}

/* --- reading others' ------------------------------------------------------------------------ */

/* Memory-only nodes are near whole packages: they do not show where the device is. */
static int32_t find_node(hwloc_topology_t t, const Topology *topology, hwloc_obj_t object) {
        hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(t, object);
        NodeSet nodes = topology_fill_nodes(near ? near->nodeset : NULL);
        int32_t found = DEVICE_NODE_UNKNOWN;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                if (!id_set_has(&nodes, topology->nodes[i].id) ||
                    id_set_is_empty(&topology->nodes[i].cpus))
                        continue;
                if (found != DEVICE_NODE_UNKNOWN)
                        return DEVICE_NODE_UNKNOWN;
                found = (int32_t)topology->nodes[i].id;
        }
        return found;
}

static hwloc_obj_t find_pci(hwloc_obj_t object) {
        while (object && object->type != HWLOC_OBJ_PCI_DEVICE)
                object = object->parent;
        return object;
}

/* A memory expander is "Block" to hwloc 2. */
static bool is_memory(hwloc_obj_t object) {
        return object->subtype && strncmp(object->subtype, "CXL", 3) == 0;
}

static bool is_wanted(hwloc_obj_t object) {
        if (!object->name || !*object->name || !object->attr)
                return false;
        if (object->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK)
                return true;
        return object->attr->osdev.type == HWLOC_OBJ_OSDEV_BLOCK && !is_memory(object) &&
               disk_name_counts(object->name) && (find_pci(object) || !object->subtype);
}

static int add_object(hwloc_topology_t t, const Topology *topology, hwloc_obj_t object,
                      DeviceList *list) {
        _cleanup_(device_done) Device device = {
                .kind = object->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ? DEVICE_NET
                                                                            : DEVICE_DISK,
                .name = strdup(object->name),
                .node = find_node(t, topology, object),
        };
        hwloc_obj_t pci = find_pci(object);

        if (!device.name)
                return -ENOMEM;
        device.nvme = device.kind == DEVICE_DISK && strncmp(device.name, "nvme", 4) == 0;
        if (pci &&
            asprintf(&device.pci, "%04x:%02x:%02x.%x", pci->attr->pcidev.domain,
                     pci->attr->pcidev.bus, pci->attr->pcidev.dev, pci->attr->pcidev.func) < 0) {
                device.pci = NULL;
                return -ENOMEM;
        }
        if (device_list_find(list, device.kind, device.name))
                return 0;
        return device_list_add(list, &device);
}

static int load_found(hwloc_topology_t t, const Topology *topology, DeviceList *list) {
        hwloc_obj_t object = NULL;

        while ((object = hwloc_get_next_osdev(t, object))) {
                int r = is_wanted(object) ? add_object(t, topology, object, list) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

int topology_devices_load(hwloc_topology_t t, const Topology *topology, DeviceList *ret) {
        _cleanup_device_list_ DeviceList list = { 0 };
        int r = topology_fill_info(hwloc_get_root_obj(t), TOPOLOGY_INFO_VERSION)
                        ? load_noted(t, &list)
                        : load_found(t, topology, &list);

        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(list);
        return 0;
}

/* --- a device as one line of text, and back --- */

static void append_escaped(Text *text, const char *value) {
        for (const unsigned char *p = (const unsigned char *)value; *p; p++)
                if (*p <= 0x20 || *p >= 0x7f || *p == '\\' || *p == ';')
                        text_appendf(text, "\\%03o", *p);
                else
                        text_appendf(text, "%c", *p);
}

static void append_value(Text *text, const char *key, const char *value) {
        if (!value)
                return;
        text_appendf(text, " %s=", key);
        append_escaped(text, value);
}

void device_note_render(const Device *device, Text *text) {
        text_append(text, device->kind == DEVICE_NET ? "net " : "disk ");
        append_escaped(text, device->name);
        if (device->node != DEVICE_NODE_UNKNOWN)
                text_appendf(text, " node=%" PRId32, device->node);
        append_value(text, "pci", device->pci);
        append_value(text, "driver", device->driver);
        if (device->speed_mbps > 0)
                text_appendf(text, " speed=%" PRIu32, device->speed_mbps);
        append_value(text, "master", device->master);
        if (device->nvme)
                text_append(text, " nvme");
        if (device->default_route)
                text_append(text, " default-route");
        if (device->virtual_function)
                text_append(text, " virtual-function");
}

static int set_string(char **string, char *value) {
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

static int set_number(const char *value, uint64_t max, uint64_t *ret) {
        return parse_u64(value, ret) < 0 || *ret > max ? -EBADMSG : 0;
}

static int parse_value(const char *key, char *value, Device *device) {
        uint64_t number;
        int r = 0;

        if (strcmp(key, "pci") == 0)
                return set_string(&device->pci, value);
        if (strcmp(key, "driver") == 0)
                return set_string(&device->driver, value);
        if (strcmp(key, "master") == 0)
                return set_string(&device->master, value);
        if (strcmp(key, "node") == 0) {
                r = set_number(value, NODE_SET_MAX - 1, &number);
                if (r >= 0)
                        device->node = (int32_t)number;
        } else if (strcmp(key, "speed") == 0) {
                r = set_number(value, UINT32_MAX, &number);
                if (r >= 0)
                        device->speed_mbps = (uint32_t)number;
        }
        return r;
}

static void parse_flag(const char *word, Device *device) {
        if (strcmp(word, "nvme") == 0)
                device->nvme = true;
        else if (strcmp(word, "default-route") == 0)
                device->default_route = true;
        else if (strcmp(word, "virtual-function") == 0)
                device->virtual_function = true;
}

static int parse_words(char *rest, Device *device) {
        char *word;

        while ((word = strsep(&rest, " "))) {
                char *value = strchr(word, '=');
                int r = 0;

                if (value) {
                        *value++ = '\0';
                        r = parse_value(word, value, device);
                } else
                        parse_flag(word, device);
                if (r < 0)
                        return r;
        }
        return 0;
}

int device_note_parse(const char *text, Device *ret) {
        _cleanup_(device_done) Device device = { .node = DEVICE_NODE_UNKNOWN };
        _cleanup_free_ char *copy = strdup(text);
        char *rest = copy, *kind = strsep(&rest, " "), *name;
        int r;

        if (!copy)
                return -ENOMEM;
        name = strsep(&rest, " ");
        if (!name || (strcmp(kind, "net") != 0 && strcmp(kind, "disk") != 0))
                return -EBADMSG;
        device.kind = strcmp(kind, "net") == 0 ? DEVICE_NET : DEVICE_DISK;
        r = set_string(&device.name, name);
        if (r >= 0)
                r = parse_words(rest, &device);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(device);
        return 0;
}

/* --- topology-file --- */

/* Machines that are not here: XML and synthetic descriptions into the model. */

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

static int fill_foreign(hwloc_topology_t t, const TopologySource *source, Topology *ret) {
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

static int load_foreign(const TopologySource *source, const char *name, Topology *ret,
                        DeviceList *ret_devices, char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_topology_ Topology topology = { 0 };
        int r = topology_source_load(source, &t, ret_message);

        if (r < 0)
                return r;
        r = fill_foreign(t, source, &topology);
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
        return load_foreign(&(TopologySource){ .xml = path }, path, ret, ret_devices, ret_message);
}

int topology_load_synthetic(const char *description, Topology *ret, char **ret_message) {
        return load_foreign(&(TopologySource){ .synthetic = description }, description, ret, NULL,
                            ret_message);
}

/* --- topology-export --- */

/* A machine as hwloc's XML, with what only we know of it, and with instances for lstopo to draw. */

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

static int fail_to_write(char **ret_message, int r, const char *path) {
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
        return r < 0 ? fail_to_write(ret_message, r, path) : 0;
}
