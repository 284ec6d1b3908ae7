/* Network cards in /sys: which interfaces are real, which bundle others, and which of them carry
 * the default route. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/sysfs-device.h"
#include "tidbnumad/world/network-card.h"

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

typedef struct Search {
        const Sysroot *sysroot;
        DeviceList *list;
} Search;

static int add_if_card(const char *name, void *userdata) {
        Search *search = userdata;
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
        Search search = { .sysroot = sysroot, .list = list };
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

int network_cards_mark_route(const Sysroot *sysroot, const char *interface, DeviceList *list) {
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
