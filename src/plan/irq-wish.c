/* An irq plan as single settings. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/plan/irq-wish.h"

void irq_wishes_done(IrqWishes *wishes) {
        free(wishes->wishes);
        *wishes = (IrqWishes){ 0 };
}

const char *irq_device_key(const IrqDevice *device) {
        return device->pci ? device->pci : device->name;
}

const IrqWish *irq_wishes_find(const IrqWishes *wishes, const SettingKey *key) {
        for (size_t i = 0; i < wishes->n_wishes; i++)
                if (setting_key_equal(&wishes->wishes[i].key, key))
                        return &wishes->wishes[i];
        return NULL;
}

static int add(IrqWishes *list, const IrqWish *wish) {
        if (ARRAY_RESERVE(list->wishes, list->allocated, list->n_wishes + 1) < 0)
                return -ENOMEM;
        list->wishes[list->n_wishes++] = *wish;
        return 0;
}

/* Two cards of one PCI function show the same vectors. */
static bool has_irq(const IrqWishes *list, uint32_t irq) {
        for (size_t i = 0; i < list->n_wishes; i++)
                if (list->wishes[i].key.kind == SETTING_VECTOR && list->wishes[i].key.number == irq)
                        return true;
        return false;
}

static int add_vectors(IrqWishes *list, const IrqPlanDevice *p) {
        const IrqDevice *d = p->device;

        for (size_t i = 0; i < d->n_vectors; i++) {
                const IrqVector *v = &d->vectors[i];
                const IrqWish wish = {
                        .key = { SETTING_VECTOR, irq_device_key(d), v->irq },
                        .device = d,
                        .vector = v,
                        .plan = p,
                        .value.cpus = p->vectors[i].cpus,
                        .known = v->mask_known,
                        .stands.cpus = v->requested,
                };

                if (p->vectors[i].decision != IRQ_STEERED || has_irq(list, v->irq))
                        continue;
                if (add(list, &wish) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int add_queues(IrqWishes *list, const IrqPlanDevice *p, SettingKind kind,
                      const CpuSet *wanted, const IrqQueue *queues, size_t n) {
        for (size_t i = 0; wanted && i < n; i++) {
                const IrqWish wish = { .key = { kind, p->device->name, (uint32_t)i,
                                                p->device->ifindex },
                                       .device = p->device,
                                       .plan = p,
                                       .value.cpus = wanted[i],
                                       .known = true,
                                       .stands.cpus = queues[i].cpus };

                /* A card with one queue has none of these files. */
                if (queues[i].mask_known && p->device->ifindex > 0 && add(list, &wish) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int irq_wishes_build(const IrqPlan *plan, IrqWishes *ret) {
        _cleanup_irq_wishes_ IrqWishes list = { 0 };
        int r = 0;

        for (size_t i = 0; r >= 0 && i < plan->n_devices; i++)
                r = plan->devices[i].vectors ? add_vectors(&list, &plan->devices[i]) : 0;
        for (size_t i = 0; r >= 0 && i < plan->n_devices; i++) {
                const IrqPlanDevice *p = &plan->devices[i];

                r = add_queues(&list, p, SETTING_XPS, p->xps, p->device->tx, p->device->n_tx);
                if (r >= 0)
                        r = add_queues(&list, p, SETTING_RPS, p->rps, p->device->rx,
                                       p->device->n_rx);
        }
        if (r < 0)
                return r;
        *ret = list;
        list = (IrqWishes){ 0 };
        return 0;
}

bool irq_host_has_vector(const IrqHost *host, const SettingKey *key) {
        for (size_t i = 0; i < host->n_devices; i++) {
                const IrqDevice *d = &host->devices[i];

                for (size_t k = 0; k < d->n_vectors; k++)
                        if (d->vectors[k].irq == key->number &&
                            strcmp(irq_device_key(d), key->device) == 0)
                                return true;
        }
        return false;
}
