/* Processes that a policy names by executable and unit, and that are left alone all the same:
 * another user's, or a container's. Kept so that status can say why. */
#pragma once

#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/match.h"
#include "tidbnumad/sys/proc.h"

/* Any user can start processes of such a name: so many are listed, the others are only counted. */
enum { STRANGERS_MAX = 64 };

typedef struct Stranger {
        Process process;
        MatchVerdict verdict;
        ProcHandle handle;
        char *policy;
        char *reason;
} Stranger;

typedef struct Strangers {
        Stranger *strangers; /* owned */
        size_t n_strangers, allocated;
        struct Counted *counted; /* without a descriptor; ascending by pid; owned */
        size_t n_counted, counted_allocated;
        uint64_t round; /* of the scan */
} Strangers;

void strangers_done(Strangers *strangers);

/* Takes over both (they are empty afterwards). `verdict` is why it does not belong to `policy`.
 * -ENOMEM, -ENOSPC: no room; both stay with the caller. */
int strangers_add(Strangers *strangers, Process *process, ProcHandle *handle, const Policy *policy,
                  MatchVerdict verdict);

/* For one that is only counted: it found no place, or its policy has max_instances already. It is
 * counted once, however often it is looked at. 0 or -ENOMEM. */
int strangers_count(Strangers *strangers, pid_t pid, MatchVerdict verdict);

/* A round of the scan begins. One that is only counted has no descriptor that reports its end: it
 * is forgotten when a whole round has not met it. */
void strangers_begin_round(Strangers *strangers);

/* How many there are with this verdict, listed or only counted. */
size_t strangers_ignored(const Strangers *strangers, MatchVerdict verdict);

/* Is this very process, as who it was then, among them? */
bool strangers_has(const Strangers *strangers, const Process *process);

void strangers_forget(Strangers *strangers, pid_t pid);

/* Forgets those that have ended. */
void strangers_prune(Strangers *strangers);
