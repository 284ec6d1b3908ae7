/* The plan of interrupts for a command. */
#pragma once

#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/plan-run.h"
#include "tidbnumad/model/irq.h"

typedef struct PlanRunIrq {
        bool planned; /* false: there is no entry of `irq`, or the machine has no devices */
        IrqHost host;
        IrqPlan plan; /* borrows from `host` and the policies */
} PlanRunIrq;

/* 0 or -ENOMEM. `ret` and its inputs must not move afterwards. */
int plan_run_irq_build(const Machine *machine, const PolicySet *policies, const PlanRun *planned,
                       PlanRunIrq *ret);
void plan_run_irq_done(PlanRunIrq *irq);
#define _cleanup_plan_run_irq_ _cleanup_(plan_run_irq_done)
