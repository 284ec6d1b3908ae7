/* How many jobs may be waited for, and for how long, and the list of processes for which a job was
 * abandoned. The interface for other modules is worker.h. */
#pragma once

#include "tidbnumad/worker/worker.h"

/* The place for one more late worker: a free one, else that of the oldest. */
size_t limits_find_place(const Workers *all);

/* Is it free, or its worker late for long enough to be given up? */
bool limits_have_place(const Workers *all);

/* Are too many jobs of that user late or stuck? */
bool limits_refuse_user(const Workers *all, uid_t uid);

/* Of one user; NULL: of all. */
size_t limits_count_stuck(const Workers *all, const uid_t *uid);

/* How long the loop waits for the next answer. */
uint64_t limits_patience_usec(const Workers *all);

/* --- processes for which a job was abandoned --- */

/* NULL: no job for it was abandoned. */
WorkerHung *hung_find(Workers *all, const ProcessId *process, WorkerWait wait);

/* Returns its entry, which counts how often that was so. */
WorkerHung *hung_remember(Workers *all, const ProcessId *process, WorkerWait wait);

/* A worker that was killed in the middle of a job has ended; see WORKER_EXCUSE_USEC. */
void hung_excuse(Workers *all, const WorkerLeaving *leaving);
