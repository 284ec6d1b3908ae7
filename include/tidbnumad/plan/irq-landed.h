/* Interrupts of a device that fired on an instance's CPUs between two looks. Pure. */
#pragma once

#include "tidbnumad/model/irq.h"

/* `device` is of `now`. Vectors that are in both count; 0 where the CPUs that are online have
 * changed between, for then a CPU's count may have gone with its column. */
uint64_t irq_landed(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                    const CpuSet *cpus);
