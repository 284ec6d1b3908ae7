/* When interrupts are looked at: slowly all the time, and soon after an event of a device. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Hears udev and the kernel's links, and has a timer. Without udev or netlink the slow look finds
 * what has changed. `look` is called when a look is due. */
int irq_events_start(Interrupts *irq, void (*reconcile)(Interrupts *irq));
void irq_events_done(Interrupts *irq);

/* Sets the timer, where there is one, to the next look: the slow one, or that of an event. */
void irq_events_schedule(Interrupts *irq);

/* A look is taken within that time. */
void irq_events_reconcile_within(Interrupts *irq, uint64_t usec);
