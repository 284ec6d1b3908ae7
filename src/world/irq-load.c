/* Devices that have interrupts, with their queues, vectors, masks and counters. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/irq.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/irq-load.h"

/* --- irq-device --- */

/* Devices that have interrupts: which there are, and the queues of network cards. */

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

static int irq_devices_load(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
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

/* --- irq-load --- */

/* Interrupts of the machine's devices: which vectors each has, their masks, and their counters. */

typedef struct Loading {
        const Sysroot *sysroot;
        const InterruptTable *interrupts;
        const IrqHost *host;
        IrqDevice *device;
        size_t allocated;
} Loading;

static int set_name(const InterruptLine *line, IrqVector *vector) {
        if (!line || line->names_length == 0)
                return 0;
        vector->name = strndup(line->names, line->names_length);
        return vector->name ? 0 : -ENOMEM;
}

/* Several interfaces may share one PCI function: to which does the vector belong? */
static const IrqDevice *owner_of(const Loading *l, const char *name) {
        const IrqDevice *first = NULL;

        for (size_t i = 0; i < l->host->n_devices; i++) {
                const IrqDevice *other = &l->host->devices[i];

                if (!other->pci || strcmp(other->pci, l->device->pci) != 0)
                        continue;
                if (name && irq_name_holds(name, other->name))
                        return other;
                if (!first)
                        first = other;
        }
        return first;
}

static void set_masks(const Sysroot *sysroot, IrqVector *vector) {
        IrqAffinity affinity;

        if (irq_affinity_read(sysroot, vector->irq, &affinity) < 0)
                return;
        vector->mask_known = true;
        vector->requested = affinity.requested;
        vector->effective_known = affinity.effective_known;
        vector->effective = affinity.effective;
        if (affinity.read_only)
                vector->managed = IRQ_MANAGED_YES;
}

static int add_vector(const char *name, void *userdata) {
        Loading *l = userdata;
        IrqDevice *device = l->device;
        IrqVector vector = { .role = IRQ_ROLE_OTHER, .queue = -1 };
        size_t i = device->n_vectors;
        uint64_t irq;

        if (parse_u64(name, &irq) < 0 || irq > UINT32_MAX)
                return 0;
        vector.irq = (uint32_t)irq;
        if (ARRAY_RESERVE(device->vectors, l->allocated, i + 1) < 0 ||
            set_name(interrupts_find(l->interrupts, vector.irq), &vector) < 0)
                return -ENOMEM;
        if (owner_of(l, vector.name) != device) {
                free(vector.name);
                return 0;
        }
        if (vector.name)
                vector.role =
                        irq_name_parse(device->kind, device->name, vector.name, &vector.queue);
        set_masks(l->sysroot, &vector);
        for (; i > 0 && vector.irq < device->vectors[i - 1].irq; i--)
                device->vectors[i] = device->vectors[i - 1];
        device->vectors[i] = vector;
        device->n_vectors++;
        return 0;
}

/* The kernel chooses the CPUs of the I/O queues of NVMe (PCI_IRQ_AFFINITY in
 * drivers/nvme/host/pci.c), except if there is only one vector for all queues. */
static void mark_managed(IrqDevice *device) {
        for (size_t i = 0; device->n_vectors > 1 && i < device->n_vectors; i++) {
                IrqVector *vector = &device->vectors[i];

                if (device->kind == IRQ_DEVICE_NVME && vector->role == IRQ_ROLE_RXTX &&
                    vector->managed == IRQ_MANAGED_UNKNOWN)
                        vector->managed = IRQ_MANAGED_LIKELY;
        }
}

/* Of the PCI function itself: a device below, such as a virtio device, has no such folder, and
 * one above is a bridge with interrupts of its own. */
static int load_vectors(Loading *l) {
        char path[PATH_MAX];
        int r;

        if (!l->device->pci)
                return 0;
        (void)snprintf(path, sizeof(path), "bus/pci/devices/%s/msi_irqs", l->device->pci);
        r = sysfs_foreach(l->sysroot, path, add_vector, l);
        mark_managed(l->device);
        return r == -ENOMEM ? r : 0;
}

static size_t count_vectors(const IrqHost *host) {
        size_t n = 0;

        for (size_t i = 0; i < host->n_devices; i++)
                n += host->devices[i].n_vectors;
        return n;
}

/* Of the whole table only what belongs to the devices is kept. */
static int take_counts(InterruptTable *interrupts, IrqHost *host) {
        uint32_t *next;

        host->n_cpus = interrupts->n_cpus;
        host->cpus = TAKE_PTR(interrupts->cpus);
        host->counts = reallocarray(NULL, count_vectors(host) + 1,
                                    (host->n_cpus + 1) * sizeof(*host->counts));
        if (!host->counts)
                return -ENOMEM;
        next = host->counts;
        for (size_t i = 0; i < host->n_devices; i++)
                for (size_t k = 0; k < host->devices[i].n_vectors; k++) {
                        IrqVector *vector = &host->devices[i].vectors[k];
                        const InterruptLine *line = interrupts_find(interrupts, vector->irq);

                        if (!line)
                                continue;
                        memcpy(next, line->counts, host->n_cpus * sizeof(*next));
                        vector->counts = next;
                        next += host->n_cpus;
                }
        return 0;
}

static int load_vectors_of_all(const Sysroot *sysroot, IrqHost *host) {
        _cleanup_interrupts_ InterruptTable interrupts = { 0 };
        int r = interrupts_read(sysroot, &interrupts);

        if (r == -ENOMEM)
                return r;
        for (size_t i = 0; i < host->n_devices; i++) {
                Loading loading = { .sysroot = sysroot,
                                    .interrupts = &interrupts,
                                    .host = host,
                                    .device = &host->devices[i] };

                if (load_vectors(&loading) < 0)
                        return -ENOMEM;
        }
        return take_counts(&interrupts, host);
}

typedef struct Finding {
        const Sysroot *sysroot;
        pid_t pid;
} Finding;

/* By its name, and by its program where that may be read: the name takes half the time, and there
 * may be thousands of processes. */
static int is_irqbalance(pid_t pid, _unused_ uint64_t inode, void *userdata) {
        Finding *finding = userdata;
        char exe[PATH_MAX], path[32];
        int r;

        (void)snprintf(path, sizeof(path), "%d/comm", pid);
        if (path_read_record(finding->sysroot->proc_fd, exe, sizeof(exe), "%s", path) < 0 ||
            strcmp(exe, "irqbalance") != 0)
                return 0;
        r = proc_exe_read(finding->sysroot, pid, exe, sizeof(exe));
        if (r != -EACCES && (r < 0 || strcmp(basename(exe), "irqbalance") != 0))
                return 0;
        finding->pid = pid;
        return -ECANCELED; /* it is found */
}

pid_t irq_host_find_irqbalance(const Sysroot *sysroot) {
        Finding finding = { .sysroot = sysroot };

        (void)proc_foreach_pid(sysroot, is_irqbalance, &finding);
        return finding.pid;
}

int irq_host_load_devices(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                          IrqHost *ret) {
        _cleanup_irq_host_ IrqHost host = { 0 };
        int r = irq_devices_load(sysroot, policies, n_policies, &host);

        if (r >= 0)
                r = load_vectors_of_all(sysroot, &host);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(host);
        return 0;
}

int irq_host_load(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                  IrqHost *ret) {
        int r = irq_host_load_devices(sysroot, policies, n_policies, ret);

        if (r >= 0)
                ret->irqbalance.pid = irq_host_find_irqbalance(sysroot);
        return r;
}

/* --- names of interrupt handlers: each driver has its own, see request_irq() in drivers/net --- */

enum {
        NAME_MAX_BYTES = 128,
        QUEUE_MAX = 65535, /* more is part of a name, and no queue */
};

/* Of the first handler, without "@pci:0000:3b:00.0" and the bracket of "eth0 (queue 3)". */
static void take_first(const char *name, char buffer[static NAME_MAX_BYTES]) {
        size_t n = strcspn(name, ",@");

        while (n > 0 && (name[n - 1] == ')' || name[n - 1] == ' '))
                n--;
        (void)snprintf(buffer, NAME_MAX_BYTES, "%.*s", (int)n, name);
}

/* Removes the number at the end and its separator, and returns the number. -1: there is none. */
static int32_t cut_number(char *name) {
        size_t length = strlen(name), begin = length;
        int32_t number = 0;

        while (begin > 0 && isdigit((unsigned char)name[begin - 1]))
                begin--;
        if (begin == length || begin == 0 || length - begin > 5)
                return -1;
        for (size_t i = begin; i < length; i++)
                number = number * 10 + (name[i] - '0');
        while (begin > 0 && strchr("-._ ", name[begin - 1]))
                begin--;
        name[begin] = '\0';
        return number <= QUEUE_MAX ? number : -1;
}

static bool ends_with(const char *text, const char *end) {
        size_t n = strlen(text), m = strlen(end);

        return n >= m && strcasecmp(text + n - m, end) == 0;
}

/* The text before the number of a queue. "eth0-q" is be2net's, "eth0" alone mlx4's and mlx5's,
 * "comp" that of their firmware's names. */
static IrqRole role_of(const char *device, const char *stem) {
        static const char *const pairs[] = {
                "TxRx", "Tx-Rx", "rxtx", "fp", "comp", "(queue", "req"
        };
        const size_t n = strlen(device);

        for (size_t i = 0; i < ELEMENTSOF(pairs); i++)
                if (ends_with(stem, pairs[i]))
                        return IRQ_ROLE_RXTX;
        if (ends_with(stem, "rx") || ends_with(stem, "input"))
                return IRQ_ROLE_RX;
        if (ends_with(stem, "tx") || ends_with(stem, "output"))
                return IRQ_ROLE_TX;
        if (strncmp(stem, device, n) == 0 && (stem[n] == '\0' || strcmp(stem + n, "-q") == 0))
                return IRQ_ROLE_RXTX;
        return IRQ_ROLE_OTHER;
}

/* "nvme0q3" */
static IrqRole nvme_role(const char *device, const char *stem, int32_t queue) {
        const size_t n = strlen(device);

        if (queue < 0 || strncmp(stem, device, n) != 0 || strcmp(stem + n, "q") != 0)
                return IRQ_ROLE_OTHER;
        return queue == 0 ? IRQ_ROLE_ADMIN : IRQ_ROLE_RXTX;
}

IrqRole irq_name_parse(IrqDeviceKind kind, const char *device, const char *name,
                       int32_t *ret_queue) {
        char stem[NAME_MAX_BYTES];
        IrqRole role = IRQ_ROLE_OTHER;
        int32_t queue = -1;

        take_first(name, stem);
        if (strcmp(stem, device) != 0) /* else the number is the card's */
                queue = cut_number(stem);
        if (kind == IRQ_DEVICE_NVME)
                role = nvme_role(device, stem, queue);
        else if (queue >= 0)
                role = role_of(device, stem);
        *ret_queue = role == IRQ_ROLE_OTHER ? -1 : queue;
        return role;
}

bool irq_name_holds(const char *name, const char *device) {
        const size_t n = strlen(device);

        for (const char *at = strstr(name, device); at && n > 0; at = strstr(at + 1, device))
                if ((at == name || !isalnum((unsigned char)at[-1])) &&
                    !isalnum((unsigned char)at[n]))
                        return true;
        return false;
}
