/* One look's writes: of what is wanted, and of what is given back. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Writes what does not stand, each after the record. */
void irq_put_on(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);

/* Gives back what is in the record and not in `desired`. */
void irq_give_back(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);

/* For messages: "eth0: interrupt 24 (eth0-rx-0)", "eth0: transmit queue 0". */
void irq_describe(const IrqHost *host, const SettingKey *key, char *buffer, size_t size);

/* Compares with the last look. What goes on firing elsewhere counts as failed, and is logged once.
 */
void irq_verify(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);
