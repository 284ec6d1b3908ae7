/* What irqbalance is told: bans that the plan wants, added to its own; and these alone at the end.
 */
#pragma once

#include "tidbnumad/daemon/interrupts/irq-balance.h"

/* Tells it what the plan wants, unless it knows; where that is nothing, what it had itself. */
void irq_balance_tell(Manager *manager, const IrqPlanBalance *wanted);

/* The same for the end of the daemon: waits for a moment where it is busy. */
void irq_balance_give_back(Manager *manager);
