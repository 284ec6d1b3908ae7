/* Writes the settings of interrupts: desired ones, and original ones that are restored. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Writes the desired settings that are not in force, each after its original value was recorded. */
void irq_put_on(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);

/* Restores the settings that are in the record and not in `desired`. */
void irq_give_back(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);

/* Compares with the last reconcile. An interrupt that continues to fire elsewhere counts as failed,
 * and is logged once. */
void irq_verify(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);
