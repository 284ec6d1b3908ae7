/* What is given up: the processes for which a job was abandoned, and the children that were let go.
 */
#pragma once

#include "tidbnumad/worker/worker.h"

typedef struct LostProcess {
        ProcessId id;
        WorkerWait wait;
        unsigned n;   /* how often a job for it was abandoned */
        bool excused; /* jobs for it may be tried again */
        bool at_mems; /* the job was a write of its memory nodes: the guard is refused as well */
} LostProcess;

/* A child that was let go and is not reaped yet. */
typedef struct LostChild {
        pid_t pid;
        bool stuck; /* it was killed in the middle of a job; of the others, below */
        uid_t uid;
        WorkerJob job;
        ProcessId process;
        uint64_t since_usec;
} LostChild;

typedef struct Lost {
        sd_event *event;                        /* borrowed */
        LostProcess processes[WORKER_HUNG_MAX]; /* a ring: the next one replaces the oldest */
        size_t n_processes, next;
        LostChild *children; /* owned */
        size_t n_children, allocated;
        sd_event_source *timer; /* while there are any */
} Lost;

/* NULL: no job for it was abandoned. */
LostProcess *lost_find(const Lost *lost, const ProcessId *process, WorkerWait wait);

/* Returns its entry, which counts how often that was so. */
LostProcess *lost_remember(Lost *lost, const ProcessId *process, WorkerWait wait);
void lost_forget(Lost *lost, pid_t pid);

/* Its socket is closed: the child ends when its job is done, and is reaped then. */
void lost_add_child(Lost *lost, const LostChild *child);

/* How many are stuck in jobs for this user; NULL: for all users. */
size_t lost_count_stuck(const Lost *lost, const uid_t *uid);

/* Reaps those that have ended. */
void lost_done(Lost *lost);
