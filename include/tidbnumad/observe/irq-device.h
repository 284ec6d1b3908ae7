/* Devices that have interrupts, without these. For observe/irq-load.c. */
#pragma once

#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/sysroot.h"

typedef struct IrqDeviceList {
        IrqDevice *devices; /* in the order of IrqHost.devices; owned */
        size_t n_devices, allocated;
} IrqDeviceList;

void irq_device_list_done(IrqDeviceList *list);
#define _cleanup_irq_devices_ _cleanup_(irq_device_list_done)

/* Network cards with their queues, NVMe controllers, what policies name by its address, and cards
 * of other network namespaces. 0; -ENOMEM, -EMFILE or -ENFILE: nothing is known. */
int irq_devices_load(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                     IrqDeviceList *ret);
