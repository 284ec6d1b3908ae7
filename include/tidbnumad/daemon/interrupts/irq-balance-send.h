/* Sends irqbalance the bans of the plan, merged with its own; and its own ones alone at the end. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq-balance.h"

/* Sends what the plan wants if irqbalance's settings differ; its own settings if the plan wants
 * nothing. */
void irq_balance_send(Interrupts *irq, const IrqPlanBalance *wanted);

/* Restores its own settings before the daemon ends: waits for a moment if irqbalance is busy. */
void irq_balance_restore(Interrupts *irq);
