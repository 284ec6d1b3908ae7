/* Interrupts that landed on an instance's CPUs. */
#include <string.h>

#include "tidbnumad/plan/irq-landed.h"

static bool same_columns(const IrqHost *a, const IrqHost *b) {
        return a->n_cpus == b->n_cpus &&
               (a->n_cpus == 0 || memcmp(a->cpus, b->cpus, a->n_cpus * sizeof(*a->cpus)) == 0);
}

static const IrqVector *find_vector(const IrqDevice *device, uint32_t irq) {
        for (size_t i = 0; i < device->n_vectors; i++)
                if (device->vectors[i].irq == irq)
                        return &device->vectors[i];
        return NULL;
}

uint64_t irq_landed(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                    const CpuSet *cpus) {
        const IrqDevice *old = irq_host_find(before, device->kind, device->name);
        uint64_t sum = 0;

        if (!old || !same_columns(before, now))
                return 0;
        for (size_t i = 0; i < device->n_vectors; i++) {
                const IrqVector *v = &device->vectors[i], *o = find_vector(old, v->irq);

                /* A number given anew begins at nothing: a step back is no count. */
                if (o && o->counts && v->counts) {
                        const uint32_t step =
                                irq_vector_count(now, v, cpus) - irq_vector_count(before, o, cpus);

                        sum += step < UINT32_MAX / 2 ? step : 0;
                }
        }
        return sum;
}
