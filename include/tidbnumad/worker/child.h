/* One child process of a worker, and the socket to it. */
#pragma once

#include "tidbnumad/worker/message.h"

typedef struct WorkerChild {
        int fd;
        pid_t pid;  /* not reused before it is reaped */
        bool ready; /* it has sent WORKER_HELLO */
        uint64_t serial;
} WorkerChild;

/* Does not wait for its start: what is sent before is received when it is ready. */
int worker_child_start(const char *program, WorkerChild *ret);

/* Does it run, or wait for a CPU and nothing else? */
bool worker_child_is_running(const WorkerChild *child);

/* 0, or a negative errno: the child is unusable. */
int worker_child_send(WorkerChild *child, WorkerRequest *request, const ProcHandle *process);

/* Receives the answer to the last request. -EAGAIN: there is none yet; another negative errno: the
 * child is unusable. */
int worker_child_receive(WorkerChild *child, WorkerReply *reply);

/* Waits for the next message. -ETIME: none came in time. */
int worker_child_wait(const WorkerChild *child, uint64_t until_usec);
