/* Network cards and whole disks of the machine, in /sys. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/world/devices.h"

/* --- whole disks: which block devices are some, and where they are attached --- */

/* Namespaces of NVMe live below these when no single PCI device shows them. */
static const char nvme_subsystem[] = "devices/virtual/nvme-subsystem/";
static const char nvme_fabrics[] = "devices/virtual/nvme-fabrics/";

static bool path_starts_with(const char *text, const char *start) {
        return strncmp(text, start, strlen(start)) == 0;
}

/* "sr0" is, "srv" is not. */
static bool name_is_numbered(const char *name, const char *stem) {
        return path_starts_with(name, stem) && isdigit((unsigned char)name[strlen(stem)]);
}

bool disk_name_counts(const char *name) {
        static const char *const others[] = { "sr",   "scd", "fd",   "st",   "nst",
                                              "loop", "ram", "zram", "dm-",  "md",
                                              "md_d", "nbd", "dax",  "drbd", "bcache" };

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (name_is_numbered(name, others[i]))
                        return false;
        return true;
}

bool disk_is_partition(const Sysroot *sysroot, const char *path) {
        char parent[PATH_MAX], resolved[PATH_MAX];

        if (path_exists(sysroot->sys_fd, "%s/partition", path))
                return true;
        /* A dump may lack that file. */
        if (strlen(path) >= sizeof(parent))
                return false;
        (void)strcpy(parent, path);
        return path_cut_last(parent) &&
               sysfs_resolve(sysroot, resolved, "class/block/%s", basename(parent)) >= 0 &&
               strcmp(resolved, parent) == 0;
}

bool disk_is_whole(const Sysroot *sysroot, const char *path) {
        char hidden[16];

        if (sysfs_is_virtual(path) && !path_starts_with(path, nvme_subsystem) &&
            !path_starts_with(path, nvme_fabrics))
                return false;
        /* One of several paths to a namespace that is listed elsewhere: "nvme0c1n1". */
        if (path_read(sysroot->sys_fd, hidden, sizeof(hidden), "%s/hidden", path) > 0 &&
            strcmp(hidden, "1") == 0)
                return false;
        return disk_name_counts(basename(path)) && !disk_is_partition(sysroot, path);
}

int device_set_attachment(const Sysroot *sysroot, const char *path, Device *device) {
        char pci[SYSFS_PCI_MAX];
        int r;

        device->node = sysfs_node(sysroot, path);
        if (sysfs_pci(path, pci) >= 0 && !(device->pci = strdup(pci)))
                return -ENOMEM;
        r = sysfs_driver(sysroot, path, &device->driver);
        return r == -ENOMEM ? r : 0;
}

/* Of a subsystem of NVMe, by its controllers. */
static int disk_set_controllers(const Sysroot *sysroot, const char *subsystem, Device *device) {
        _cleanup_closedir_ DIR *dir = NULL;
        int r = path_open_dir(sysroot->sys_fd, &dir, "%s", subsystem);
        bool differ = false;
        const char *name;
        size_t n = 0;

        while (r >= 0 && (name = path_next(dir))) {
                char path[PATH_MAX];
                int32_t node;

                /* "nvme0", and neither "nvme0n1" nor a file. */
                if (!name_is_numbered(name, "nvme") ||
                    strspn(name + 4, "0123456789") != strlen(name + 4) ||
                    sysfs_resolve(sysroot, path, "%s/%s", subsystem, name) < 0)
                        continue;
                if (n++ == 0) {
                        r = device_set_attachment(sysroot, path, device);
                        continue;
                }
                node = sysfs_node(sysroot, path);
                if (device->node == DEVICE_NODE_UNKNOWN)
                        device->node = node;
                differ |= node != DEVICE_NODE_UNKNOWN && node != device->node;
        }
        /* Where the controllers are on several nodes, none is the device's. */
        if (differ)
                device->node = DEVICE_NODE_UNKNOWN;
        if (n > 1) { /* then no single address is the device's either */
                free(device->pci);
                device->pci = NULL;
        }
        return r;
}

int disk_load(const Sysroot *sysroot, const char *path, Device *ret) {
        _cleanup_(device_done) Device device = { .kind = DEVICE_DISK, .node = DEVICE_NODE_UNKNOWN };
        char subsystem[PATH_MAX];
        uint64_t n_sectors = 0; /* of 512 bytes, whatever the disk's own are */
        int r;

        if (strlen(path) >= PATH_MAX)
                return -ENAMETOOLONG;
        device.name = strdup(basename(path));
        if (!device.name)
                return -ENOMEM;
        device.nvme = name_is_numbered(device.name, "nvme");
        if (path_starts_with(path, nvme_subsystem)) {
                (void)strcpy(subsystem, path);
                (void)path_cut_last(subsystem);
                r = disk_set_controllers(sysroot, subsystem, &device);
        } else
                r = device_set_attachment(sysroot, path, &device);
        if (r == -ENOMEM)
                return r;
        (void)path_read_u64(sysroot->sys_fd, UINT64_MAX / 512, &n_sectors, "%s/size", path);
        device.size_bytes = n_sectors * 512;
        *ret = TAKE_STRUCT(device);
        return 0;
}

/* --- network cards: which interfaces are real, which bundle others, and which of them carry the
 * default route --- */

enum {
        INTERFACES_MAX = 4096, /* under one default route: more is no host, but a broken dump */
};

static int card_add(const Sysroot *sysroot, const char *name, const char *path, DeviceList *list) {
        _cleanup_(device_done) Device device = {
                .kind = DEVICE_NET,
                .name = strdup(name),
                .virtual_function = path_exists(sysroot->sys_fd, "%s/device/physfn", path),
        };
        _cleanup_free_ char *master = NULL;
        char master_path[PATH_MAX], own[128], masters[128];
        int r;

        /* Without a link, the file contains -1 or cannot be read. */
        (void)path_read_u32(sysroot->sys_fd, UINT32_MAX - 1, &device.speed_mbps, "%s/speed", path);
        if (!device.name || device_set_attachment(sysroot, path, &device) < 0)
                return -ENOMEM;
        r = path_read_link_name(sysroot->sys_fd, &master, "%s/master", path);
        if (r == -ENOMEM)
                return r;
        /* Is it a bundle? Nothing in /sys marks a team. But like a bond it gives its ports its own
         * hardware address, which bridges, VRFs and Open vSwitch do not. A real master: a card of
         * Hyper-V, which has a virtual function under it. */
        if (r >= 0 && sysfs_resolve(sysroot, master_path, "class/net/%s", master) >= 0 &&
            !path_exists(sysroot->sys_fd, "%s/bridge", master_path) &&
            (path_exists(sysroot->sys_fd, "%s/bonding", master_path) ||
             !sysfs_is_virtual(master_path) ||
             (path_read(sysroot->sys_fd, masters, sizeof(masters), "%s/address", master_path) > 0 &&
              path_read(sysroot->sys_fd, own, sizeof(own), "%s/address", path) > 0 &&
              strcmp(own, masters) == 0)))
                device.master = TAKE_PTR(master);
        return device_list_add(list, &device);
}

int network_cards_load(const Sysroot *sysroot, DeviceList *list) {
        _cleanup_closedir_ DIR *dir = NULL;
        char path[PATH_MAX];
        const char *name;
        int r = path_open_dir(sysroot->sys_fd, &dir, "class/net");

        if (r == -ENOENT)
                return 0;
        while (r >= 0 && (name = path_next(dir)))
                /* Neither a file such as "bonding_masters", nor gone meanwhile. */
                if (sysfs_resolve(sysroot, path, "class/net/%s", name) >= 0 &&
                    (!sysfs_is_virtual(path) || path_exists(sysroot->sys_fd, "%s/bonding", path)))
                        r = card_add(sysroot, name, path, list);
        /* Masters that are no bonds: teams. One of them may be another's member. */
        for (size_t i = 0; r >= 0 && i < list->n_devices; i++) {
                const char *master = list->devices[i].master;

                if (!master || device_list_find(list, DEVICE_NET, master) ||
                    sysfs_resolve(sysroot, path, "class/net/%s", master) < 0)
                        continue;
                r = card_add(sysroot, master, path, list);
                i = (size_t)-1; /* the list is sorted, so search from the start */
        }
        /* A bundle is at the node of all members that report one. */
        for (size_t i = 0; r >= 0 && i < list->n_devices; i++) {
                Device *bundle = &list->devices[i];
                int32_t node = DEVICE_NODE_UNKNOWN;
                bool differ = false;

                if (bundle->node != DEVICE_NODE_UNKNOWN)
                        continue;
                for (size_t k = 0; k < list->n_devices; k++) {
                        const Device *member = &list->devices[k];

                        if (!text_equal(member->master, bundle->name) ||
                            member->node == DEVICE_NODE_UNKNOWN)
                                continue;
                        differ |= node != DEVICE_NODE_UNKNOWN && node != member->node;
                        node = member->node;
                }
                if (!differ)
                        bundle->node = node;
        }
        return r;
}

static int route_add(WordList *list, const char *name) {
        return word_list_has(list, name) || list->n_words == INTERFACES_MAX
                       ? 0
                       : word_list_add(list, name);
}

int devices_load(const Sysroot *sysroot, DeviceList *ret) {
        _cleanup_device_list_ DeviceList list = { 0 };
        /* The default route's interface and those under it, in the order in which they were met. */
        _cleanup_(word_list_done) WordList route = { 0 };
        _cleanup_closedir_ DIR *disks = NULL;
        char interface[INTERFACE_NAME_SIZE], path[PATH_MAX];
        const char *name;
        int r = network_cards_load(sysroot, &list);

        if (r < 0)
                return r;
        /* Without a default route, or where /proc cannot be read, no card has it. */
        if (default_route_read(sysroot, interface) >= 0)
                r = route_add(&route, interface);
        /* Its packets go through the interface itself, or the cards below it, be it a bridge, a
         * VLAN, a bond, or several of them one on another. */
        for (size_t i = 0; r >= 0 && i < route.n_words; i++) {
                const char *upper = route.words[i];
                _cleanup_closedir_ DIR *dir = NULL;

                for (size_t k = 0; k < list.n_devices; k++) {
                        Device *d = &list.devices[k];

                        d->default_route |= d->kind == DEVICE_NET && (strcmp(d->name, upper) == 0 ||
                                                                      text_equal(d->master, upper));
                }
                if (sysfs_resolve(sysroot, path, "class/net/%s", upper) >= 0)
                        r = path_open_dir(sysroot->sys_fd, &dir, "%s", path);
                if (r == -ENOENT)
                        r = 0;
                while (r >= 0 && (name = path_next(dir)))
                        if (strncmp(name, "lower_", strlen("lower_")) == 0)
                                r = route_add(&route, name + strlen("lower_"));
        }
        if (r == -ENOMEM)
                return r;
        r = path_open_dir(sysroot->sys_fd, &disks, "class/block");
        if (r == -ENOENT)
                r = 0;
        while (r >= 0 && (name = path_next(disks))) {
                _cleanup_(device_done) Device device = { 0 };

                /* What is unplugged meanwhile is none. */
                if (sysfs_resolve(sysroot, path, "class/block/%s", name) < 0 ||
                    !disk_is_whole(sysroot, path))
                        continue;
                r = disk_load(sysroot, path, &device);
                if (r >= 0)
                        r = device_list_add(&list, &device);
        }
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(list);
        return 0;
}
