/* Reports interrupts in the journal and in the published files. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Counts the interrupts that fired on instances' CPUs since the last reconcile. */
void irq_report_landed(Interrupts *irq, const IrqHost *host, const IrqOwner *owners,
                       size_t n_owners);

/* Stores the present devices for publication, and logs what has changed. */
void irq_report_devices(Interrupts *irq, const IrqPlan *plan);

/* Has the driver reinitialized the device within the last moments, judged by changes since the last
 * reconcile: queues, vectors, link? To be called before irq_report_devices(). */
bool irq_report_was_reset(const Interrupts *irq, const IrqDevice *device, uint64_t now_usec);

/* For the snapshot; the caller owns both lists, the rest is borrowed. -ENOMEM. */
int irq_report_fill(const Interrupts *irq, IrqInfo *ret, IrqDeviceInfo **ret_devices,
                    IrqLandedInfo **ret_landed);

void irq_report_done(Interrupts *irq);
