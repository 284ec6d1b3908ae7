/* How many jobs may be waited for, and for how long: see worker.h. */
#pragma once

#include "tidbnumad/worker/worker.h"

/* The place for one more late worker: a free one, else that of the oldest. */
size_t limits_find_place(const Workers *all);

/* Is it free, or its worker late for long enough to be given up? */
bool limits_have_place(const Workers *all);

/* Are too many jobs of that user late or stuck? */
bool limits_refuse_user(const Workers *all, uid_t uid);

/* How many workers are stuck in jobs for this user; NULL: for all users. */
size_t limits_count_stuck(const Workers *all, const uid_t *uid);

/* How long the loop waits for the next answer of that user's process; 0: not at all in this turn. A
 * job of the daemon itself (NO_USER) is waited for in any case: what it writes would be counted as
 * failed, and the script or user that it looks up would be taken for one that cannot be read. */
uint64_t limits_patience_usec(const Workers *all, uid_t uid);

/* The loop has waited: for a worker's start, or for a process of the user. */
void limits_charge_turn(Workers *all, uint64_t usec);
void limits_charge_user(Workers *all, uid_t uid, uint64_t usec);
