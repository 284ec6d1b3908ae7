/* Plans of instances and of interrupts for people: sentences that are made from their data, and
 * tables. */
#pragma once

#include <stdint.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/plan-report.h"
#include "tidbnumad/publish/table.h"

/* Why it is where it is: "nearest to its device (R4); leaves reserved nodes free (R2)". */
void plan_words_why(const PlanReportInstance *instance, Text *text);

/* "node 2: exclusive 1 against 0 (R3)": what the sum would be there, against what it is. */
void plan_words_alternative(const PlacementAlternative *alternative, Text *text);

/* What the number behind a criterion's name counts. */
const char *plan_words_criterion(PlacementCriterion criterion);

/* "node 2", "nodes 2-3". */
void plan_words_nodes(const NodeSet *nodes, Text *text);

/* A set for people: its list, and of a long one the ends and the number of members:
 * "0,2,…,62 (32)". "-" for an empty one. */
void plan_words_set(IdView set, Text *text);
void plan_words_add_set(Table *table, IdView set); /* as a cell */

/* "12.0 GiB"; "0 B". */
void plan_words_bytes(uint64_t bytes, Text *text);
void plan_words_add_bytes(Table *table, uint64_t bytes); /* as a cell */

/* The instances with their places and weightiest reasons, the nodes with what they have and their
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

/* The devices that an entry of `irq` is for, or that could not be seen whole, with where their
 * interrupts go and why; what is sent to irqbalance; the default. `width` as for table_render().
 * Failure shows in text->error. */
void irq_plan_table_render(const IrqHost *host, const IrqPlan *plan, unsigned width, Text *text);

/* The same in one line: how many of which devices go where. */
void irq_plan_line(const IrqPlan *plan, Text *text);

/* Each interrupt, and each queue that gets a mask, a device after the other. */
void irq_plan_table_explain(const IrqPlan *plan, Text *text);
