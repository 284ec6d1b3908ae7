/* Devices that have interrupts, with their queues, vectors, masks and counters. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/irq.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/irq-load.h"
#include "tidbnumad/world/processes.h"

/* --- devices, and the queues of network cards --- */

enum { QUEUES_MAX = 65536 };

/* Takes over `device`, in its place in the order: by kind, then by name. */
static int host_add_device(IrqHost *host, IrqDevice *device) {
        size_t i = host->n_devices;

        for (; i > 0; i--) {
                const IrqDevice *before = &host->devices[i - 1];

                if (device->kind != before->kind
                            ? device->kind > before->kind
                            : device_name_compare(device->name, before->name) >= 0)
                        break;
        }
        if (ARRAY_INSERT(host->devices, host->n_devices, host->allocated, i, device) < 0)
                return -ENOMEM;
        *device = (IrqDevice){ 0 };
        return 0;
}

/* The queues of one kind: "tx-3" with its file xps_cpus. `queues` and `n` are empty before. */
static int queues_load(const Sysroot *sysroot, const char *path, const char *stem, const char *file,
                       IrqQueue **queues, size_t *n) {
        _cleanup_closedir_ DIR *dir = NULL;
        size_t allocated = 0;
        const char *name;

        (void)path_open_dir(sysroot->sys_fd, &dir, "%s/queues", path);
        while ((name = path_next(dir))) {
                uint64_t number;
                IrqQueue *queue;

                if (strncmp(name, stem, strlen(stem)) != 0 ||
                    parse_u64(name + strlen(stem), &number) < 0 || number >= QUEUES_MAX)
                        continue;
                if (ARRAY_RESERVE(*queues, allocated, (size_t)number + 1) < 0)
                        return -ENOMEM;
                queue = &(*queues)[number];
                if (number >= *n)
                        *n = (size_t)number + 1;
                queue->mask_known = path_read_mask(sysroot->sys_fd, &queue->cpus, "%s/queues/%s/%s",
                                                   path, name, file) >= 0;
        }
        return 0;
}

/* A device by its folder in /sys; `name` NULL: it is called by its address. */
static int host_add_by_path(const Sysroot *sysroot, const char *path, DeviceKind kind,
                            const char *name, bool in_other_netns, IrqHost *host) {
        _cleanup_(irq_device_done)
                IrqDevice device = { .kind = kind, .in_other_netns = in_other_netns };

        if (device_set_attachment(sysroot, path, &device.device) < 0)
                return -ENOMEM;
        if (!device.pci) /* as controllers over a network */
                return 0;
        device.name = strdup(name ? name : device.pci);
        return device.name ? host_add_device(host, &device) : -ENOMEM;
}

static bool host_has_pci(const IrqHost *host, const char *pci) {
        for (size_t i = 0; i < host->n_devices; i++)
                if (host->devices[i].pci && strcasecmp(host->devices[i].pci, pci) == 0)
                        return true;
        return false;
}

/* An Ethernet card (class 02 00) that a driver has, and no interface that we see. */
static int host_add_if_elsewhere(const Sysroot *sysroot, const char *name, IrqHost *host) {
        /* What hands a card to a guest or to a program, and not to a network namespace. */
        static const char *const drivers[] = { "pci-stub", "uio_pci_generic", "igb_uio",
                                               "xen-pciback", "pciback" };
        _cleanup_free_ char *driver = NULL;
        char path[PATH_MAX], class[16];

        if (host_has_pci(host, name) ||
            sysfs_resolve(sysroot, path, "bus/pci/devices/%s", name) < 0 ||
            path_read(sysroot->sys_fd, class, sizeof(class), "%s/class", path) <= 0 ||
            strncmp(class, "0x0200", 6) != 0 ||
            path_read_link_name(sysroot->sys_fd, &driver, "%s/driver", path) < 0 ||
            strstr(driver, "vfio")) /* "vfio-pci", "mlx5_vfio_pci" */
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(drivers); i++)
                if (strcmp(driver, drivers[i]) == 0)
                        return 0;
        return host_add_by_path(sysroot, path, DEVICE_NET, NULL, true, host);
}

/* Network cards with their queues, NVMe controllers, what policies name by its address, and cards
 * of other network namespaces. 0, -ENOMEM, -EMFILE or -ENFILE. */
static int host_add_devices(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                            IrqHost *host) {
        _cleanup_closedir_ DIR *controllers = NULL, *functions = NULL;
        _cleanup_device_list_ DeviceList cards = { 0 };
        char path[PATH_MAX];
        const char *name;
        int r = network_cards_load(sysroot, &cards);

        for (size_t i = 0; r >= 0 && i < cards.n_devices; i++) {
                _cleanup_(irq_device_done)
                        IrqDevice device = { .device = TAKE_STRUCT(cards.devices[i]) };
                char state[32];

                if (sysfs_resolve(sysroot, path, "class/net/%s", device.name) < 0)
                        continue; /* gone meanwhile */
                (void)path_read_u32(sysroot->sys_fd, INT_MAX, &device.ifindex, "%s/ifindex", path);
                if (path_read(sysroot->sys_fd, state, sizeof(state), "%s/operstate", path) > 0 &&
                    strcmp(state, "unknown") != 0)
                        device.link = strcmp(state, "up") == 0 ? IRQ_LINK_UP : IRQ_LINK_DOWN;
                device.bundle = sysfs_is_virtual(path);
                if (path_read_link_name(sysroot->sys_fd, &device.physfn, "%s/device/physfn",
                                        path) == -ENOMEM)
                        return -ENOMEM;
                if (!device.bundle)
                        r = queues_load(sysroot, path, "rx-", "rps_cpus", &device.rx, &device.n_rx);
                if (r >= 0 && !device.bundle)
                        r = queues_load(sysroot, path, "tx-", "xps_cpus", &device.tx, &device.n_tx);
                if (r >= 0)
                        r = host_add_device(host, &device);
        }
        if (r >= 0)
                r = path_open_dir(sysroot->sys_fd, &controllers, "class/nvme");
        while (r >= 0 && (name = path_next(controllers)))
                if (sysfs_resolve(sysroot, path, "class/nvme/%s", name) >= 0)
                        r = host_add_by_path(sysroot, path, DEVICE_NVME, name, false, host);
        if (r >= 0 || r == -ENOENT)
                r = path_open_dir(sysroot->sys_fd, &functions, "bus/pci/devices");
        while (r >= 0 && (name = path_next(functions)))
                r = host_add_if_elsewhere(sysroot, name, host);
        if (r == -ENOENT)
                r = 0;
        for (size_t i = 0; r >= 0 && i < n_policies; i++)
                for (size_t k = 0; r >= 0 && k < policies[i].pci.n_words; k++) {
                        const char *address = policies[i].pci.words[k];

                        if (!host_has_pci(host, address) &&
                            sysfs_resolve(sysroot, path, "bus/pci/devices/%s", address) >= 0)
                                r = host_add_by_path(sysroot, path, DEVICE_OTHER, NULL, false,
                                                     host);
                }
        /* Else what cannot be read is not there. */
        return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
}

/* --- vectors, their masks and their counters --- */

static int vector_add(const Sysroot *sysroot, const InterruptTable *interrupts, const IrqHost *host,
                      const char *name, IrqDevice *device, size_t *allocated) {
        IrqVector vector = { .role = IRQ_ROLE_OTHER, .queue = -1 };
        const IrqDevice *owner = NULL;
        const InterruptLine *line;
        size_t i = device->n_vectors;
        IrqAffinity affinity;
        uint64_t irq;

        if (parse_u64(name, &irq) < 0 || irq > UINT32_MAX)
                return 0;
        vector.irq = (uint32_t)irq;
        line = interrupts_find(interrupts, vector.irq);
        if (ARRAY_RESERVE(device->vectors, *allocated, i + 1) < 0 ||
            (line && line->names_length > 0 &&
             !(vector.name = strndup(line->names, line->names_length))))
                return -ENOMEM;
        /* Several interfaces may share one PCI function: the vector belongs to the one with its
         * handler's name, else to the first. */
        for (size_t k = 0; k < host->n_devices; k++) {
                const IrqDevice *other = &host->devices[k];

                if (!other->pci || strcmp(other->pci, device->pci) != 0)
                        continue;
                if (vector.name && irq_name_holds(vector.name, other->name)) {
                        owner = other;
                        break;
                }
                if (!owner)
                        owner = other;
        }
        if (owner != device) {
                free(vector.name);
                return 0;
        }
        if (vector.name)
                vector.role =
                        irq_name_parse(device->kind, device->name, vector.name, &vector.queue);
        if (irq_affinity_read(sysroot, vector.irq, &affinity) >= 0) {
                vector.mask_known = true;
                vector.requested = affinity.requested;
                vector.effective_known = affinity.effective_known;
                vector.effective = affinity.effective;
                if (affinity.read_only)
                        vector.managed = IRQ_MANAGED_YES;
        }
        for (; i > 0 && vector.irq < device->vectors[i - 1].irq; i--)
                device->vectors[i] = device->vectors[i - 1];
        device->vectors[i] = vector;
        device->n_vectors++;
        return 0;
}

/* By its name, and by its program where that may be read: the name takes half the time, and there
 * may be thousands of processes. */
pid_t irq_host_find_irqbalance(const Sysroot *sysroot) {
        _cleanup_pid_list_ PidList pids = { 0 };
        char exe[PATH_MAX];
        int r;

        (void)pid_list_read(sysroot, &pids);
        for (size_t i = 0; i < pids.n_pids; i++) {
                const pid_t pid = pids.pids[i];

                if (path_read_record(sysroot->proc_fd, exe, sizeof(exe), "%d/comm", pid) < 0 ||
                    strcmp(exe, "irqbalance") != 0)
                        continue;
                r = proc_exe_read(sysroot, pid, exe, sizeof(exe));
                if (r == -EACCES || (r >= 0 && strcmp(basename(exe), "irqbalance") == 0))
                        return pid;
        }
        return 0;
}

int irq_host_load_devices(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                          IrqHost *ret) {
        _cleanup_irq_host_ IrqHost host = { 0 };
        _cleanup_interrupts_ InterruptTable interrupts = { 0 };
        size_t n_vectors = 0;
        uint32_t *next;
        int r = host_add_devices(sysroot, policies, n_policies, &host);

        if (r < 0 || interrupts_read(sysroot, &interrupts) == -ENOMEM)
                return r < 0 ? r : -ENOMEM;
        for (size_t i = 0; i < host.n_devices; i++) {
                IrqDevice *device = &host.devices[i];
                _cleanup_closedir_ DIR *dir = NULL;
                size_t allocated = 0;
                const char *name;

                /* Of the PCI function itself: a device below, such as a virtio device, has no such
                 * folder, and one above is a bridge with interrupts of its own. */
                if (!device->pci)
                        continue;
                (void)path_open_dir(sysroot->sys_fd, &dir, "bus/pci/devices/%s/msi_irqs",
                                    device->pci);
                while ((name = path_next(dir))) {
                        r = vector_add(sysroot, &interrupts, &host, name, device, &allocated);
                        if (r < 0)
                                return r;
                }
                /* The kernel chooses the CPUs of the I/O queues of NVMe (PCI_IRQ_AFFINITY in
                 * drivers/nvme/host/pci.c), except if there is only one vector for all queues. */
                for (size_t k = 0; device->n_vectors > 1 && k < device->n_vectors; k++) {
                        IrqVector *vector = &device->vectors[k];

                        if (device->kind == DEVICE_NVME && vector->role == IRQ_ROLE_RXTX &&
                            vector->managed == IRQ_MANAGED_UNKNOWN)
                                vector->managed = IRQ_MANAGED_LIKELY;
                }
        }
        /* Of the whole table only what belongs to the devices is kept. */
        for (size_t i = 0; i < host.n_devices; i++)
                n_vectors += host.devices[i].n_vectors;
        host.n_cpus = interrupts.n_cpus;
        host.cpus = TAKE_PTR(interrupts.cpus);
        next = host.counts =
                reallocarray(NULL, n_vectors + 1, (host.n_cpus + 1) * sizeof(*host.counts));
        if (!host.counts)
                return -ENOMEM;
        for (size_t i = 0; i < host.n_devices; i++)
                for (size_t k = 0; k < host.devices[i].n_vectors; k++) {
                        IrqVector *vector = &host.devices[i].vectors[k];
                        const InterruptLine *line = interrupts_find(&interrupts, vector->irq);

                        if (!line)
                                continue;
                        memcpy(next, line->counts, host.n_cpus * sizeof(*next));
                        vector->counts = next;
                        next += host.n_cpus;
                }
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

/* Removes the number at the end and its separator, and returns the number. -1: there is none. */
static int32_t name_cut_number(char *name) {
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

static bool ends_with_any_case(const char *text, const char *end) {
        size_t n = strlen(text), m = strlen(end);

        return n >= m && strcasecmp(text + n - m, end) == 0;
}

/* The text before the number of a queue. "eth0-q" is be2net's, "eth0" alone mlx4's and mlx5's,
 * "comp" that of their firmware's names. */
static IrqRole card_role(const char *device, const char *stem) {
        static const char *const pairs[] = {
                "TxRx", "Tx-Rx", "rxtx", "fp", "comp", "(queue", "req"
        };
        const size_t n = strlen(device);

        for (size_t i = 0; i < ELEMENTSOF(pairs); i++)
                if (ends_with_any_case(stem, pairs[i]))
                        return IRQ_ROLE_RXTX;
        if (ends_with_any_case(stem, "rx") || ends_with_any_case(stem, "input"))
                return IRQ_ROLE_RX;
        if (ends_with_any_case(stem, "tx") || ends_with_any_case(stem, "output"))
                return IRQ_ROLE_TX;
        if (strncmp(stem, device, n) == 0 && (stem[n] == '\0' || strcmp(stem + n, "-q") == 0))
                return IRQ_ROLE_RXTX;
        return IRQ_ROLE_OTHER;
}

IrqRole irq_name_parse(DeviceKind kind, const char *device, const char *name, int32_t *ret_queue) {
        const size_t device_length = strlen(device);
        char stem[NAME_MAX_BYTES];
        IrqRole role = IRQ_ROLE_OTHER;
        int32_t queue = -1;
        size_t n = strcspn(name, ",@");

        /* Of the first handler, without "@pci:0000:3b:00.0" and the bracket of "eth0 (queue 3)". */
        while (n > 0 && (name[n - 1] == ')' || name[n - 1] == ' '))
                n--;
        (void)snprintf(stem, sizeof(stem), "%.*s", (int)n, name);
        if (strcmp(stem, device) != 0) /* else the number is the card's */
                queue = name_cut_number(stem);
        if (queue >= 0 && kind != DEVICE_NVME)
                role = card_role(device, stem);
        else if (queue >= 0 && strncmp(stem, device, device_length) == 0 &&
                 strcmp(stem + device_length, "q") == 0) /* "nvme0q3" */
                role = queue == 0 ? IRQ_ROLE_ADMIN : IRQ_ROLE_RXTX;
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
