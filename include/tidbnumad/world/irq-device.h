/* Devices that have interrupts, without these. For world/irq-load.c. */
#pragma once

#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/sysroot.h"

/* Network cards with their queues, NVMe controllers, what policies name by its address, and cards
 * of other network namespaces. Added to `host`, in its
 * order. 0, -ENOMEM, -EMFILE or -ENFILE. */
int irq_devices_load(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                     IrqHost *host);
