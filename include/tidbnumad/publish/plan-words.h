/* Sentences about a plan, made from its data. */
#pragma once

#include <stdint.h>

#include "tidbnumad/base/text.h"
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
