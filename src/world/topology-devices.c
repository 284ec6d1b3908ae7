/* Devices in hwloc's tree, as others' XML holds them and as our own does. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/mountinfo.h"
#include "tidbnumad/world/disk.h"
#include "tidbnumad/world/topology-devices.h"

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
