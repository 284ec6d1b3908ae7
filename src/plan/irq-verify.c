#include <stddef.h>

#include "tidbnumad/plan/irq-verify.h"

static CpuSet elsewhere_than(const IrqHost *host, const CpuSet *cpus) {
        CpuSet rest = { 0 };

        for (size_t i = 0; i < host->n_cpus; i++)
                if (!id_set_has(cpus, host->cpus[i]))
                        id_set_add(&rest, host->cpus[i]);
        return rest;
}

/* By the effective mask: an interrupt that fired on another CPU since then may be the last one
 * before the kernel moved it. */
static bool is_effective(const IrqVector *v) {
        return v->effective_known && !id_set_is_empty(&v->effective) &&
               id_set_is_subset(&v->effective, &v->requested);
}

/* Some kernels show no effective mask, or an empty one. */
static bool has_no_effective(const IrqVector *v) {
        return !v->effective_known || id_set_is_empty(&v->effective);
}

IrqCourse irq_verify_course(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                            const IrqVector *vector) {
        const IrqDevice *same = irq_host_find(before, device->kind, device->name);
        const IrqVector *old = same ? irq_device_vector(same, vector->irq) : NULL;
        CpuSet rest;

        if (!old || !old->mask_known || !vector->mask_known ||
            !id_set_equal(&old->requested, &vector->requested))
                return IRQ_COURSE_UNKNOWN;
        if (is_effective(vector) ||
            (has_no_effective(vector) &&
             irq_vector_growth(before, old, now, vector, &vector->requested) > 0))
                return IRQ_COURSE_FOLLOWS;
        rest = elsewhere_than(now, &vector->requested);
        return irq_vector_growth(before, old, now, vector, &rest) > 0 ? IRQ_COURSE_ASTRAY
                                                                      : IRQ_COURSE_UNKNOWN;
}

void irq_verify_note(IrqVerify *f, IrqCourse course) {
        if (course == IRQ_COURSE_FOLLOWS)
                f->n_astray = 0;
        else if (course == IRQ_COURSE_ASTRAY && f->n_astray < IRQ_ASTRAY_MAX)
                f->n_astray++;
}

bool irq_verify_fails(const IrqVerify *f) {
        return f->n_astray >= IRQ_ASTRAY_MAX;
}

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
