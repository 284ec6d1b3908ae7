/* The worker's side: a child process that runs jobs that might never end, one after the other. */
#pragma once

#include "tidbnumad/worker/job.h"

/* Runs the jobs that come over the socket until the other end is closed. The process is killed when
 * its parent ends. Returns an exit status. */
int worker_serve(int fd);

/* The walks of the mover that are under way. */
typedef struct WorkerWalks WorkerWalks;

WorkerWalks *worker_walks_free(WorkerWalks *walks);

/* Runs one job. Takes over the handle, leaving it empty, if the job begins a walk of the mover. */
void worker_run(const Sysroot *sysroot, WorkerWalks **walks, const WorkerRequest *request,
                ProcHandle *handle, WorkerReply *reply);
