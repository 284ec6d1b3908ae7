/* The inputs of most commands: a machine, policies, and instances that run there or are imagined.
 */
#pragma once

#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/ask.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/plan-run.h"
#include "tidbnumad/ctl/policies.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/plan/start-limits.h"

typedef struct Situation {
        const Args *args; /* borrowed */
        Machine machine;
        Snapshot status;
        bool daemon_runs; /* a daemon runs, and `status` is from it */
        ImagineList wanted;
        WordList replan; /* globs of instances that a plan places again; borrowed */
} Situation;

/* One set of policies, the instances by it, and their plan. */
typedef struct Case {
        Policies policies;
        HostInstances instances; /* those that run, or that --instances imagines */
        bool runs;               /* they run */
        HostInstances ignored;   /* those that run beyond max_instances */
        PlanRun planned;
        /* The notes of the plan are, in this order, of the machine, of where the policies come
         * from, of the policies, and of the instances. */
        size_t first_note_of_source, first_note_of_policies, first_note_of_instances;
} Case;

/* An instance of the case as it is judged. `asked` is what it said, where it runs. Borrows from
 * each. */
ServerInstance case_server(const Situation *situation, const Case *c, size_t i, const Asked *asked);

/* These functions print errors to stderr. Their results must not move afterwards, and must be freed
 * in each case. */
int situation_open(const Args *args, Situation *ret);
void situation_close(Situation *situation);
#define _cleanup_situation_ _cleanup_(situation_close)

/* Loads the policies that the command line names, or those of `path`, and plans; the plan of
 * `before` (may be NULL) counts as in force. The case borrows from the situation and from `before`.
 */
int case_open(const Situation *situation, const char *path, const Case *before, Case *ret);
void case_close(Case *c);
#define _cleanup_case_ _cleanup_(case_close)
