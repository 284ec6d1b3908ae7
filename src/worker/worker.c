/* Jobs for workers: which worker runs them, their deadlines, and processes for which no more jobs
 * are run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/child.h"
#include "tidbnumad/worker/hung.h"
#include "tidbnumad/worker/kept.h"
#include "tidbnumad/worker/limits.h"

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
