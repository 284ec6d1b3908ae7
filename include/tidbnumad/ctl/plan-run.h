/* A plan made for a command: the planner's input from what was found or imagined, and the report of
 * what came of it. */
#pragma once

#include "tidbnumad/ctl/imagine.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/plan-report.h"
#include "tidbnumad/observe/observed.h"
#include "tidbnumad/plan/placement.h"

/* What a plan is made from. Borrowed. */
typedef struct PlanRunFrom {
        const Machine *machine;
        const PolicySet *policies;
        const ObservedList *running;  /* or */
        const ImaginedList *imagined; /* never both; none: nothing to place */
        const StatusFile *status;     /* of a daemon that runs; NULL: none */
        const struct PlanRun *before; /* what stands, by other policies; NULL: what is in force */
        WordList replan;              /* globs of instances that give up their place */
        bool whole_memory; /* whatever runs on the machine now, its memory counts as free */
} PlanRunFrom;

typedef struct PlanRun {
        PlacementInstance *instances; /* owned, as all below */
        PlacementPlan plan;
        uint64_t *free_bytes; /* NULL: not known */
        PlanReportInstance *rows;
        char **notes;
        size_t n_notes, notes_allocated;
        PlanReport report; /* of the above */
} PlanRun;

/* 0 or -ENOMEM. `ret` must not move afterwards, nor what it was made from. */
int plan_run_build(const PlanRunFrom *from, PlanRun *ret);
void plan_run_done(PlanRun *planned);
#define _cleanup_plan_run_ _cleanup_(plan_run_done)

/* A sentence on how the input came about. 0 or -ENOMEM. */
int plan_run_add_note(PlanRun *planned, const char *format, ...) _printf_(2, 3);

/* Has any instance been refused that a policy wants placed? */
bool plan_run_has_refusal(const PlanRun *planned);

const PlanReportInstance *plan_run_find(const PlanRun *planned, const char *name);

/* What is true of an instance now: what the daemon reports of it, and nothing besides, for to who
 * looks at its threads alone it may look otherwise; or that no daemon runs. */
void plan_run_append_now(const PlanRun *planned, const PlanReportInstance *row, Text *text);

/* Instances whose place differs between two plans; without `before`, between what is in force and
 * what is planned. By name, in the order of `after` and then of `before`. The caller frees the
 * array, which borrows from both. 0 or -ENOMEM. */
int plan_run_compare(const PlanRun *before, const PlanRun *after, PlanChange **ret, size_t *ret_n);
