/* How many jobs may be waited for, and for how long: see worker.h. */
#pragma once

#include "tidbnumad/worker/worker.h"

/* The place for one more late worker: a free one, else that of the oldest. */
size_t limits_find_place(const Workers *all);

/* Is it free, or its worker late for long enough to be given up? */
bool limits_have_place(const Workers *all);

/* The user of a job of the daemon itself, as of a write to a cgroup. At most one of them is late
 * for each process, so that some processes whose memory maps are locked do not keep all others from
 * being bound; in total they leave places for the jobs of a user. */
#define NO_USER ((uid_t)-1)

/* Are too many jobs of that user late or stuck? */
bool limits_refuse_user(const Workers *all, uid_t uid);

/* How many workers are stuck in jobs for this user; NULL: for all users. */
size_t limits_count_stuck(const Workers *all, const uid_t *uid);

/* How long the loop waits for the next answer. */
uint64_t limits_patience_usec(const Workers *all);
