/* When interrupts are looked at: slowly all the time, and soon after an event of a device. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Hears udev and the kernel's links, and has a timer. Without udev or netlink the slow look finds
 * what has changed. */
int irq_events_start(Manager *manager);
void irq_events_done(Irq *irq);

/* Sets the timer, where there is one, to the next look: the slow one, or that of an event. */
void irq_events_schedule(Irq *irq);
