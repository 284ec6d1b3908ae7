/* Devices of a fake /sys. To be included after fake-tree.h. */
#pragma once

/* A folder below sys/devices with a link to it in sys/class/CLASS. */
static inline void fake_device(const FakeTree *tree, const char *class, const char *path) {
        char folder[512], link[512], target[512];

        (void)snprintf(folder, sizeof(folder), "sys/devices/%s", path);
        (void)snprintf(link, sizeof(link), "sys/class/%s/%s", class, strrchr(path, '/') + 1);
        (void)snprintf(target, sizeof(target), "../../devices/%s", path);
        fake_mkdir(tree, folder);
        fake_link(tree, link, target);
}

static inline void fake_device_file(const FakeTree *tree, const char *path, const char *name,
                                    const char *text) {
        char file[512];

        (void)snprintf(file, sizeof(file), "sys/devices/%s/%s", path, name);
        fake_write(tree, file, text);
}

static inline void fake_device_link(const FakeTree *tree, const char *path, const char *name,
                                    const char *target) {
        char file[512];

        (void)snprintf(file, sizeof(file), "sys/devices/%s/%s", path, name);
        fake_link(tree, file, target);
}

/* A card on a PCI device of its own, on that node. */
static inline void fake_card(const FakeTree *tree, const char *name, const char *pci,
                             const char *node) {
        char path[256];

        (void)snprintf(path, sizeof(path), "pci0000:00/%s", pci);
        fake_device_file(tree, path, "numa_node", node);
        fake_device_link(tree, path, "driver", "../../../bus/pci/drivers/ice");
        (void)snprintf(path, sizeof(path), "pci0000:00/%s/net/%s", pci, name);
        fake_device(tree, "net", path);
        fake_device_link(tree, path, "device", "../../../PCI");
        fake_device_file(tree, path, "address", "02:00:00:00:00:01\n");
}

/* A block device with its number. */
static inline void fake_block(const FakeTree *tree, const char *path, const char *number) {
        fake_device(tree, "block", path);
        fake_device_file(tree, path, "dev", number);
}
