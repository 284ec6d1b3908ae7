/* The worker's side: a process that does what could wait for ever, one job after the other. */
#pragma once

#include "tidbnumad/worker/job.h"

/* Does jobs that come over the socket until the other end is closed. It is killed when its parent
 * ends. Returns an exit status. */
int worker_serve(int fd);

/* The walks of the mover that are under way. */
typedef struct WorkerWalks WorkerWalks;

WorkerWalks *worker_walks_free(WorkerWalks *walks);

/* Does one job. Where a walk of the mover is begun, takes over the handle and leaves it empty. */
void worker_run(const Sysroot *sysroot, WorkerWalks **walks, const WorkerRequest *request,
                ProcHandle *handle, WorkerReply *reply);
