/* Processes that a policy names by executable and unit, and that are left alone all the same:
 * another user's, or a container's. Kept so that status can say why. */
#pragma once

#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/match.h"
#include "tidbnumad/sys/proc.h"

/* Any user can start processes of such a name: so many are listed, the others are only counted. */
enum { IGNORED_MAX = 64 };

typedef struct IgnoredProcess {
        Process process;
        MatchVerdict verdict;
        ProcHandle handle;
        char *policy;
        char *reason;
} IgnoredProcess;

typedef struct IgnoredList {
        IgnoredProcess *processes; /* owned */
        size_t n_processes, allocated;
        struct Counted *counted; /* without a descriptor; ascending by pid; owned */
        size_t n_counted, counted_allocated;
        uint64_t round; /* of the scan */
} IgnoredList;

void ignored_done(IgnoredList *ignored);

/* Takes over both (they are empty afterwards). `verdict` is why it does not belong to `policy`.
 * -ENOMEM, -ENOSPC: no room; both stay with the caller. */
int ignored_add(IgnoredList *ignored, Process *process, ProcHandle *handle, const Policy *policy,
                MatchVerdict verdict);

/* For one that is only counted: it found no place, or its policy has max_instances already. It is
 * counted once, however often it is looked at. 0 or -ENOMEM. */
int ignored_add_counted(IgnoredList *ignored, pid_t pid, MatchVerdict verdict);

/* A round of the scan begins. One that is only counted has no descriptor that reports its end: it
 * is forgotten when a whole round has not met it. */
void ignored_begin_round(IgnoredList *ignored);

/* How many there are with this verdict, listed or only counted. */
size_t ignored_count(const IgnoredList *ignored, MatchVerdict verdict);

/* Is this very process, as who it was then, among them? */
bool ignored_has(const IgnoredList *ignored, const Process *process);

void ignored_forget(IgnoredList *ignored, pid_t pid);

/* Forgets those that have ended. */
void ignored_prune(IgnoredList *ignored);
