/* Whole disks in /sys: which block devices are some, and where they are attached. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "tidbnumad/sys/sysfs-device.h"
#include "tidbnumad/world/disk.h"

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

typedef struct Search {
        const Sysroot *sysroot;
        DeviceList *list;
} Search;

static int add_disk(const char *name, void *userdata) {
        _cleanup_(device_done) Device device = { 0 };
        Search *search = userdata;
        char path[PATH_MAX];
        int r;

        /* What is unplugged meanwhile is none. */
        if (sysfs_resolve_in(search->sysroot, "class/block", name, path) < 0 ||
            !disk_is_whole(search->sysroot, path))
                return 0;
        r = disk_load(search->sysroot, path, &device);
        return r < 0 ? r : device_list_add(search->list, &device);
}

int disks_load(const Sysroot *sysroot, DeviceList *list) {
        Search search = { .sysroot = sysroot, .list = list };
        int r = sysfs_foreach(sysroot, "class/block", add_disk, &search);

        return r == -ENOENT ? 0 : r;
}
