/* Interrupts of devices: their words, and what they have counted. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/model/irq.h"

static const char *const irq_role_strings[N_IRQ_ROLES] = {
        [IRQ_ROLE_OTHER] = "other", [IRQ_ROLE_RX] = "rx",       [IRQ_ROLE_TX] = "tx",
        [IRQ_ROLE_RXTX] = "rxtx",   [IRQ_ROLE_ADMIN] = "admin",
};
DEFINE_STRING_TABLE(irq_role_to_string, IrqRole, irq_role_strings)

const char *irq_device_kind_to_string(IrqDeviceKind kind) {
        switch (kind) {
        case IRQ_DEVICE_NET:
                return "net";
        case IRQ_DEVICE_NVME:
                return "nvme";
        case IRQ_DEVICE_OTHER:
                break;
        }
        return "other";
}

void irq_device_done(IrqDevice *device) {
        for (size_t i = 0; i < device->n_vectors; i++)
                free(device->vectors[i].name);
        free(device->vectors);
        free(device->rx);
        free(device->tx);
        free(device->name);
        free(device->pci);
        free(device->driver);
        free(device->master);
        free(device->physfn);
        *device = (IrqDevice){ 0 };
}

void irqbalance_facts_done(IrqbalanceFacts *facts) {
        free(facts->banned_irqs);
        *facts = (IrqbalanceFacts){ 0 };
}

void irq_host_done(IrqHost *host) {
        for (size_t i = 0; i < host->n_devices; i++)
                irq_device_done(&host->devices[i]);
        free(host->devices);
        free(host->cpus);
        free(host->counts);
        irqbalance_facts_done(&host->irqbalance);
        *host = (IrqHost){ 0 };
}

const IrqDevice *irq_host_find(const IrqHost *host, IrqDeviceKind kind, const char *name) {
        for (size_t i = 0; i < host->n_devices; i++)
                if (host->devices[i].kind == kind && strcmp(host->devices[i].name, name) == 0)
                        return &host->devices[i];
        return NULL;
}

const IrqDevice *irq_host_find_interface(const IrqHost *host, uint32_t ifindex) {
        for (size_t i = 0; i < host->n_devices; i++)
                if (host->devices[i].kind == IRQ_DEVICE_NET && host->devices[i].ifindex == ifindex)
                        return &host->devices[i];
        return NULL;
}

const IrqVector *irq_device_vector(const IrqDevice *device, uint32_t irq) {
        for (size_t i = 0; i < device->n_vectors; i++)
                if (device->vectors[i].irq == irq)
                        return &device->vectors[i];
        return NULL;
}

uint32_t irq_vector_count(const IrqHost *host, const IrqVector *vector, const CpuSet *cpus) {
        uint32_t sum = 0;

        for (size_t i = 0; vector->counts && i < host->n_cpus; i++)
                if (id_set_has(cpus, host->cpus[i]))
                        sum += vector->counts[i];
        return sum;
}

static bool same_columns(const IrqHost *a, const IrqHost *b) {
        return a->n_cpus == b->n_cpus &&
               (a->n_cpus == 0 || memcmp(a->cpus, b->cpus, a->n_cpus * sizeof(*a->cpus)) == 0);
}

uint32_t irq_vector_growth(const IrqHost *before, const IrqVector *old, const IrqHost *now,
                           const IrqVector *vector, const CpuSet *cpus) {
        uint32_t step;

        if (!old->counts || !vector->counts || !same_columns(before, now))
                return 0;
        step = irq_vector_count(now, vector, cpus) - irq_vector_count(before, old, cpus);
        return step < UINT32_MAX / 2 ? step : 0;
}
