/* The list of processes for which a job was abandoned; the interface for other modules is
 * worker.h. */
#pragma once

#include "tidbnumad/worker/worker.h"

/* NULL: no job for it was abandoned. */
WorkerHung *hung_find(Workers *all, const ProcessId *process, WorkerWait wait);

/* Returns its entry, which counts how often that was so. */
WorkerHung *hung_remember(Workers *all, const ProcessId *process, WorkerWait wait);

/* A worker that was killed in the middle of a job has ended; see WORKER_EXCUSE_USEC. */
void hung_excuse(Workers *all, const WorkerLeaving *leaving);
