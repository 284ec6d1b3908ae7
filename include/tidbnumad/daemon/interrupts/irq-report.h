/* What is told of interrupts: in the journal, and in the published files. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Counts what has landed on instances' CPUs since the last look. */
void irq_report_landed(Interrupts *irq, const IrqHost *host, const IrqOwner *owners,
                       size_t n_owners);

/* Remembers the devices as they are now, says in the journal what has changed, publishes it. */
void irq_report_devices(Interrupts *irq, const IrqPlan *plan);

/* The device at the last look; NULL: it was not there. */
const IrqSummary *irq_report_find(const Interrupts *irq, const IrqDevice *device);

/* Has its driver set it up anew within the last moments, by what differs from the last look:
 * queues, vectors, its link? To be asked before irq_report_devices(). */
bool irq_report_is_anew(const Interrupts *irq, const IrqDevice *device, uint64_t now_usec);

/* For the snapshot; the caller owns both lists, the rest is borrowed. -ENOMEM. */
int irq_report_fill(const Interrupts *irq, IrqSnapshot *ret, IrqDeviceSnapshot **ret_devices,
                    IrqLandedSnapshot **ret_landed);

void irq_report_done(Interrupts *irq);
