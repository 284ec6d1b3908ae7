/* Workers: child processes for what could keep the daemon waiting for ever, because its end depends
 * on another process or on a file system that a process chose.
 *
 * A worker does one job at a time. Each job has a deadline; a worker that misses it is killed, and
 * left alone if it does not die of that. The process that it was asked about is remembered, and not
 * asked again before workers_forget(); another worker takes the next job. Small facts are waited
 * for, for WORKER_CALL_USEC at most: then the worker is put aside until its deadline, and the
 * caller asks again later. Of one user no more than WORKER_LATE_USER_MAX jobs are put aside at a
 * time, so that thousands of processes that do not answer cost no more than these. Longer work is
 * not waited for at all.
 *
 * Without workers_start(), as for the dump of another machine, there are no workers. */
#pragma once

#include <systemd/sd-event.h>

#include "tidbnumad/model/workload.h"
#include "tidbnumad/worker/job.h"

/* The loop waits so long for a fact, once for a process. */
#define WORKER_CALL_USEC (UINT64_C(250) * 1000)

/* A new worker may take so long to start, on a busy host. It waits for nobody while it does. */
#define WORKER_START_USEC (UINT64_C(1000) * 1000)

enum { WORKER_LATE_MAX = 8, WORKER_LATE_USER_MAX = 3, WORKER_HUNG_MAX = 1024 };

typedef struct Workers Workers;
typedef struct WorkerChild WorkerChild;

/* Whose job was given up. */
typedef void (*WorkerHungHandler)(const ProcessId *process, WorkerJob job, void *userdata);

/* A worker has an answer, or has none any more to give: ask again. */
typedef void (*WorkerIdleHandler)(void *userdata);

typedef struct Worker {
        Workers *all;
        WorkerChild *child; /* NULL: none, the next job starts one; owned */
        WorkerReply *reply; /* that nobody has fetched yet; owned */
        bool has_reply;
        ProcessId reply_of;
        uint64_t reply_usec;
        WorkerIdleHandler on_idle;
        void *userdata;
} Worker;

typedef struct WorkerHung {
        ProcessId process;
        WorkerWait wait;
} WorkerHung;

struct Workers {
        const char *program; /* NULL: not started */
        sd_event *event;     /* borrowed */
        Worker facts, mover, sampler, mems;
        Worker once;     /* of `migrate: kernel` alone: its jobs take minutes */
        Worker guard[2]; /* of the full-node guard alone: one, and another in reserve */
        WorkerChild *late[WORKER_LATE_MAX]; /* put aside; owned */
        WorkerHung hung[WORKER_HUNG_MAX];   /* the oldest is replaced by the next */
        size_t n_hung, next_hung;
        uint64_t n_timeouts[N_WORKER_JOBS];
        WorkerHungHandler on_hung;
        void *userdata;
};

/* From now on jobs are done by workers, which run `program` as "PROGRAM --worker", with the socket
 * as descriptor WORKER_FD. The pointers are borrowed. */
enum { WORKER_FD = 3 };
void workers_start(Workers *workers, const char *program, sd_event *event,
                   WorkerHungHandler on_hung, void *userdata);
void workers_done(Workers *workers);

/* Starts it without waiting, so that the next job needs no memory for that. */
void worker_prepare(Worker *worker);

/* Has it said that it is ready? */
bool worker_is_ready(Worker *worker);

/* Is it at a job that worker_ask() gave it? */
bool worker_is_busy(const Worker *worker);

/* Called whenever an answer to worker_ask() has come, or none will come any more. */
void worker_on_idle(Worker *worker, WorkerIdleHandler handler, void *userdata);

/* Is the process known not to answer? */
bool workers_is_hung(const Workers *workers, const ProcessId *process, WorkerWait wait);

/* It has become another program: it may be asked again. */
void workers_forget(Workers *workers, pid_t pid);

/* Waits for the answer. Returns the job's result, or -ETIME: not in time, ask again later; -EBUSY:
 * processes of the same user are being waited for, likewise; -EHOSTDOWN: the process does not
 * answer; -ECHILD: the worker ended, or none can be started. */
int worker_call(Worker *worker, WorkerRequest *request, const ProcHandle *process, uid_t uid,
                WorkerReply *reply);

/* Does not wait: -EAGAIN until the answer is there, for which the same is to be asked again. Others
 * get -EAGAIN meanwhile as well. Otherwise as above. */
int worker_ask(Worker *worker, WorkerRequest *request, const ProcHandle *process,
               WorkerReply *reply);
