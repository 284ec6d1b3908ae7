/* Makes a plan for a command: builds the planner's input from running or imagined instances, and
 * the report of the result. */
#pragma once

#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/plan-report.h"
#include "tidbnumad/plan/placement.h"
#include "tidbnumad/plan/step.h"
#include "tidbnumad/world/instances.h"

/* Inputs of a plan. Borrowed. */
typedef struct PlanRunFrom {
        const Machine *machine;
        const PolicySet *policies;
        HostInstances *instances; /* that run, or that are imagined; what allows each is read
                                   * again, now that it is known by what it is bound */
        const Snapshot *status;   /* of a daemon that runs; NULL: none */
        bool daemons; /* its plan is shown, with the policies that it has: computed is only what it
                       * does not publish, with its places as in force */
        const struct PlanRun *before; /* the plan by other policies that counts as in force; NULL:
                                         what is in force */
        WordList replan;              /* globs of instances that are placed again */
        bool whole_memory; /* count all memory of the machine as free, also that of running
                            * processes */
} PlanRunFrom;

typedef struct PlanRun {
        PlacementInstance *instances; /* owned, as all below */
        PlacementPlan plan;
        uint64_t *free_bytes; /* NULL: not known */
        HugePools pools;      /* of reserved huge pages; owned */
        BindMeans *means;     /* by which method each that runs is bound, or would be */
        PlanReportInstance *rows;
        char **notes;
        size_t n_notes, notes_allocated;
        PlanReport report; /* refers to the fields above */
} PlanRun;

/* 0 or -ENOMEM. `ret` and its inputs must not move afterwards. */
int plan_run_build(const PlanRunFrom *from, PlanRun *ret);
void plan_run_done(PlanRun *planned);
#define _cleanup_plan_run_ _cleanup_(plan_run_done)

/* Adds a sentence on how the input was made. 0 or -ENOMEM. */
int plan_run_add_note(PlanRun *planned, const char *format, ...) _printf_(2, 3);

/* Is there an instance that should be placed by its policy, but has no place? */
bool plan_run_has_refusal(const PlanRun *planned);

/* The limit of its control group by which the instance has taken its sizes, and of one that does
 * not run, that which its policy sets. 0: none. */
uint64_t plan_run_memory_limit(const PlanRun *planned, const Topology *topology,
                               const HostInstances *list, size_t i);

const PlanReportInstance *plan_run_find(const PlanRun *planned, const char *name);

/* Appends the present state of an instance: only what the daemon reports, because the threads alone
 * may give another impression; or that no daemon runs. */
void plan_run_append_now(const PlanRun *planned, const PlanReportInstance *row, Text *text);

/* Finds the instances whose place differs between two plans; without `before`, between what is in
 * force and the plan. By name, in the order of `after` and then of `before`. The caller frees the
 * array, which borrows from both. 0 or -ENOMEM. */
int plan_run_compare(const PlanRun *before, const PlanRun *after, PlanChange **ret, size_t *ret_n);

/* The plan of interrupts beside it. */
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
