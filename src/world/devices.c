/* Network cards and whole disks of the machine, in /sys. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/world/devices.h"

/* --- disk --- */

/* Whole disks in /sys: which block devices are some, and where they are attached. */

/* Namespaces of NVMe live below these when no single PCI device shows them. */
static const char nvme_subsystem[] = "devices/virtual/nvme-subsystem/";
static const char nvme_fabrics[] = "devices/virtual/nvme-fabrics/";

static bool starts_with(const char *text, const char *start) {
        return strncmp(text, start, strlen(start)) == 0;
}

/* "sr0" is, "srv" is not. */
static bool is_numbered(const char *name, const char *stem) {
        return starts_with(name, stem) && isdigit((unsigned char)name[strlen(stem)]);
}

bool disk_name_counts(const char *name) {
        static const char *const others[] = { "sr",   "scd", "fd",   "st",   "nst",
                                              "loop", "ram", "zram", "dm-",  "md",
                                              "md_d", "nbd", "dax",  "drbd", "bcache" };

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (is_numbered(name, others[i]))
                        return false;
        return true;
}

bool disk_is_partition(const Sysroot *sysroot, const char *path) {
        char parent[PATH_MAX], resolved[PATH_MAX];

        if (sysfs_has(sysroot, path, "partition"))
                return true;
        /* A dump may lack that file. */
        if (strlen(path) >= sizeof(parent))
                return false;
        (void)strcpy(parent, path);
        return sysfs_to_parent(parent) &&
               sysfs_resolve_in(sysroot, "class/block", basename(parent), resolved) >= 0 &&
               strcmp(resolved, parent) == 0;
}

bool disk_is_whole(const Sysroot *sysroot, const char *path) {
        char hidden[16];

        if (sysfs_is_virtual(path) && !starts_with(path, nvme_subsystem) &&
            !starts_with(path, nvme_fabrics))
                return false;
        /* One of several paths to a namespace that is listed elsewhere: "nvme0c1n1". */
        if (sysfs_read(sysroot, path, "hidden", hidden, sizeof(hidden)) > 0 &&
            strcmp(hidden, "1") == 0)
                return false;
        return disk_name_counts(basename(path)) && !disk_is_partition(sysroot, path);
}

/* The controllers of a subsystem of NVMe. */
typedef struct Controllers {
        const Sysroot *sysroot;
        const char *path; /* of the subsystem */
        Device *device;
        size_t n;
        bool differ;
} Controllers;

static int set_string(char **string, const char *value) {
        char *copy = strdup(value);

        if (!copy)
                return -ENOMEM;
        free(*string);
        *string = copy;
        return 0;
}

static int set_attachment(const Sysroot *sysroot, const char *path, Device *device) {
        char pci[SYSFS_PCI_MAX];
        int r;

        device->node = sysfs_node(sysroot, path);
        if (sysfs_pci(path, pci) >= 0 && set_string(&device->pci, pci) < 0)
                return -ENOMEM;
        r = sysfs_driver(sysroot, path, &device->driver);
        return r == -ENOMEM ? r : 0;
}

static int add_controller(const char *name, void *userdata) {
        Controllers *c = userdata;
        char path[PATH_MAX];
        int32_t node;

        /* "nvme0", and neither "nvme0n1" nor a file. */
        if (!is_numbered(name, "nvme") || strspn(name + 4, "0123456789") != strlen(name + 4) ||
            sysfs_resolve_in(c->sysroot, c->path, name, path) < 0)
                return 0;
        if (c->n++ == 0)
                return set_attachment(c->sysroot, path, c->device);
        node = sysfs_node(c->sysroot, path);
        if (c->device->node == DEVICE_NODE_UNKNOWN)
                c->device->node = node;
        else if (node != DEVICE_NODE_UNKNOWN && node != c->device->node)
                c->differ = true;
        return 0;
}

/* Where the controllers are on several nodes, none is the device's. */
static int set_controllers(const Sysroot *sysroot, const char *path, Device *device) {
        char subsystem[PATH_MAX];
        Controllers c = { .sysroot = sysroot, .path = subsystem, .device = device };
        int r;

        (void)strcpy(subsystem, path);
        (void)sysfs_to_parent(subsystem);
        r = sysfs_foreach(sysroot, subsystem, add_controller, &c);
        if (c.differ)
                device->node = DEVICE_NODE_UNKNOWN;
        if (c.n > 1) { /* then no single address is the device's either */
                free(device->pci);
                device->pci = NULL;
        }
        return r == -ENOMEM ? r : 0;
}

int disk_load(const Sysroot *sysroot, const char *path, Device *ret) {
        _cleanup_(device_done) Device device = { .kind = DEVICE_DISK, .node = DEVICE_NODE_UNKNOWN };
        int r;

        if (strlen(path) >= PATH_MAX)
                return -ENAMETOOLONG;
        if (set_string(&device.name, basename(path)) < 0)
                return -ENOMEM;
        device.nvme = is_numbered(device.name, "nvme");
        r = starts_with(path, nvme_subsystem) ? set_controllers(sysroot, path, &device)
                                              : set_attachment(sysroot, path, &device);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(device);
        return 0;
}

typedef struct DiskSearch {
        const Sysroot *sysroot;
        DeviceList *list;
} DiskSearch;

static int add_disk(const char *name, void *userdata) {
        _cleanup_(device_done) Device device = { 0 };
        DiskSearch *search = userdata;
        char path[PATH_MAX];
        int r;

        /* What is unplugged meanwhile is none. */
        if (sysfs_resolve_in(search->sysroot, "class/block", name, path) < 0 ||
            !disk_is_whole(search->sysroot, path))
                return 0;
        r = disk_load(search->sysroot, path, &device);
        return r < 0 ? r : device_list_add(search->list, &device);
}

static int disks_load(const Sysroot *sysroot, DeviceList *list) {
        DiskSearch search = { .sysroot = sysroot, .list = list };
        int r = sysfs_foreach(sysroot, "class/block", add_disk, &search);

        return r == -ENOENT ? 0 : r;
}

/* --- network-card --- */

/* Network cards in /sys: which interfaces are real, which bundle others, and which of them carry
 * the default route. */

enum {
        INTERFACES_MAX = 4096, /* under one default route: more is no host, but a broken dump */
};

/* Nothing in /sys marks a team. But like a bond it gives its ports its own hardware address,
 * which bridges, VRFs and Open vSwitch do not. */
static bool have_one_address(const Sysroot *sysroot, const char *a, const char *b) {
        char x[128], y[128];

        return sysfs_read(sysroot, a, "address", x, sizeof(x)) > 0 &&
               sysfs_read(sysroot, b, "address", y, sizeof(y)) > 0 && strcmp(x, y) == 0;
}

static bool is_bundle(const Sysroot *sysroot, const char *path, const char *member_path) {
        if (sysfs_has(sysroot, path, "bridge"))
                return false;
        /* A real master: a card of Hyper-V, which has a virtual function under it. */
        return sysfs_has(sysroot, path, "bonding") || !sysfs_is_virtual(path) ||
               have_one_address(sysroot, path, member_path);
}

static int set_master(const Sysroot *sysroot, const char *path, Device *device) {
        _cleanup_free_ char *master = NULL;
        char master_path[PATH_MAX];
        int r = sysfs_read_link_name(sysroot, path, "master", &master);

        if (r == -ENOMEM)
                return r;
        if (r >= 0 && sysfs_resolve_in(sysroot, "class/net", master, master_path) >= 0 &&
            is_bundle(sysroot, master_path, path))
                device->master = TAKE_PTR(master);
        return 0;
}

/* Without a link, the file contains -1 or cannot be read. */
static uint32_t read_speed(const Sysroot *sysroot, const char *path) {
        char text[32];
        uint64_t speed;

        if (sysfs_read(sysroot, path, "speed", text, sizeof(text)) <= 0 ||
            parse_u64(text, &speed) < 0 || speed >= UINT32_MAX)
                return 0;
        return (uint32_t)speed;
}

static int add_card(const Sysroot *sysroot, const char *name, const char *path, DeviceList *list) {
        _cleanup_(device_done) Device device = {
                .kind = DEVICE_NET,
                .name = strdup(name),
                .node = sysfs_node(sysroot, path),
                .speed_mbps = read_speed(sysroot, path),
                .virtual_function = sysfs_has(sysroot, path, "device/physfn"),
        };
        char pci[SYSFS_PCI_MAX];

        if (!device.name)
                return -ENOMEM;
        if (sysfs_pci(path, pci) >= 0 && !(device.pci = strdup(pci)))
                return -ENOMEM;
        if (sysfs_driver(sysroot, path, &device.driver) == -ENOMEM ||
            set_master(sysroot, path, &device) < 0)
                return -ENOMEM;
        return device_list_add(list, &device);
}

typedef struct CardSearch {
        const Sysroot *sysroot;
        DeviceList *list;
} CardSearch;

static int add_if_card(const char *name, void *userdata) {
        CardSearch *search = userdata;
        char path[PATH_MAX];

        /* A file such as "bonding_masters", or gone meanwhile. */
        if (sysfs_resolve_in(search->sysroot, "class/net", name, path) < 0 ||
            (sysfs_is_virtual(path) && !sysfs_has(search->sysroot, path, "bonding")))
                return 0;
        return add_card(search->sysroot, name, path, search->list);
}

/* Masters that are no bonds: teams. One of them may be another's member. */
static int add_masters(const Sysroot *sysroot, DeviceList *list) {
        for (size_t i = 0; i < list->n_devices; i++) {
                const char *master = list->devices[i].master;
                char path[PATH_MAX];
                int r;

                if (!master || device_list_find(list, DEVICE_NET, master) ||
                    sysfs_resolve_in(sysroot, "class/net", master, path) < 0)
                        continue;
                r = add_card(sysroot, master, path, list);
                if (r < 0)
                        return r;
                i = (size_t)-1; /* the list is sorted, so search from the start */
        }
        return 0;
}

/* The node of all members that report one. */
static int32_t find_members_node(const DeviceList *list, const char *master) {
        int32_t node = DEVICE_NODE_UNKNOWN;

        for (size_t i = 0; i < list->n_devices; i++) {
                const Device *device = &list->devices[i];

                if (!device->master || strcmp(device->master, master) != 0 ||
                    device->node == DEVICE_NODE_UNKNOWN)
                        continue;
                if (node != DEVICE_NODE_UNKNOWN && node != device->node)
                        return DEVICE_NODE_UNKNOWN;
                node = device->node;
        }
        return node;
}

int network_cards_load(const Sysroot *sysroot, DeviceList *list) {
        CardSearch search = { .sysroot = sysroot, .list = list };
        int r = sysfs_foreach(sysroot, "class/net", add_if_card, &search);

        if (r == -ENOENT)
                return 0;
        if (r >= 0)
                r = add_masters(sysroot, list);
        if (r < 0)
                return r;
        for (size_t i = 0; i < list->n_devices; i++)
                if (list->devices[i].node == DEVICE_NODE_UNKNOWN)
                        list->devices[i].node = find_members_node(list, list->devices[i].name);
        return 0;
}

static int add_missing(WordList *list, const char *name) {
        return word_list_has(list, name) || list->n_words == INTERFACES_MAX
                       ? 0
                       : word_list_add(list, name);
}

static int add_lower(const char *name, void *userdata) {
        static const char lower[] = "lower_";

        if (strncmp(name, lower, strlen(lower)) != 0)
                return 0;
        return add_missing(userdata, name + strlen(lower));
}

static void mark(DeviceList *list, const char *name) {
        for (size_t i = 0; i < list->n_devices; i++) {
                Device *device = &list->devices[i];

                if (device->kind == DEVICE_NET &&
                    (strcmp(device->name, name) == 0 ||
                     (device->master && strcmp(device->master, name) == 0)))
                        device->default_route = true;
        }
}

static int network_cards_mark_route(const Sysroot *sysroot, const char *interface,
                                    DeviceList *list) {
        /* The interfaces under it, in the order in which they were met. */
        _cleanup_(word_list_done) WordList route = { 0 };
        int r = add_missing(&route, interface);

        for (size_t i = 0; r >= 0 && i < route.n_words; i++) {
                char path[PATH_MAX];

                mark(list, route.words[i]);
                if (sysfs_resolve_in(sysroot, "class/net", route.words[i], path) >= 0)
                        r = sysfs_foreach(sysroot, path, add_lower, &route);
                if (r == -ENOENT)
                        r = 0;
        }
        return r == -ENOMEM ? r : 0;
}

/* --- devices-load --- */

/* All devices of the machine. What is under a directory is storage.c's. */

int devices_load(const Sysroot *sysroot, DeviceList *ret) {
        _cleanup_device_list_ DeviceList list = { 0 };
        char interface[INTERFACE_NAME_SIZE];
        int r;

        r = network_cards_load(sysroot, &list);
        if (r < 0)
                return r;
        /* Without a default route, or where /proc cannot be read, no card has it. */
        if (default_route_read(sysroot, interface) >= 0)
                r = network_cards_mark_route(sysroot, interface, &list);
        if (r >= 0)
                r = disks_load(sysroot, &list);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(list);
        return 0;
}
