#include "tidbnumad/worker/limits.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/child.h"

/* With all places taken, one is free again after this time, so that waiting takes up a small part
 * of the loop's time. */
#define LATE_KEEP_USEC (UINT64_C(1000) * 1000)

/* An answer that is there takes less. */
#define CALL_MIN_USEC (UINT64_C(4) * 1000)

size_t limits_find_place(const Workers *all) {
        size_t at = 0;

        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                if (!all->late[i] ||
                    (all->late[at] && all->late[i]->asked_usec < all->late[at]->asked_usec))
                        at = i;
        return at;
}

bool limits_have_place(const Workers *all) {
        const WorkerChild *oldest = all->late[limits_find_place(all)];

        return !oldest || clock_monotonic_usec() >= oldest->asked_usec + LATE_KEEP_USEC;
}

size_t limits_count_stuck(const Workers *all, const uid_t *uid) {
        size_t n = 0;

        for (size_t i = 0; i < all->n_leaving; i++)
                n += all->leaving[i].stuck && (!uid || all->leaving[i].uid == *uid);
        return n;
}

/* --- what was waited --- */

void workers_end_turns(Workers *all) {
        all->has_turns = false;
}

void workers_begin_turn(Workers *all) {
        all->has_turns = true;
        all->turn_usec = WORKER_TURN_USEC;
}

bool workers_turn_is_spent(const Workers *all) {
        return all->has_turns && all->turn_usec < CALL_MIN_USEC;
}

void limits_charge_turn(Workers *all, uint64_t usec) {
        all->turn_usec -= usec < all->turn_usec ? usec : all->turn_usec;
}

static uint64_t debt_of(const WorkerPayer *payer, uint64_t now_usec) {
        const uint64_t paid = (now_usec - payer->at_usec) / WORKER_USER_PART;

        return paid < payer->debt_usec ? payer->debt_usec - paid : 0;
}

/* A new one takes the place of the one who owes least. */
void limits_charge_user(Workers *all, uid_t uid, uint64_t usec) {
        const uint64_t now = clock_monotonic_usec();
        WorkerPayer *payer = &all->payers[0];

        if (!all->has_turns || uid == NO_USER)
                return;
        for (size_t i = 0; i < WORKER_PAYERS_MAX; i++) {
                if (all->payers[i].uid == uid && debt_of(&all->payers[i], now) > 0) {
                        payer = &all->payers[i];
                        break;
                }
                if (debt_of(&all->payers[i], now) < debt_of(payer, now))
                        payer = &all->payers[i];
        }
        *payer = (WorkerPayer){ .uid = uid,
                                .debt_usec = usec + (payer->uid == uid ? debt_of(payer, now) : 0),
                                .at_usec = now };
}

static bool owes_too_much(const Workers *all, uid_t uid) {
        const uint64_t now = clock_monotonic_usec();

        for (size_t i = 0; i < WORKER_PAYERS_MAX; i++)
                if (all->payers[i].uid == uid && debt_of(&all->payers[i], now) >= WORKER_USER_USEC)
                        return true;
        return false;
}

/* --- who is refused --- */

bool limits_refuse_user(const Workers *all, uid_t uid) {
        const bool own = uid == NO_USER;
        unsigned n = 0;

        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                n += all->late[i] && all->late[i]->uid == uid;
        return n >= (own ? WORKER_LATE_MAX - WORKER_LATE_USER_MAX : WORKER_LATE_USER_MAX) ||
               limits_count_stuck(all, &uid) >=
                       (own ? WORKER_STUCK_MAX - WORKER_STUCK_USER_MAX : WORKER_STUCK_USER_MAX);
}

bool workers_wait_for(const Workers *all, WorkerWait wait) {
        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                if (all->late[i] && worker_job_wait(all->late[i]->job) == wait)
                        return true;
        for (size_t i = 0; i < all->n_leaving; i++)
                if (all->leaving[i].stuck && worker_job_wait(all->leaving[i].job) == wait)
                        return true;
        return false;
}

bool workers_write_group_of(const Workers *all, const ProcessId *process) {
        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                if (all->late[i] && all->late[i]->job == WORKER_GROUP &&
                    process_id_equal(&all->late[i]->process, process))
                        return true;
        for (size_t i = 0; i < all->n_leaving; i++)
                if (all->leaving[i].stuck && all->leaving[i].job == WORKER_GROUP &&
                    process_id_equal(&all->leaving[i].process, process))
                        return true;
        return false;
}

/* All servers of a host may be of one user: who owes much is asked for less time, and not refused,
 * for most answers are there at once. */
uint64_t limits_patience_usec(const Workers *all, uid_t uid) {
        uint64_t usec = WORKER_CALL_USEC;

        if (all->has_turns && uid != NO_USER) {
                if (workers_turn_is_spent(all))
                        return 0;
                return owes_too_much(all, uid) ? CALL_MIN_USEC : all->turn_usec;
        }
        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                usec /= all->late[i] ? 2 : 1;
        return usec > CALL_MIN_USEC ? usec : CALL_MIN_USEC;
}
