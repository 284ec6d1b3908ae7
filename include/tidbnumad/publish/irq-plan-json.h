/* A plan of interrupts as JSON. The keys are told in tidbnumactl(8). */
#pragma once

#include <jansson.h>

#include "tidbnumad/model/irq-plan.h"

/* NULL: no memory. The caller owns it. */
json_t *irq_plan_json(const IrqHost *host, const IrqPlan *plan);
