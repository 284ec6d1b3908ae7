/* A plan of interrupts as JSON. tidbnumactl(8) documents the keys. */
#pragma once

#include <jansson.h>

#include "tidbnumad/model/irq.h"

/* NULL: no memory. The caller owns it. */
json_t *irq_plan_json(const IrqHost *host, const IrqPlan *plan);
