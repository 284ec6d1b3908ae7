/* Interrupts of a device that fired on an instance's CPUs between two looks. Pure. */
#pragma once

#include "tidbnumad/model/irq.h"

/* `device` is of `now`. Vectors that are in both count, as irq_vector_growth() has it. */
uint64_t irq_landed(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                    const CpuSet *cpus);
