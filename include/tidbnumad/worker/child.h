/* One child process of a worker, and the socket to it; and what is given up. */
#pragma once

#include "tidbnumad/worker/message.h"

typedef struct WorkerChild {
        int fd;
        pid_t pid;  /* not reused before it is reaped */
        bool ready; /* it has sent WORKER_HELLO */
        uint64_t serial;
} WorkerChild;

/* Does not wait for its start: what is sent before is received when it is ready. `input`: its
 * standard input; negative: ours. */
int worker_child_start(const char *program, int input, WorkerChild *ret);

/* Does it run, or wait for a CPU and nothing else? */
bool worker_child_is_running(const WorkerChild *child);

/* 0, or a negative errno: the child is unusable. */
int worker_child_send(WorkerChild *child, WorkerRequest *request, const ProcHandle *process);

/* Receives the answer to the last request. -EAGAIN: there is none yet; another negative errno: the
 * child is unusable. */
int worker_child_receive(WorkerChild *child, WorkerReply *reply);

/* Waits for the next message. -ETIME: none came in time. */
int worker_child_wait(const WorkerChild *child, uint64_t until_usec);

/* --- the processes for which a job was abandoned, and the children that were let go --- */

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
        WorkerWait wait;
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
