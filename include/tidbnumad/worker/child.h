/* One process of a worker, and the socket to it. */
#pragma once

#include "tidbnumad/worker/worker.h"

struct WorkerChild {
        Workers *all;
        Worker *worker; /* that it belongs to; NULL: put aside */
        int fd, pidfd;
        bool ready; /* it has said hello */
        bool busy;
        uint64_t serial;
        WorkerJob job; /* while busy, as those below */
        ProcessId process;
        uid_t uid;
        uint64_t deadline_usec;
        sd_event_source *io, *timer;
};

int worker_child_new(Workers *all, WorkerChild **ret);

/* For one that does not answer. If it does not die of that, it is left alone. */
void worker_child_kill(const WorkerChild *child);

/* It ends by itself when its job is done, for nobody is at the other end any more; and with the
 * daemon at the latest. */
WorkerChild *worker_child_free(WorkerChild *child);

/* 0, or a negative errno: it is of no use any more. */
int worker_child_send(WorkerChild *child, WorkerRequest *request, const ProcHandle *process,
                      uid_t uid);

/* The answer to what was sent. -EAGAIN: none yet; another negative errno: it is of no use any more.
 */
int worker_child_receive(WorkerChild *child, WorkerReply *reply);

/* Waits for more from it. -ETIME. */
int worker_child_wait(const WorkerChild *child, uint64_t until_usec);
