/* Processes that match a policy by executable and unit, but are ignored: another user's, or a
 * container's. Kept so that status can report why. */
#pragma once

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/match.h"
#include "tidbnumad/sys/proc.h"

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
        uint64_t round; /* number of the scan's round */
} IgnoredList;

void ignored_done(IgnoredList *ignored);

/* Takes over `process` and `handle`, which are empty afterwards. `verdict` is why the process does
 * not belong to `policy`. On error the caller keeps both. -ENOMEM; -ENOSPC: the list is full. */
int ignored_add(IgnoredList *ignored, Process *process, ProcHandle *handle, const Policy *policy,
                MatchVerdict verdict);

/* Counts a process that is not listed: the list is full, or its policy has max_instances already. A
 * process is counted once, however often it is seen. 0 or -ENOMEM. */
int ignored_add_counted(IgnoredList *ignored, pid_t pid, MatchVerdict verdict);

/* Notes that a round of the scan begins. No descriptor reports the end of a process that is only
 * counted: it is removed after a whole round that has not seen it. */
void ignored_begin_round(IgnoredList *ignored);

/* Number of processes with this verdict, listed or only counted. */
size_t ignored_count(const IgnoredList *ignored, MatchVerdict verdict);

/* Is this process listed, with the same executable, user and unit? */
bool ignored_has(const IgnoredList *ignored, const Process *process);

/* Returns whether it was there. */
bool ignored_forget(IgnoredList *ignored, pid_t pid);

/* Removes the processes that have ended. */
void ignored_prune(IgnoredList *ignored);
