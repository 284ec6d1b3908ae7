/* Interrupts that landed on an instance's CPUs. */
#include <stddef.h>

#include "tidbnumad/plan/irq-landed.h"

uint64_t irq_landed(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                    const CpuSet *cpus) {
        const IrqDevice *old = irq_host_find(before, device->kind, device->name);
        uint64_t sum = 0;

        for (size_t i = 0; old && i < device->n_vectors; i++) {
                const IrqVector *v = &device->vectors[i], *o = irq_device_vector(old, v->irq);

                if (o)
                        sum += irq_vector_growth(before, o, now, v, cpus);
        }
        return sum;
}
