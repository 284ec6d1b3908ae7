/* The interrupts' part of a plan made for a command. */
#pragma once

#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/planned.h"
#include "tidbnumad/model/irq-plan.h"

typedef struct PlannedIrq {
        bool planned; /* false: no entry of `irq` is there, or the machine shows no devices */
        IrqHost host;
        IrqPlan plan; /* borrows from `host` and the policies */
} PlannedIrq;

/* 0 or -ENOMEM. `ret` must not move afterwards, nor what it was made from. */
int planned_irq_build(const Machine *machine, const PolicySet *policies, const Planned *planned,
                      PlannedIrq *ret);
void planned_irq_done(PlannedIrq *irq);
#define _cleanup_planned_irq_ _cleanup_(planned_irq_done)
