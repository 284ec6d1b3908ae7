/* A plan as text for people. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/plan-report.h"

/* The instances with their places and reasons, the nodes with what they have and their
 * instances, and what to know besides. `width` as for table_render(). Failure shows in
 * text->error. */
void plan_table_render(const PlanReport *report, unsigned width, Text *text);

/* Every alternative that lost, an instance after the other, and what the numbers count. */
void plan_table_explain(const PlanReport *report, Text *text);

/* The alternatives of one instance, without a heading. */
void plan_table_alternatives(const PlanReportInstance *instance, Text *text);

/* What the numbers of these alternatives count. Nothing where there are no alternatives. */
void plan_table_criteria(const PlanReportInstance *instances, size_t n_instances, Text *text);

/* The changes: former and new nodes, and the memory that must be moved. One line if nothing
 * changes. */
void plan_table_changes(const PlanChange *changes, size_t n_changes, unsigned width, Text *text);
