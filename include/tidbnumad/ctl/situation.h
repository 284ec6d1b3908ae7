/* What a command is about: a machine, the policies for it, the instances that run there or are
 * imagined, and their plan. */
#pragma once

#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/ask.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/policies.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/plan-report.h"
#include "tidbnumad/plan/placement.h"

typedef struct Situation {
        /* What the caller sets. Borrowed. */
        const Args *args;
        const Machine *machine;
        const char *policy_path; /* a file or folder of policies; NULL: those of the command line */
        const struct Situation *before; /* whose places count as in force; NULL: what is in force */
        WordList replan;                /* globs of instances that are placed again */
        bool whole_memory; /* all memory of the machine counts as free, also that of processes */

        const Policies *policies; /* `loaded`, or those of others */
        Policies loaded;
        HostInstances instances; /* those that run, or that --instances imagines */
        bool runs;               /* they run */
        HostInstances ignored;   /* those that run beyond max_instances */

        /* The plan; each array has the index of the instances. Owned. */
        bool daemons_plan; /* its places are the daemon's, with the policies that it has: computed
                            * is only what it does not publish */
        PlacementInstance *inputs;
        PlacementPlan plan;
        uint64_t *free_bytes; /* NULL: not known */
        HugePools pools;      /* of reserved huge pages */
        PlanReport report;    /* refers to the fields above; its instances and notes are owned */
        /* The notes are, in this order, of the machine, of where the policies come from, of the
         * policies, and of the instances. */
        size_t first_note_of_source, note_of_silent, first_note_of_policies,
                first_note_of_instances;

        ServerInstance *servers; /* by situation_load_servers(): how each is judged; owned */

        bool irqs_planned; /* false: there is no entry of `irq`, or the machine has no devices */
        IrqHost irqs;
        IrqPlan irq_plan;
} Situation;

void situation_done(Situation *s);
#define _cleanup_situation_ _cleanup_(situation_done)

/* Loads the policies, finds the instances and plans. The situation must not move afterwards. */
int situation_load(Situation *s, Error *error);

/* The last part of it, for policies and instances that are there: what allows each instance is read
 * again, now that it is known by what it is bound. */
void situation_plan(Situation *s);

/* The plan of interrupts beside it. Errors as of irq_host_load(). */
int situation_plan_irqs(Situation *s);

/* Adds a sentence on how the plan was made. */
void situation_note(Situation *s, const char *format, ...) _printf_(2, 3);

/* Is there an instance that should be placed by its policy, but has no place? */
bool situation_has_refusal(const Situation *s);

const PlanReportInstance *situation_find(const Situation *s, const char *name);

/* Appends the present state of an instance: only what the daemon reports, because the threads alone
 * may give another impression; or that no daemon runs. */
void situation_append_now(const Situation *s, const PlanReportInstance *row, Text *text);

/* Finds the instances whose place differs between two plans; without `before`, between what is in
 * force and the plan. By name, in the order of `after` and then of `before`. The caller frees the
 * array, which borrows from both. */
PlanChange *situation_compare(const Situation *before, const Situation *after, size_t *ret_n);

/* What check and advise judge, in `servers`; with --ask those that run are asked, which prints a
 * note for each that does not answer. */
void situation_load_servers(Situation *s);
