/* Interrupts of the machine's devices: which vectors each has, their masks, and their counters. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/interrupts.h"
#include "tidbnumad/sys/irq.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysfs-device.h"
#include "tidbnumad/world/irq-device.h"
#include "tidbnumad/world/irq-load.h"

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
        if (read_record_at(finding->sysroot->proc_fd, path, exe, sizeof(exe)) < 0 ||
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
