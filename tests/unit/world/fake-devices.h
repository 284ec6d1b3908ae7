/* Devices of a fake /sys. To be included after fake-tree.h. */
#pragma once

/* A folder below sys/devices with a link to it in sys/class/CLASS. */
static inline void fake_device(const FakeTree *tree, const char *class, const char *path) {
        fake_mkdir(tree, fmt("sys/devices/%s", path));
        fake_link(tree, fmt("sys/class/%s/%s", class, strrchr(path, '/') + 1),
                  fmt("../../devices/%s", path));
}

static inline void fake_device_file(const FakeTree *tree, const char *path, const char *name,
                                    const char *text) {
        fake_write(tree, fmt("sys/devices/%s/%s", path, name), text);
}

static inline void fake_device_link(const FakeTree *tree, const char *path, const char *name,
                                    const char *target) {
        fake_link(tree, fmt("sys/devices/%s/%s", path, name), target);
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
