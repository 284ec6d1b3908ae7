/* When interrupts are reconciled: at long intervals, and soon after an event of a device. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Subscribes to udev and the kernel's link events, and adds a timer. Without udev or netlink the
 * slow timer finds what has changed. `reconcile` is called when a reconcile is due. */
int irq_events_start(Interrupts *irq, void (*reconcile)(Interrupts *irq));
void irq_events_done(Interrupts *irq);

/* Sets the timer, if there is one, to the next reconcile: the slow one, or the one after an event.
 */
void irq_events_schedule(Interrupts *irq);

/* Requests a reconcile within that time. */
void irq_events_reconcile_within(Interrupts *irq, uint64_t usec);
