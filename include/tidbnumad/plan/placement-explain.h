/* What the operator is told of a finished plan, as data: warnings, and the alternatives that lost.
 */
#pragma once

#include "tidbnumad/plan/placement-search.h"

void placement_explain_warnings(const PlanSearch *search, const PlanItem *item);

/* 0 or -ENOMEM. `total`: of the plan. */
int placement_explain_alternatives(PlanSearch *search, PlanItem *item, const PlanCost *total);
