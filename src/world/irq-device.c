/* Devices that have interrupts: which there are, and the queues of network cards. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/sysfs-device.h"
#include "tidbnumad/world/irq-device.h"
#include "tidbnumad/world/network-card.h"

enum { QUEUES_MAX = 65536 };

static int compare(const IrqDevice *a, const IrqDevice *b) {
        if (a->kind != b->kind)
                return a->kind < b->kind ? -1 : 1;
        return device_name_compare(a->name, b->name);
}

/* Takes over `device`, in its place in the order. */
static int add(IrqHost *host, IrqDevice *device) {
        size_t i = host->n_devices;

        while (i > 0 && compare(device, &host->devices[i - 1]) < 0)
                i--;
        if (ARRAY_INSERT(host->devices, host->n_devices, host->allocated, i, device) < 0)
                return -ENOMEM;
        *device = (IrqDevice){ 0 };
        return 0;
}

static IrqLink read_link(const Sysroot *sysroot, const char *path) {
        char text[32];

        if (sysfs_read(sysroot, path, "operstate", text, sizeof(text)) <= 0)
                return IRQ_LINK_UNKNOWN;
        return strcmp(text, "up") == 0        ? IRQ_LINK_UP
               : strcmp(text, "unknown") == 0 ? IRQ_LINK_UNKNOWN
                                              : IRQ_LINK_DOWN;
}

/* The queues of one kind: "tx-3" with its file xps_cpus. */
typedef struct QueueSearch {
        const Sysroot *sysroot;
        const char *path, *stem, *file;
        IrqQueue *queues;
        size_t n, allocated;
} QueueSearch;

static int add_queue(const char *name, void *userdata) {
        QueueSearch *s = userdata;
        const size_t stem = strlen(s->stem);
        char path[PATH_MAX], mask[ID_SET_MASK_MAX];
        IrqQueue *queue;
        uint64_t number;

        if (strncmp(name, s->stem, stem) != 0 || parse_u64(name + stem, &number) < 0 ||
            number >= QUEUES_MAX)
                return 0;
        if (ARRAY_RESERVE(s->queues, s->allocated, (size_t)number + 1) < 0)
                return -ENOMEM;
        queue = &s->queues[number];
        if (number >= s->n)
                s->n = (size_t)number + 1;
        if (snprintf(path, sizeof(path), "%s/queues/%s", s->path, name) < PATH_MAX)
                queue->mask_known = sysfs_read(s->sysroot, path, s->file, mask, sizeof(mask)) > 0 &&
                                    id_set_parse_mask(mask, &queue->cpus) >= 0;
        return 0;
}

static int load_queues(const Sysroot *sysroot, const char *path, const char *stem, const char *file,
                       IrqQueue **ret, size_t *ret_n) {
        QueueSearch search = { .sysroot = sysroot, .path = path, .stem = stem, .file = file };
        char folder[PATH_MAX];
        int r = -ENOENT;

        if (snprintf(folder, sizeof(folder), "%s/queues", path) < PATH_MAX)
                r = sysfs_foreach(sysroot, folder, add_queue, &search);
        *ret = search.queues;
        *ret_n = search.n;
        return r == -ENOMEM ? r : 0;
}

static int take_strings(Device *from, IrqDevice *to) {
        to->name = TAKE_PTR(from->name);
        to->pci = TAKE_PTR(from->pci);
        to->driver = TAKE_PTR(from->driver);
        to->master = TAKE_PTR(from->master);
        return to->name ? 0 : -ENOMEM;
}

static uint32_t read_ifindex(const Sysroot *sysroot, const char *path) {
        char text[32];
        uint64_t number;

        return sysfs_read(sysroot, path, "ifindex", text, sizeof(text)) > 0 &&
                               parse_u64(text, &number) >= 0 && number <= INT_MAX
                       ? (uint32_t)number
                       : 0;
}

static int add_card(const Sysroot *sysroot, Device *card, IrqHost *host) {
        _cleanup_(irq_device_done) IrqDevice device = { .kind = IRQ_DEVICE_NET,
                                                        .node = card->node,
                                                        .speed_mbps = card->speed_mbps };
        char path[PATH_MAX];
        int r = take_strings(card, &device);

        if (r < 0)
                return r;
        if (sysfs_resolve_in(sysroot, "class/net", device.name, path) < 0) /* gone meanwhile */
                return 0;
        device.ifindex = read_ifindex(sysroot, path);
        device.link = read_link(sysroot, path);
        device.bundle = sysfs_is_virtual(path);
        if (sysfs_read_link_name(sysroot, path, "device/physfn", &device.physfn) == -ENOMEM)
                return -ENOMEM;
        if (!device.bundle)
                r = load_queues(sysroot, path, "rx-", "rps_cpus", &device.rx, &device.n_rx);
        if (r >= 0 && !device.bundle)
                r = load_queues(sysroot, path, "tx-", "xps_cpus", &device.tx, &device.n_tx);
        return r < 0 ? r : add(host, &device);
}

static int load_cards(const Sysroot *sysroot, IrqHost *host) {
        _cleanup_device_list_ DeviceList cards = { 0 };
        int r = network_cards_load(sysroot, &cards);

        for (size_t i = 0; r >= 0 && i < cards.n_devices; i++)
                r = add_card(sysroot, &cards.devices[i], host);
        return r;
}

/* A device by its folder in /sys; `name` NULL: it is called by its address. */
static int add_by_path(const Sysroot *sysroot, const char *path, IrqDeviceKind kind,
                       const char *name, bool in_other_netns, IrqHost *host) {
        char pci[SYSFS_PCI_MAX];
        _cleanup_(irq_device_done) IrqDevice device = { .kind = kind,
                                                        .node = sysfs_node(sysroot, path),
                                                        .in_other_netns = in_other_netns };

        if (sysfs_pci(path, pci) < 0) /* as controllers over a network */
                return 0;
        device.pci = strdup(pci);
        device.name = strdup(name ? name : pci);
        if (!device.pci || !device.name || sysfs_driver(sysroot, path, &device.driver) == -ENOMEM)
                return -ENOMEM;
        return add(host, &device);
}

typedef struct Search {
        const Sysroot *sysroot;
        IrqHost *host;
} Search;

static int add_controller(const char *name, void *userdata) {
        Search *s = userdata;
        char path[PATH_MAX];

        if (sysfs_resolve_in(s->sysroot, "class/nvme", name, path) < 0)
                return 0;
        return add_by_path(s->sysroot, path, IRQ_DEVICE_NVME, name, false, s->host);
}

static bool is_known(const IrqHost *host, const char *pci) {
        for (size_t i = 0; i < host->n_devices; i++)
                if (host->devices[i].pci && strcasecmp(host->devices[i].pci, pci) == 0)
                        return true;
        return false;
}

/* What hands a card to a guest or to a program, and not to a network namespace. */
static bool is_passed_on(const char *driver) {
        static const char *const drivers[] = { "pci-stub", "uio_pci_generic", "igb_uio",
                                               "xen-pciback", "pciback" };

        if (strstr(driver, "vfio")) /* "vfio-pci", "mlx5_vfio_pci" */
                return true;
        for (size_t i = 0; i < ELEMENTSOF(drivers); i++)
                if (strcmp(driver, drivers[i]) == 0)
                        return true;
        return false;
}

/* An Ethernet card (class 02 00) that a driver has, and no interface that we see. */
static int add_if_elsewhere(const char *name, void *userdata) {
        Search *s = userdata;
        _cleanup_free_ char *driver = NULL;
        char path[PATH_MAX], class[16];

        if (is_known(s->host, name) ||
            sysfs_resolve_in(s->sysroot, "bus/pci/devices", name, path) < 0 ||
            sysfs_read(s->sysroot, path, "class", class, sizeof(class)) <= 0 ||
            strncmp(class, "0x0200", 6) != 0 ||
            sysfs_read_link_name(s->sysroot, path, "driver", &driver) < 0 || is_passed_on(driver))
                return 0;
        return add_by_path(s->sysroot, path, IRQ_DEVICE_NET, NULL, true, s->host);
}

static int add_named(const Sysroot *sysroot, const WordList *addresses, IrqHost *host) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < addresses->n_words; i++) {
                char path[PATH_MAX];

                if (is_known(host, addresses->words[i]) ||
                    sysfs_resolve_in(sysroot, "bus/pci/devices", addresses->words[i], path) < 0)
                        continue;
                r = add_by_path(sysroot, path, IRQ_DEVICE_OTHER, NULL, false, host);
        }
        return r;
}

int irq_devices_load(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                     IrqHost *host) {
        Search search = { .sysroot = sysroot, .host = host };
        int r = load_cards(sysroot, host);

        if (r >= 0)
                r = sysfs_foreach(sysroot, "class/nvme", add_controller, &search);
        if (r >= 0 || r == -ENOENT)
                r = sysfs_foreach(sysroot, "bus/pci/devices", add_if_elsewhere, &search);
        if (r == -ENOENT)
                r = 0;
        for (size_t i = 0; r >= 0 && i < n_policies; i++)
                r = add_named(sysroot, &policies[i].pci, host);
        /* Else what cannot be read is not there. */
        return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
}
