/* Plans of instances and of interrupts as JSON. tidbnumactl(8) documents the keys. */
#pragma once

#include "tidbnumad/base/json.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/plan-report.h"

/* The members of a report, of the object that is open. */
void plan_json_report(Json *json, const PlanReport *report);

void plan_json_instance(Json *json, const char *key, const PlanReportInstance *instance);
void plan_json_changes(Json *json, const PlanChange *changes, size_t n_changes); /* `changes` */
void plan_json_interrupts(Json *json, const IrqHost *host, const IrqPlan *plan); /* `interrupts` */
