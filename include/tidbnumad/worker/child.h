/* The child process of a worker, and the socket to it. */
#pragma once

#include "tidbnumad/worker/worker.h"

struct WorkerChild {
        Workers *all;
        Worker *worker; /* the worker that it belongs to; NULL: put aside */
        int fd;
        pid_t pid;  /* not reused before it is reaped; 0: not started */
        bool ready; /* it has sent WORKER_HELLO */
        bool busy;
        uint64_t serial;
        WorkerJob job; /* valid while it is busy, as the fields below */
        WorkerRequest request;
        ProcessId process;
        uid_t uid;
        uint64_t asked_usec, deadline_usec;
        unsigned n_extended; /* how often the deadline was put off */
        bool outdated;       /* the process has executed another program since */
        sd_event_source *io, *timer;
};

/* Reaps the children that were freed and have ended since. */
void worker_children_reap(Workers *all);

int worker_child_new(Workers *all, WorkerChild **ret);

/* Does it run, or wait for a CPU and nothing else? */
bool worker_child_is_running(const WorkerChild *child);

/* Kills a child that does not answer. If it does not die, it is left alone. */
void worker_child_kill(const WorkerChild *child);

/* Closes the socket: the child exits when its job is done, and with the daemon at the latest. */
WorkerChild *worker_child_free(WorkerChild *child);

/* 0, or a negative errno: the child is unusable. */
int worker_child_send(WorkerChild *child, WorkerRequest *request, const ProcHandle *process,
                      uid_t uid);

/* Receives the answer. -EAGAIN: there is none yet; another negative errno: the child is unusable.
 */
int worker_child_receive(WorkerChild *child, WorkerReply *reply);

/* Waits for the next message. -ETIME: none came in time. */
int worker_child_wait(const WorkerChild *child, uint64_t until_usec);

/* The list of processes for which a job was abandoned; the interface for other modules is
 * worker.h. */

/* NULL: no job for it was abandoned. */
WorkerHung *hung_find(Workers *all, const ProcessId *process, WorkerWait wait);

/* Returns its entry, which counts how often that was so. */
WorkerHung *hung_remember(Workers *all, const ProcessId *process, WorkerWait wait);

/* How many jobs may be waited for, and for how long: see worker.h. */

/* Are too many jobs of that user late or stuck? */
bool limits_refuse_user(const Workers *all, uid_t uid);

/* How long the loop waits for the next answer of that user's process; 0: not at all in this turn. A
 * job of the daemon itself (NO_USER) is waited for in any case: what it writes would be counted as
 * failed, and the script or user that it looks up would be taken for one that cannot be read. */
uint64_t limits_patience_usec(const Workers *all, uid_t uid);

/* The loop has waited: for a worker's start, or for a process of the user. */
void limits_charge_user(Workers *all, uid_t uid, uint64_t usec);
