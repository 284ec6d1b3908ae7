/* Writes the settings of interrupts: desired ones, and original ones that are restored. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Writes the desired settings that are not in force, each after its original value was recorded. */
void irq_put_on(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);

/* Is there something in the record whose release was requested? */
bool irq_is_asked_back(const Interrupts *irq, const IrqHost *host);

/* Was the release of `host` requested, while its settings are still recorded as changed? */
bool irq_host_is_releasing(const Interrupts *irq);

/* Restores the settings that are in the record and not in `desired`. `only_asked`: of these only
 * what was requested. */
void irq_give_back(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired,
                   bool only_asked);

/* Compares with the last reconcile. An interrupt that continues to fire elsewhere counts as failed,
 * and is logged once. */
void irq_verify(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);
