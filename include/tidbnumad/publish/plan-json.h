/* A plan as JSON. tidbnumactl(8) documents the keys. */
#pragma once

#include <jansson.h>

#include "tidbnumad/model/plan-report.h"

/* NULL: no memory. The caller owns it. */
json_t *plan_json_report(const PlanReport *report);
json_t *plan_json_instance(const PlanReportInstance *instance);
json_t *plan_json_changes(const PlanChange *changes, size_t n_changes);
