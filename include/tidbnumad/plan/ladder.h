/* By which means one instance is bound: the first that holds for it. Its unit's properties; a scope
 * of its own; affinity, which needs nothing but the process. On cgroup v1 a directory of its own
 * takes the place of the first two.
 *
 * A weaker means is always better than none: it never loosens a limit that the process has, and
 * never touches a neighbour.
 */
#pragma once

#include <stdbool.h>

#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/reason.h"

typedef enum Rung {
        RUNG_NONE,      /* not chosen yet, or nothing can be enforced on this host */
        RUNG_UNIT,      /* the properties of its unit */
        RUNG_SCOPE,     /* those of a scope into which its processes are moved */
        RUNG_DIRECTORY, /* a directory of its own in the cpuset hierarchy of cgroup v1 */
        RUNG_AFFINITY,  /* the CPUs of each thread; memory is moved, and not bound */
} Rung;

const char *rung_to_string(Rung rung); /* "unit", "scope", "cgroup1", "affinity"; "" for none */

typedef struct Ladder {
        Rung rung;
        const char *why; /* a constant sentence why it is affinity, where the host has, or seems to
                          * have, a stronger backend; else NULL */
        Reason code;     /* the code of that reason; REASON_NONE: the policy requests this
                          * backend */
} Ladder;

typedef struct LadderInput {
        BackendKind host;   /* what the host has; BACKEND_AUTO, of a dump: as systemd */
        const char *weaker; /* why that is not a stronger one, where the host seems to have it;
                             * NULL: it has not */
        PolicyBackend policy;
        bool in_container; /* one of its processes is */
        bool is_service;   /* it is a system service */
        bool alone;        /* no unrelated process shares the unit */
        const char *start; /* why its unit could not be started again with the values of its place;
                            * NULL: it could */
        bool in_scope;     /* its processes are in a scope of ours */
        const char *no_scope; /* why it can have no scope, where it needs one; NULL: it can */
        Reason no_scope_code;
} LadderInput;

/* Has it no unit to itself, so that `no_scope` counts? */
bool ladder_needs_scope(const LadderInput *input);

/* A scope that something else keeps emptying is still a scope: plan/step.h reports that. */
Ladder ladder_choose(const LadderInput *input);
