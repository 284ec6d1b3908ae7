/* A plan of interrupts as text for people. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/irq.h"

/* The devices that an entry of `irq` is for, or that could not be seen whole, with where their
 * interrupts go and why; what is sent to irqbalance; the default. `width` as for table_render().
 * Failure shows in text->error. */
void irq_plan_table_render(const IrqHost *host, const IrqPlan *plan, unsigned width, Text *text);

/* Each interrupt, and each queue that gets a mask, a device after the other. */
void irq_plan_table_explain(const IrqPlan *plan, Text *text);
