/* Jobs for workers: which worker runs them, their deadlines, and processes for which no more jobs
 * are run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/child.h"

/* With all places taken, one is free again after this time, so that waiting takes up a small part
 * of the loop's time. */
#define LATE_KEEP_USEC (UINT64_C(1000) * 1000)

/* An answer that is there takes less. */
#define CALL_MIN_USEC (UINT64_C(4) * 1000)

/* The place for one more late worker: a free one, else that of the oldest. */
static size_t limits_find_place(const Workers *all) {
        size_t at = 0;

        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                if (!all->late[i] ||
                    (all->late[at] && all->late[i]->asked_usec < all->late[at]->asked_usec))
                        at = i;
        return at;
}

/* Is it free, or its worker late for long enough to be given up? */
static bool limits_have_place(const Workers *all) {
        const WorkerChild *oldest = all->late[limits_find_place(all)];

        return !oldest || clock_monotonic_usec() >= oldest->asked_usec + LATE_KEEP_USEC;
}

/* How many workers are stuck in jobs for this user; NULL: for all users. */
static size_t limits_count_stuck(const Workers *all, const uid_t *uid) {
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

static void limits_charge_turn(Workers *all, uint64_t usec) {
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

static void kept_free(WorkerKept *kept) {
        free(kept->request);
        free(kept->reply);
        *kept = (WorkerKept){ 0 };
}

static bool asks_the_same(const WorkerRequest *a, const WorkerRequest *b) {
        switch (a->job) {
        case WORKER_STORAGE:
        case WORKER_USER:
        case WORKER_SCRIPT:
                return a->any_text == b->any_text && strcmp(a->path, b->path) == 0;
        case WORKER_VFORK:
                return a->forked_by == b->forked_by;
        case WORKER_EXE:
                return a->foreign == b->foreign;
        case WORKER_HUGE:
                return id_set_equal(&a->nodes, &b->nodes);
        default:
                return true;
        }
}

static bool kept_is_old(const WorkerKept *kept, uint64_t now_usec) {
        return now_usec >= kept->at_usec + (kept->request->job == WORKER_PROBE
                                                    ? WORKER_KEEP_PROBE_USEC
                                                    : WORKER_KEEP_USEC);
}

static WorkerKept *kept_at(Workers *all, const WorkerRequest *request, pid_t pid,
                           uint64_t start_ticks) {
        const uint64_t now = clock_monotonic_usec();

        for (size_t i = 0; i < WORKER_KEPT_MAX; i++) {
                WorkerKept *kept = &all->kept[i];

                if (kept->request && kept_is_old(kept, now))
                        kept_free(kept);
                if (kept->request && kept->request->job == request->job &&
                    kept->request->pid == pid && kept->request->start_ticks == start_ticks &&
                    asks_the_same(kept->request, request))
                        return kept;
        }
        return NULL;
}

/* That of the same question, else a free one, else that of the oldest. */
static WorkerKept *kept_place(Workers *all, const WorkerRequest *request) {
        WorkerKept *at = kept_at(all, request, request->pid, request->start_ticks);

        for (size_t i = 0; !at && i < WORKER_KEPT_MAX; i++)
                if (!all->kept[i].request)
                        at = &all->kept[i];
        if (at)
                return at;
        at = &all->kept[0];
        for (size_t i = 1; i < WORKER_KEPT_MAX; i++)
                if (all->kept[i].at_usec < at->at_usec)
                        at = &all->kept[i];
        return at;
}

/* Keeps a copy of the answer; without memory for it, it is asked for again. */
static void kept_add(Workers *all, const WorkerRequest *request, const WorkerReply *reply) {
        const size_t size = worker_reply_size(reply);
        WorkerKept new = { .request = malloc(sizeof(*request)),
                           .reply = malloc(size),
                           .at_usec = clock_monotonic_usec() };
        WorkerKept *at;

        if (!new.request || !new.reply) {
                kept_free(&new);
                return;
        }
        *new.request = *request;
        memcpy(new.reply, reply, size);
        at = kept_place(all, request);
        kept_free(at);
        *at = new;
}

/* The kept answer to the same question about the same process, or NULL. Owned by `all`. */
static const WorkerReply *kept_find(Workers *all, const WorkerRequest *request,
                                    const ProcHandle *process) {
        const WorkerKept *kept = kept_at(all, request, process->pid, process->start_ticks);

        return kept ? kept->reply : NULL;
}

static void kept_remove(Workers *all, const WorkerRequest *request, const ProcHandle *process) {
        WorkerKept *kept = kept_at(all, request, process->pid, process->start_ticks);

        if (kept)
                kept_free(kept);
}

/* Those about a process that executed another program. */
static void kept_forget(Workers *all, pid_t pid) {
        for (size_t i = 0; i < WORKER_KEPT_MAX; i++)
                if (all->kept[i].request && all->kept[i].request->pid == pid)
                        kept_free(&all->kept[i]);
}

static void kept_done(Workers *all) {
        for (size_t i = 0; i < WORKER_KEPT_MAX; i++)
                kept_free(&all->kept[i]);
}

/* --- processes for which a job was abandoned --- */

bool workers_is_hung(Workers *all, const ProcessId *process, WorkerWait wait) {
        const WorkerHung *hung = hung_find(all, process, wait);

        return hung && !hung->excused;
}

void workers_forget(Workers *all, pid_t pid) {
        for (size_t i = 0; i < all->n_hung; i++)
                if (all->hung[i].process.pid == pid)
                        all->hung[i].process = (ProcessId){ 0 };
        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                if (all->late[i] && all->late[i]->process.pid == pid)
                        all->late[i]->outdated = true;
        kept_forget(all, pid);
}

/* An answer that is not fetched for this long is dropped: the caller has ended, or changed its
 * plans. */
#define REPLY_KEEP_USEC (UINT64_C(1000) * 1000)

/* Another worker may take over the widening of a binding from one that has not answered for so
 * long. */
#define WIDEN_AGAIN_USEC (UINT64_C(1000) * 1000)
enum { WORKER_WIDEN_MAX = 2 };

void workers_start(Workers *all, const char *program, sd_event *event, WorkerHungHandler on_hung,
                   void *userdata) {
        all->program = program;
        all->event = event;
        all->on_hung = on_hung;
        all->userdata = userdata;
        all->facts.all = all->mover.all = all->sampler.all = all->mems.all = all;
        all->once.all = all;
        all->guard[0].all = all->guard[1].all = all;
}

static void worker_done(Worker *worker) {
        worker->child = worker_child_free(worker->child);
        free(worker->reply);
        worker->reply = NULL;
}

void workers_done(Workers *all) {
        worker_done(&all->facts);
        worker_done(&all->mover);
        worker_done(&all->sampler);
        worker_done(&all->mems);
        worker_done(&all->once);
        worker_done(&all->guard[0]);
        worker_done(&all->guard[1]);
        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                all->late[i] = worker_child_free(all->late[i]);
        kept_done(all);
        worker_children_reap(all);
        all->reap_timer = event_source_drop(all->reap_timer);
        free(all->leaving);
        all->leaving = NULL;
        all->n_leaving = all->leaving_allocated = 0;
        all->program = NULL;
}

void worker_on_idle(Worker *worker, WorkerIdleHandler handler, void *userdata) {
        worker->on_idle = handler;
        worker->userdata = userdata;
}

/* --- processes that do not answer --- */

static void give_up(const WorkerChild *child) {
        const WorkerWait wait = worker_job_wait(child->job);
        Workers *all = child->all;
        WorkerHung *hung = NULL;

        if (wait != WORKER_WAIT_NAMES &&
            wait != WORKER_WAIT_GROUPS) /* of no process: may recover */
                hung = hung_remember(all, &child->process, wait);
        if (hung) {
                /* A job that changes a process may block that process meanwhile, so the job gets no
                 * more time. But a job that is running does not wait for the process, so jobs for
                 * the process may be tried again. */
                hung->excused = worker_job_acts(child->job) && hung->n <= WORKER_EXCUSED_MAX &&
                                worker_child_is_running(child);
                hung->at_mems |= child->job == WORKER_MEMS;
        }
        all->n_timeouts[child->job]++;
        worker_child_kill(child);
        if (!hung || !hung->excused)
                all->on_hung(&child->process, child->job, all->userdata);
}

/* --- workers that are put aside --- */

static void drop_late(WorkerChild *child) {
        Workers *all = child->all;

        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                if (all->late[i] == child) {
                        all->late[i] = worker_child_free(child);
                        return;
                }
}

/* On a busy host a worker may only wait for a CPU. The process has no part in that. One that
 * runs all the time, because the process gives it ever more to read, is given up in the end. */
static bool extend(WorkerChild *child, sd_event_source *timer) {
        if (worker_job_acts(child->job) || child->n_extended == WORKER_EXTENDED_MAX ||
            !worker_child_is_running(child))
                return false;
        child->n_extended++;
        child->deadline_usec = clock_monotonic_usec() + worker_job_deadline_usec(child->job);
        return event_source_arm(timer, child->deadline_usec) >= 0;
}

static int on_deadline(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        WorkerChild *child = userdata;
        Worker *worker = child->worker;

        if (extend(child, source))
                return 0;
        give_up(child);
        if (!worker) {
                drop_late(child);
                return 0;
        }
        worker->child = worker_child_free(child);
        if (worker->on_idle)
                worker->on_idle(worker->userdata);
        return 0;
}

/* A child that was put aside has answered or ended: it is not needed any more. Of a change the
 * effect in the kernel counts. */
static int on_late(_unused_ sd_event_source *source, _unused_ int fd, _unused_ uint32_t revents,
                   void *userdata) {
        WorkerChild *child = userdata;
        WorkerReply *reply = malloc(sizeof(*reply));
        int r = reply ? worker_child_receive(child, reply) : -ENOMEM;

        if (r >= 0 && !worker_job_acts(child->job) && !child->outdated)
                kept_add(child->all, &child->request, reply);
        free(reply);
        if (r == -EAGAIN)
                return 0;
        child->busy = false;
        drop_late(child);
        return 0;
}

static int arm(WorkerChild *child) {
        return child->timer ? event_source_arm(child->timer, child->deadline_usec)
                            : sd_event_add_time(child->all->event, &child->timer, CLOCK_MONOTONIC,
                                                child->deadline_usec, 0, on_deadline, child);
}

/* If all places are taken, the oldest one is dropped. */
static void put_aside(Worker *worker) {
        Workers *all = worker->all;
        const size_t at = limits_find_place(all);

        if (all->late[at]) {
                give_up(all->late[at]);
                (void)worker_child_free(all->late[at]);
        }
        all->late[at] = worker->child;
        worker->child = NULL;
        all->late[at]->worker = NULL;
        if (arm(all->late[at]) < 0 ||
            sd_event_add_io(all->event, &all->late[at]->io, all->late[at]->fd, EPOLLIN, on_late,
                            all->late[at]) < 0)
                all->late[at] = worker_child_free(all->late[at]);
}

static bool is_urgent(const WorkerRequest *request) {
        return request->job == WORKER_MEMS && request->widen;
}

/* Does a worker wait for this process that another one must not join? A binding that has to be
 * widened before the kernel kills is tried by another one: the first may be stuck itself, and not
 * in the kernel. */
static bool is_waited_for(const Workers *all, const WorkerRequest *request,
                          const ProcHandle *process) {
        const ProcessId id = { .pid = process->pid, .start_ticks = process->start_ticks };
        const bool urgent = is_urgent(request);
        const uint64_t now = clock_monotonic_usec();
        unsigned n = 0;

        for (size_t i = 0; i < WORKER_LATE_MAX; i++) {
                const WorkerChild *late = all->late[i];

                if (!late || !process_id_equal(&late->process, &id))
                        continue;
                if (!urgent)
                        return true;
                if (late->job != WORKER_MEMS)
                        continue; /* a fact that is late takes no try from it */
                if (++n == WORKER_WIDEN_MAX || now < late->asked_usec + WIDEN_AGAIN_USEC)
                        return true;
        }
        return false;
}

/* --- asking --- */

static bool is_guard(const Worker *worker) {
        return worker == &worker->all->guard[0] || worker == &worker->all->guard[1];
}

/* A write of memory nodes changes a thread before it waits for the lock of the memory map. So the
 * guard tries that also for a process whose map does not answer, unless such a write was abandoned
 * before: each one leaves a worker behind that cannot be killed. */
static bool is_hung(const Worker *worker, const WorkerRequest *request, const ProcHandle *process) {
        const ProcessId id = { .pid = process->pid, .start_ticks = process->start_ticks };
        const WorkerHung *hung = hung_find(worker->all, &id, worker_job_wait(request->job));

        return hung && !hung->excused && (hung->at_mems || !is_urgent(request));
}

/* 0: the worker is ready. */
static int prepare(Worker *worker, const WorkerRequest *request, const ProcHandle *process) {
        int r;

        if (is_hung(worker, request, process))
                return -EHOSTDOWN;
        if (worker->child)
                return 0;
        if (!is_guard(worker) && limits_count_stuck(worker->all, NULL) >= WORKER_STUCK_MAX)
                return -ECHILD;
        r = worker_child_new(worker->all, &worker->child);
        if (r < 0)
                return -ECHILD;
        worker->child->worker = worker;
        return 0;
}

void worker_prepare(Worker *worker) {
        if (worker->child || worker_child_new(worker->all, &worker->child) < 0)
                return;
        worker->child->worker = worker;
}

bool worker_is_ready(Worker *worker) {
        WorkerReply *reply;

        if (!worker->child || worker->child->ready)
                return worker->child;
        reply = malloc(sizeof(*reply));
        if (reply)
                (void)worker_child_receive(worker->child, reply);
        free(reply);
        return worker->child->ready;
}

static int wait_for_start(WorkerChild *child, uid_t uid, WorkerReply *reply) {
        const uint64_t until =
                clock_monotonic_usec() + (child->all->has_turns && uid != NO_USER
                                                  ? limits_patience_usec(child->all, uid)
                                                  : WORKER_START_USEC);
        int r;

        while (!child->ready) {
                r = worker_child_wait(child, until);
                if (r < 0)
                        return r;
                r = worker_child_receive(child, reply);
                if (r < 0 && r != -EAGAIN)
                        return r;
        }
        return 0;
}

static int wait_for_answer(WorkerChild *child, uid_t uid, WorkerReply *reply) {
        const uint64_t until = clock_monotonic_usec() + limits_patience_usec(child->all, uid);
        int r;

        do {
                r = worker_child_receive(child, reply);
                if (r != -EAGAIN)
                        return r;
                r = worker_child_wait(child, until);
        } while (r >= 0);
        return r;
}

/* The start of a worker is not the doing of the process. */
static int start(Worker *worker, const WorkerRequest *request, const ProcHandle *process, uid_t uid,
                 WorkerReply *reply) {
        const uint64_t begun_usec = clock_monotonic_usec();
        int r = prepare(worker, request, process);

        if (r >= 0)
                r = wait_for_start(worker->child, uid, reply);
        limits_charge_turn(worker->all, clock_monotonic_usec() - begun_usec);
        return r;
}

static int ask(Worker *worker, WorkerRequest *request, const ProcHandle *process, uid_t uid,
               bool own, WorkerReply *reply) {
        const uint64_t begun_usec = clock_monotonic_usec();
        uint64_t waited_usec;
        int r = worker_child_send(worker->child, request, process, uid);

        if (r >= 0)
                r = wait_for_answer(worker->child, own ? NO_USER : uid, reply);
        waited_usec = clock_monotonic_usec() - begun_usec;
        limits_charge_turn(worker->all, waited_usec);
        limits_charge_user(worker->all, uid, waited_usec);
        return r;
}

/* 0: `*reply` is the answer. */
static int call(Worker *worker, WorkerRequest *request, const ProcHandle *process, uid_t uid,
                WorkerReply *reply) {
        const bool own = is_guard(worker) || uid == NO_USER;
        int r;

        if (is_waited_for(worker->all, request, process))
                return -ETIME;
        if (is_hung(worker, request, process))
                return -EHOSTDOWN;
        if (!is_guard(worker) &&
            (limits_refuse_user(worker->all, uid) || !limits_have_place(worker->all)))
                return -EBUSY;
        if (limits_patience_usec(worker->all, own ? NO_USER : uid) == 0)
                return -EBUSY;
        r = start(worker, request, process, own ? NO_USER : uid, reply);
        if (r >= 0)
                r = ask(worker, request, process, uid, own, reply);
        if (r >= 0)
                return 0;
        if (r == -ETIME && worker->child->busy)
                put_aside(worker);
        else if (r != -ETIME)
                worker->child = worker_child_free(worker->child);
        return r == -ETIME || r == -EHOSTDOWN ? r : -ECHILD;
}

static bool copy_kept(Workers *all, const WorkerRequest *request, const ProcHandle *process,
                      WorkerReply *reply) {
        const WorkerReply *kept =
                worker_job_acts(request->job) ? NULL : kept_find(all, request, process);

        if (kept)
                memcpy(reply, kept, worker_reply_size(kept));
        return kept;
}

int worker_call(Worker *worker, WorkerRequest *request, const ProcHandle *process, uid_t uid,
                WorkerReply *reply) {
        int r = 0;

        if (copy_kept(worker->all, request, process, reply))
                kept_remove(worker->all, request, process);
        else
                r = call(worker, request, process, uid, reply);
        return r < 0 ? r : reply->result;
}

int worker_call_again(Worker *worker, WorkerRequest *request, const ProcHandle *process, uid_t uid,
                      WorkerReply *reply) {
        int r;

        if (copy_kept(worker->all, request, process, reply))
                return reply->result;
        r = call(worker, request, process, uid, reply);
        if (r < 0)
                return r;
        kept_add(worker->all, request, reply);
        return reply->result;
}

void worker_forget_answer(Workers *all, const WorkerRequest *request, const ProcHandle *process) {
        kept_remove(all, request, process);
}

/* --- not waiting --- */

static int on_answer(_unused_ sd_event_source *source, _unused_ int fd, _unused_ uint32_t revents,
                     void *userdata) {
        WorkerChild *child = userdata;
        Worker *worker = child->worker;
        int r;

        r = worker_child_receive(child, worker->reply);
        if (r == -EAGAIN)
                return 0;
        worker->has_reply = true;
        worker->reply_usec = clock_monotonic_usec();
        worker->reply_of = child->process;
        if (r >= 0) {
                (void)sd_event_source_set_enabled(child->timer, SD_EVENT_OFF);
        } else {
                worker->has_reply = child->busy;
                worker->reply->job = child->job;
                worker->reply->result = -ECHILD;
                worker->child = worker_child_free(child);
        }
        if (worker->on_idle)
                worker->on_idle(worker->userdata);
        return 0;
}

static int submit(Worker *worker, WorkerRequest *request, const ProcHandle *process) {
        struct stat st;
        /* The owner of its folder is who it runs as, or root where it hides its memory. */
        const uid_t uid = fstat(process->dir_fd, &st) < 0 ? 0 : st.st_uid;
        WorkerChild *child;
        int r = prepare(worker, request, process);

        if (r < 0)
                return r;
        if (limits_count_stuck(worker->all, &uid) >= WORKER_STUCK_USER_MAX)
                return -EBUSY;
        child = worker->child;
        if (!child->io)
                r = sd_event_add_io(worker->all->event, &child->io, child->fd, EPOLLIN, on_answer,
                                    child);
        if (r >= 0)
                r = worker_child_send(child, request, process, uid);
        if (r >= 0)
                r = arm(child);
        if (r >= 0)
                return -EAGAIN;
        worker->child = worker_child_free(child);
        return -ECHILD;
}

bool worker_is_busy(const Worker *worker) {
        return worker->child && worker->child->busy;
}

/* Is the kept answer the one to this request? */
static bool is_answer(const Worker *worker, WorkerJob job, const ProcHandle *process) {
        const ProcessId id = { .pid = process->pid, .start_ticks = process->start_ticks };

        return worker->reply->job == job && process_id_equal(&worker->reply_of, &id);
}

int worker_ask(Worker *worker, WorkerRequest *request, const ProcHandle *process,
               WorkerReply *reply) {
        if (!worker->reply)
                worker->reply = malloc(sizeof(*worker->reply));
        if (!worker->reply)
                return -ENOMEM;
        if (worker->has_reply && is_answer(worker, request->job, process)) {
                memcpy(reply, worker->reply, worker_reply_size(worker->reply));
                worker->has_reply = false;
                return reply->result;
        }
        if (worker_is_busy(worker) ||
            (worker->has_reply && clock_monotonic_usec() < worker->reply_usec + REPLY_KEEP_USEC))
                return -EAGAIN;
        worker->has_reply = false;
        return submit(worker, request, process);
}
