/* The pool: which child runs which job, and for how long. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/child.h"

/* --- the pool --- */

typedef struct Child Child;

/* A request: it waits, is run by a child, or is answered. */
typedef struct Ticket {
        WorkerRequest request;
        uid_t uid;
        const ProcHandle *process; /* while it waits: the caller's or, later on, `own` */
        ProcHandle own;
        Child *child; /* that runs it */
        bool is_answered;
        bool is_outdated; /* the process has executed another program since, or is to be asked
                           * again */
        bool has_caller;  /* who got -EAGAIN, and is called when there is an answer */
        bool is_news;     /* and has not been yet */
        bool may_keep;    /* the answer is the job's own */
        bool is_posted; /* a write that the loop does not wait for: the handler takes its result */
        int result;
        WorkerReply *reply; /* NULL: there is only the result; owned */
        uint64_t answered_usec;
} Ticket;

struct Child {
        Workers *all;
        WorkerLane lane;
        WorkerChild process;
        Ticket *ticket; /* NULL: it is idle */
        uint64_t sent_usec, deadline_usec;
        unsigned n_extended; /* how often the deadline was put off */
        sd_event_source *io, *timer;
};

struct Workers {
        const char *program; /* borrowed, as the next two */
        const int *held_fd;  /* NULL: none */
        sd_event *event;
        WorkerHungHandler on_hung;
        void *userdata;
        struct {
                WorkerAnswerHandler handler;
                void *userdata;
        } on_answer[N_WORKER_JOBS];
        unsigned divisor;
        uint64_t patience_usec, left_usec; /* see workers_begin_pass() */
        Child **children;                  /* owned, as each element */
        size_t n_children, children_allocated;
        Ticket **tickets; /* likewise, oldest first */
        size_t n_tickets, tickets_allocated;
        Ticket *spare;         /* for a write when there is no memory; owned */
        uid_t last_uid;        /* whose request was sent last */
        sd_event_source *news; /* calls the handlers */
        Lost lost;
        uint64_t n_timeouts[N_WORKER_JOBS];
        WorkerReply reply; /* the last one that was received */
};

static void lane_run(Workers *all, WorkerLane lane);

/* --- processes that do not answer --- */

bool workers_is_hung(const Workers *all, const ProcessId *process, WorkerWait wait) {
        const LostProcess *lost = all ? lost_find(&all->lost, process, wait) : NULL;

        return lost && !lost->excused;
}

/* A write of memory nodes changes a thread before it waits for the lock of the memory map. So the
 * guard tries that also for a process whose map does not answer, unless such a write was abandoned
 * before: each one leaves a child behind that cannot be killed. */
static bool request_is_hung(const Workers *all, const WorkerRequest *request) {
        const LostProcess *lost =
                lost_find(&all->lost, &request->process, worker_request_wait(request));

        return lost && !lost->excused && (lost->at_mems || !worker_request_is_urgent(request));
}

/* Closes the socket: the child exits when its job is done, and with the daemon at the latest. */
static void child_free(Child *child) {
        Workers *all = child->all;
        const Ticket *t = child->ticket;
        LostChild lost = { .pid = child->process.pid, .since_usec = clock_monotonic_usec() };

        if (t) {
                lost.stuck = true;
                lost.job = t->request.job;
                lost.wait = worker_request_wait(&t->request);
                lost.process = t->request.process;
                /* For the kernel's lock of all control groups, no user's process can be blamed. */
                lost.uid = lost.wait == WORKER_WAIT_GROUPS ? NO_USER : t->uid;
        }
        ARRAY_DROP(all->children, all->n_children, child);
        event_source_drop(child->io);
        event_source_drop(child->timer);
        closep(&child->process.fd);
        lost_add_child(&all->lost, &lost);
        free(child);
}

/* --- tickets --- */

static void ticket_free(Workers *all, Ticket *t) {
        ARRAY_DROP(all->tickets, all->n_tickets, t);
        proc_close(&t->own);
        free(t->reply);
        free(t);
}

static Ticket *ticket_find(Workers *all, const WorkerRequest *request) {
        const uint64_t now = clock_monotonic_usec();

        for (size_t i = all->n_tickets; i > 0; i--) {
                Ticket *t = all->tickets[i - 1];
                const uint64_t keep_usec =
                        t->request.job == WORKER_PROBE ? WORKER_KEEP_PROBE_USEC : WORKER_KEEP_USEC;

                /* It is over. Of a write that was waited for its effect counts, not its late
                 * answer. */
                if (t->is_answered && !t->is_news &&
                    (t->is_outdated ||
                     (!t->is_posted && worker_lanes[worker_request_lane(&t->request)].own) ||
                     now >= t->answered_usec + keep_usec))
                        ticket_free(all, t);
        }
        for (size_t i = 0; i < all->n_tickets; i++)
                if (!all->tickets[i]->is_outdated &&
                    worker_request_is_same(&all->tickets[i]->request, request))
                        return all->tickets[i];
        return NULL;
}

static int ticket_new(Workers *all, const WorkerRequest *request, const ProcHandle *process,
                      uid_t uid, Ticket **ret) {
        Ticket *t, *kept = NULL; /* the oldest one that is answered */
        size_t n = 0, n_open = 0;

        for (size_t i = all->n_tickets; i > 0; i--) {
                t = all->tickets[i - 1];
                if (t->is_answered && !t->is_news)
                        kept = t;
                n_open += !t->is_answered;
                n += !t->is_answered && t->uid == uid;
        }
        if (uid != NO_USER && (n >= WORKER_TICKETS_USER_MAX || n_open + n >= WORKER_TICKETS_MAX))
                return -EBUSY;
        if (kept && all->n_tickets >= WORKER_TICKETS_MAX)
                ticket_free(all, kept);
        t = calloc(1, sizeof(*t));
        if (!t && uid == NO_USER)
                t = TAKE_PTR(all->spare);
        if (!t || ARRAY_RESERVE(all->tickets, all->tickets_allocated, all->n_tickets + 1) < 0) {
                free(t);
                return -EBUSY;
        }
        *t = (Ticket){
                .request = *request, .process = process, .own = PROC_HANDLE_NONE, .uid = uid
        };
        all->tickets[all->n_tickets++] = t;
        *ret = t;
        return 0;
}

/* Keeps a copy of the reply; NULL: the job was not run to its end. */
static void ticket_answer(Workers *all, Ticket *t, int error, const WorkerReply *reply) {
        const size_t size = reply ? worker_reply_size(reply) : 0;

        t->child = NULL;
        t->is_answered = true;
        t->answered_usec = clock_monotonic_usec();
        t->result = reply ? reply->result : error;
        t->may_keep = reply;
        if (size > offsetof(WorkerReply, moved)) {
                t->reply = malloc(size);
                if (t->reply)
                        memcpy(t->reply, reply, size);
                else
                        t->result = -EBUSY;
        }
        t->is_news = t->has_caller;
        if (t->is_news)
                (void)sd_event_source_set_enabled(all->news, SD_EVENT_ONESHOT);
}

/* That a job itself is to be tried again is not that it is under way. */
static int ticket_fetch(Workers *all, Ticket *t, bool keep, WorkerReply *reply) {
        const int r = t->result == -EAGAIN ? -EBUSY : t->result;

        if (t->reply)
                memcpy(reply, t->reply, worker_reply_size(t->reply));
        if (keep && t->may_keep)
                return r;
        if (t->is_news) /* others wait for the child */
                t->is_outdated = true;
        else
                ticket_free(all, t);
        return r;
}

/* One in a pass of the loop, which may have more to do for it than the handler. */
static int on_news(sd_event_source *source, void *userdata) {
        Workers *all = userdata;
        Ticket *first = NULL;
        ProcessId id;
        WorkerJob job;

        for (size_t i = all->n_tickets; i > 0; i--)
                if (all->tickets[i - 1]->is_news) {
                        if (first)
                                (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
                        first = all->tickets[i - 1];
                }
        if (!first)
                return 0;
        first->is_news = false;
        id = first->request.process;
        job = first->request.job;
        if (all->on_answer[job].handler)
                all->on_answer[job].handler(&id, job, all->on_answer[job].userdata);
        return 0;
}

/* --- deadlines --- */

/* The loop is so late only if it did not run: the whole host was paused, or had no CPU for it. */
#define LOOP_LATE_USEC (UINT64_C(1000) * 1000)

static void child_give_up(Child *child) {
        Workers *all = child->all;
        Ticket *t = child->ticket;
        const WorkerRequest *request = &t->request;
        const WorkerWait wait = worker_request_wait(request);
        LostProcess *hung = NULL;

        if (wait != WORKER_WAIT_NAMES &&
            wait != WORKER_WAIT_GROUPS) /* of no process: may recover */
                hung = lost_remember(&all->lost, &request->process, wait);
        if (hung) {
                /* A job that changes a process may block that process meanwhile, so the job gets no
                 * more time. But a job that is running does not wait for the process, so jobs for
                 * the process may be tried again. */
                hung->excused = worker_jobs[request->job].acts && hung->n <= WORKER_EXCUSED_MAX &&
                                worker_child_is_running(&child->process);
                hung->at_mems |= request->job == WORKER_MEMS;
        }
        all->n_timeouts[request->job]++;
        (void)kill(child->process.pid, SIGKILL);
        ticket_answer(all, t, -EHOSTDOWN, NULL);
        t->is_outdated = !hung || hung->excused; /* its caller tries again */
        if (!hung || !hung->excused)             /* a join begins with the making of the group */
                all->on_hung(&request->process, request->joins ? WORKER_MAKE_GROUP : request->job,
                             all->userdata);
        child_free(child);
}

static void child_set_deadline(Child *child, uint64_t begun_usec) {
        child->deadline_usec = begun_usec + worker_jobs[child->ticket->request.job].deadline_usec /
                                                    child->all->divisor;
}

/* When it is late, when another one may take its place, and at its deadline. */
static int child_arm(Child *child, uint64_t now_usec) {
        const uint64_t late = child->sent_usec + WORKER_LATE_USEC,
                       share = child->sent_usec + WORKER_SHARE_USEC;
        uint64_t due = now_usec < late ? late : now_usec < share ? share : child->deadline_usec;

        if (due > child->deadline_usec)
                due = child->deadline_usec;
        return event_source_arm(child->timer, due);
}

static int on_timer(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        const uint64_t now = clock_monotonic_usec();
        Child *child = userdata;
        Workers *all = child->all;
        const WorkerLane lane = child->lane;

        if (!child->ticket)
                return 0;
        /* On a busy host a child may only wait for a CPU, and where the loop did not run, the child
         * did not either. The process has no part in that. One that runs all the time, because the
         * process gives it ever more to read, is given up in the end. */
        if (now >= child->deadline_usec && !worker_jobs[child->ticket->request.job].acts &&
            child->n_extended < WORKER_EXTENDED_MAX &&
            (now >= child->deadline_usec + LOOP_LATE_USEC ||
             worker_child_is_running(&child->process))) {
                child->n_extended++;
                child_set_deadline(child, clock_monotonic_usec());
        }
        if (now < child->deadline_usec) {
                (void)child_arm(child, now);
        } else if (!child->process.ready) { /* its start is not the doing of the process */
                ticket_answer(all, child->ticket, -ECHILD, NULL);
                (void)kill(child->process.pid, SIGKILL);
                child->ticket = NULL;
                child_free(child);
        } else
                child_give_up(child);
        lane_run(all, lane);
        return 0;
}

/* --- children --- */

static bool child_is_late(const Child *child) {
        return child->ticket && clock_monotonic_usec() >= child->sent_usec + WORKER_LATE_USEC;
}

/* `prompt`: only those that are not late. */
static size_t lane_count(const Workers *all, WorkerLane lane, bool prompt) {
        size_t n = 0;

        for (size_t i = 0; i < all->n_children; i++)
                n += all->children[i]->lane == lane && !(prompt && child_is_late(all->children[i]));
        return n;
}

/* Receives what the child has sent. */
static void child_receive(Child *child) {
        const bool was_ready = child->process.ready, was_late = child_is_late(child);
        Workers *all = child->all;
        const WorkerLane lane = child->lane;
        Ticket *t = child->ticket;
        int r = worker_child_receive(&child->process, &all->reply);

        if (child->process.ready && !was_ready && t) { /* what its start took is not charged */
                child->sent_usec = clock_monotonic_usec();
                child_set_deadline(child, child->sent_usec);
                (void)child_arm(child, child->sent_usec);
        }
        if (r == -EAGAIN)
                return;
        child->ticket = NULL;
        if (t)
                ticket_answer(all, t, -ECHILD, r < 0 ? NULL : &all->reply);
        (void)sd_event_source_set_enabled(child->timer, SD_EVENT_OFF);
        if (r < 0 || (was_late && lane_count(all, lane, true) > worker_lanes[lane].n_kept))
                child_free(child); /* one that was late has another one in its place */
        lane_run(all, lane);
}

static int on_message(_unused_ sd_event_source *source, _unused_ int fd, _unused_ uint32_t revents,
                      void *userdata) {
        child_receive(userdata);
        return 0;
}

static int child_new(Workers *all, WorkerLane lane, Child **ret) {
        Child *child = calloc(1, sizeof(*child));
        int r;

        if (!child ||
            ARRAY_RESERVE(all->children, all->children_allocated, all->n_children + 1) < 0) {
                free(child);
                return -ENOMEM;
        }
        *child = (Child){ .all = all, .lane = lane };
        r = worker_child_start(all->program, all->held_fd ? *all->held_fd : -EBADF,
                               &child->process);
        if (r < 0) {
                free(child);
                return r;
        }
        all->children[all->n_children++] = child;
        r = sd_event_add_io(all->event, &child->io, child->process.fd, EPOLLIN, on_message, child);
        /* An answer that is there counts before the deadline, however late both are seen. */
        if (r >= 0)
                r = sd_event_source_set_priority(child->io, SD_EVENT_PRIORITY_NORMAL - 1);
        if (r >= 0)
                r = event_source_add_off(all->event, &child->timer, 0, on_timer, child);
        if (r < 0) {
                child_free(child);
                return r;
        }
        *ret = child;
        return 0;
}

/* 0: `*ret` is free for the next job; -EAGAIN: none is; -ECHILD: there is none, and none can be
 * started. */
static int lane_find_child(Workers *all, WorkerLane lane, Child **ret) {
        const size_t n = lane_count(all, lane, false);
        Child *idle = NULL, *oldest = NULL;

        for (size_t i = 0; i < all->n_children; i++)
                if (all->children[i]->lane == lane && !all->children[i]->ticket &&
                    (!idle || all->children[i]->process.ready))
                        idle = all->children[i];
        *ret = idle;
        if (idle)
                return 0;
        if (!worker_lanes[lane].own && lane_count(all, lane, true) > 0)
                return -EAGAIN;
        if (lane != WORKER_LANE_GUARD && lost_count_stuck(&all->lost, NULL) >= WORKER_STUCK_MAX)
                return n > 0 ? -EAGAIN : -ECHILD;
        for (size_t i = 0; i < all->n_children; i++)
                if (all->children[i]->lane == lane &&
                    (!oldest || all->children[i]->sent_usec < oldest->sent_usec))
                        oldest = all->children[i];
        if (n >= worker_lanes[lane].n_max) {
                if (!worker_lanes[lane].shares ||
                    clock_monotonic_usec() < oldest->sent_usec + WORKER_SHARE_USEC)
                        return -EAGAIN;
                child_give_up(oldest);
        }
        return child_new(all, lane, ret) >= 0 ? 0 : n > 0 ? -EAGAIN : -ECHILD;
}

/* The child at a job for the same process: a second job would wait for what the first one waits
 * for. Jobs of the host all name the daemon as their process, and one does not delay another. */
static Child *child_at_process(const Workers *all, const WorkerRequest *request) {
        if (worker_jobs[request->job].of_host)
                return NULL;
        for (size_t i = 0; i < all->n_children; i++) {
                Child *child = all->children[i];

                if (child->ticket &&
                    (child->lane == WORKER_LANE_FACTS || worker_lanes[child->lane].own) &&
                    process_id_equal(&child->ticket->request.process, &request->process))
                        return child;
        }
        return NULL;
}

/* --- who is next --- */

static bool child_is_joining(const Child *child) {
        return child->ticket && child->ticket->request.joins;
}

static bool ticket_may_run(const Workers *all, const Ticket *t) {
        unsigned n_late = 0; /* facts of its user */

        if (worker_request_is_urgent(&t->request)) /* a fact that is late takes no try from it */
                return true;
        if (t->request.job == WORKER_DRAW ||
            worker_jobs[t->request.job].lane == WORKER_LANE_MOVES ||
            worker_jobs[t->request.job].lane == WORKER_LANE_ONCE)
                return true;
        if (child_at_process(all, &t->request))
                return false;
        /* The kernel puts one process at a time into a group: the others would only wait for it. */
        for (size_t i = 0; i < all->n_children && t->is_posted; i++)
                if (child_is_joining(all->children[i]))
                        return false;
        if (worker_lanes[worker_request_lane(&t->request)].own)
                return true;
        for (size_t i = 0; i < all->n_children; i++)
                n_late += all->children[i]->lane == WORKER_LANE_FACTS &&
                          child_is_late(all->children[i]) &&
                          all->children[i]->ticket->uid == t->uid;
        return n_late < WORKER_LATE_USER_MAX;
}

/* The users in turn by their numbers, the daemon itself before them; of one user the oldest. */
static Ticket *lane_find_next(const Workers *all, WorkerLane lane) {
        uid_t best_key = NO_USER;
        Ticket *best = NULL;

        for (size_t i = 0; i < all->n_tickets; i++) {
                Ticket *t = all->tickets[i];
                const uid_t key = t->uid == NO_USER ? 0 : t->uid - all->last_uid - 1;

                if (!t->process || t->is_answered || worker_request_lane(&t->request) != lane ||
                    (best && key >= best_key) || !ticket_may_run(all, t))
                        continue;
                best = t;
                best_key = key;
        }
        return best;
}

static void lane_run(Workers *all, WorkerLane lane) {
        Ticket *t;

        while ((t = lane_find_next(all, lane))) {
                Child *child;
                int r = request_is_hung(all, &t->request) ? -EHOSTDOWN
                                                          : lane_find_child(all, lane, &child);

                if (r == -EAGAIN)
                        return;
                if (r < 0) {
                        ticket_answer(all, t, r, NULL);
                        continue;
                }
                child->ticket = t;
                child->sent_usec = clock_monotonic_usec();
                child_set_deadline(child, child->sent_usec);
                child->n_extended = 0;
                if (worker_child_send(&child->process, &t->request, t->process) < 0 ||
                    child_arm(child, child->sent_usec) < 0) {
                        child->ticket = NULL;
                        ticket_answer(all, t, -ECHILD, NULL);
                        child_free(child);
                        continue;
                }
                t->child = child;
                t->process = NULL;
                proc_close(&t->own);
                t->own = PROC_HANDLE_NONE;
                if (t->uid != NO_USER)
                        all->last_uid = t->uid;
        }
}

/* --- asking --- */

/* The child whose answer the ticket waits for, itself or to be run: the one that was last asked. */
static Child *ticket_waits_for(const Workers *all, const Ticket *t) {
        Child *last = child_at_process(all, &t->request);

        if (t->child)
                return t->child;
        if (last)
                return child_is_late(last) ? NULL : last;
        for (size_t i = 0; i < all->n_children; i++)
                if (all->children[i]->ticket && !child_is_late(all->children[i]) &&
                    all->children[i]->lane == worker_request_lane(&t->request) &&
                    (!last || all->children[i]->sent_usec > last->sent_usec))
                        last = all->children[i];
        return last;
}

/* Waits for what is as good as there. */
static void ticket_await(Workers *all, const Ticket *t, uint64_t patience_usec,
                         uint64_t *left_usec) {
        const uint64_t begun = clock_monotonic_usec();
        uint64_t waited;

        while (!t->is_answered) {
                Child *child = ticket_waits_for(all, t);
                uint64_t until = begun + patience_usec;
                int r;

                if (!child)
                        break;
                if (child != t->child && child->sent_usec + WORKER_LATE_USEC < until)
                        until = child->sent_usec + WORKER_LATE_USEC;
                r = worker_child_wait(&child->process, until);
                if (r == -ETIME && child != t->child) /* it is late: another one may run this */
                        lane_run(all, worker_request_lane(&t->request));
                if (r < 0 && (r != -ETIME || clock_monotonic_usec() >= begun + patience_usec))
                        break;
                if (r >= 0)
                        child_receive(child);
        }
        waited = clock_monotonic_usec() - begun;
        *left_usec -= waited < *left_usec ? waited : *left_usec;
}

static void ticket_await_own(Workers *all, const Ticket *t) {
        uint64_t left_usec = WORKER_OWN_USEC;

        ticket_await(all, t, left_usec, &left_usec);
}

static void request_set_process(WorkerRequest *request, const ProcHandle *process) {
        request->process = (ProcessId){ process->pid, process->start_ticks };
}

/* Is a child at a job that waits for the kernel's lock of all control groups? The others would wait
 * for the same, and each that is killed there stays. Joins have that lock in turn, some ms each. */
static bool groups_are_awaited(const Workers *all) {
        const uint64_t now = clock_monotonic_usec();

        for (size_t i = 0; i < all->n_children; i++) {
                const Child *c = all->children[i];

                if (c->ticket && worker_request_wait(&c->ticket->request) == WORKER_WAIT_GROUPS &&
                    (!child_is_joining(c) || now >= c->sent_usec + WORKER_JOIN_USEC))
                        return true;
        }
        for (size_t i = 0; i < all->lost.n_children; i++)
                if (all->lost.children[i].stuck && all->lost.children[i].wait == WORKER_WAIT_GROUPS)
                        return true;
        return false;
}

int workers_ask(Workers *all, WorkerRequest *request, const ProcHandle *process, uid_t uid,
                bool keep, WorkerReply *reply) {
        const WorkerLane lane = worker_request_lane(request);
        Ticket *t;
        int r;

        request_set_process(request, process);
        t = ticket_find(all, request);
        if (t && t->is_answered)
                return ticket_fetch(all, t, keep, reply);
        if (t) {
                t->has_caller = true;
                return -EAGAIN;
        }
        if (request_is_hung(all, request))
                return -EHOSTDOWN;
        if (lost_count_stuck(&all->lost, &uid) >= WORKER_STUCK_USER_MAX)
                return -EBUSY;
        r = ticket_new(all, request, process, uid, &t);
        if (r < 0)
                return r;
        lane_run(all, lane);
        if (uid == NO_USER)
                ticket_await_own(all, t);
        else if (worker_lanes[lane].queues)
                ticket_await(all, t,
                             all->left_usec < all->patience_usec ? all->left_usec
                                                                 : all->patience_usec,
                             &all->left_usec);
        if (t->is_answered)
                return ticket_fetch(all, t, keep, reply);
        if (!t->child && !worker_lanes[lane].queues) {
                ticket_free(all, t);
                return -EAGAIN;
        }
        if (!t->child) { /* it waits on, and the caller may close its handle */
                t->own = *process;
                t->own.exit = NULL;
                t->own.dir_fd = fcntl(process->dir_fd, F_DUPFD_CLOEXEC, 0);
                t->own.pidfd =
                        process->pidfd < 0 ? -EBADF : fcntl(process->pidfd, F_DUPFD_CLOEXEC, 0);
                t->process = &t->own;
                if (t->own.dir_fd < 0 || (process->pidfd >= 0 && t->own.pidfd < 0)) {
                        ticket_free(all, t); /* closes both */
                        return -EBUSY;
                }
        }
        t->has_caller = true;
        return -EAGAIN;
}

void workers_forget_answer(Workers *all, WorkerRequest *request, const ProcHandle *process) {
        Ticket *t;

        request_set_process(request, process);
        t = ticket_find(all, request);
        if (t && t->is_answered)
                ticket_free(all, t);
}

/* Another child may take over the widening of a binding from one that has not answered for so long:
 * the first may be stuck itself, and not in the kernel. */
#define WIDEN_AGAIN_USEC (UINT64_C(1000) * 1000)
enum { WIDEN_MAX = 2 };

static bool widening_is_under_way(const Workers *all, const WorkerRequest *request) {
        unsigned n = 0;

        for (size_t i = 0; i < all->n_children; i++) {
                const Child *child = all->children[i];

                if (child->ticket && child->ticket->request.job == WORKER_MEMS &&
                    process_id_equal(&child->ticket->request.process, &request->process) &&
                    (++n == WIDEN_MAX ||
                     clock_monotonic_usec() < child->sent_usec + WIDEN_AGAIN_USEC))
                        return true;
        }
        return false;
}

/* 0, or why the write is not begun. */
static int write_is_refused(const Workers *all, const WorkerRequest *request) {
        const bool urgent = worker_request_is_urgent(request);
        const uid_t own = NO_USER;

        if (urgent ? widening_is_under_way(all, request)
                   : worker_request_wait(request) == WORKER_WAIT_GROUPS && groups_are_awaited(all))
                return -ETIME;
        if (request_is_hung(all, request))
                return -EHOSTDOWN;
        if (!urgent &&
            lost_count_stuck(&all->lost, &own) >= WORKER_STUCK_MAX - WORKER_STUCK_USER_MAX)
                return -EBUSY;
        return 0;
}

int workers_write(Workers *all, WorkerRequest *request, const ProcHandle *process) {
        Ticket *t;
        int r;

        request_set_process(request, process);
        (void)ticket_find(all, request); /* frees what is over */
        r = write_is_refused(all, request);
        if (r >= 0)
                r = ticket_new(all, request, process, NO_USER, &t);
        if (r < 0)
                return r;
        lane_run(all, worker_request_lane(request));
        ticket_await_own(all, t);
        if (t->is_answered)
                return ticket_fetch(all, t, false, &all->reply);
        t->has_caller = true;
        if (t->child)
                return -ETIME;
        r = child_at_process(all, request) ? -ETIME : -EBUSY;
        ticket_free(all, t);
        return r;
}

int workers_post(Workers *all, WorkerRequest *request, const ProcHandle *process) {
        Ticket *t;
        int r;

        request_set_process(request, process);
        if (ticket_find(all, request))
                return 0;
        r = write_is_refused(all, request);
        if (r >= 0)
                r = ticket_new(all, request, process, NO_USER, &t);
        if (r < 0)
                return r;
        t->is_posted = true;
        lane_run(all, worker_request_lane(request));
        r = t->is_answered ? t->result : t->child ? 0 : -EAGAIN;
        if (r < 0)
                ticket_free(all, t);
        else
                t->has_caller = true;
        return r;
}

int workers_take_answer(Workers *all, WorkerJob job, const ProcessId *process, WorkerReply *reply) {
        for (size_t i = 0; i < all->n_tickets; i++) {
                Ticket *t = all->tickets[i];

                if (t->is_answered && t->is_posted && t->request.job == job &&
                    process_id_equal(&t->request.process, process))
                        return ticket_fetch(all, t, false, reply);
        }
        return -ENODATA;
}

/* --- for the modules of the daemon --- */

int workers_new(const char *program, sd_event *event, WorkerHungHandler on_hung, void *userdata,
                Workers **ret) {
        Workers *all = calloc(1, sizeof(*all));
        int r;

        if (!all)
                return -ENOMEM;
        all->program = program;
        all->event = all->lost.event = event;
        all->on_hung = on_hung;
        all->userdata = userdata;
        all->divisor = 1;
        workers_end_passes(all);
        r = ARRAY_RESERVE(all->tickets, all->tickets_allocated, 2 * WORKER_TICKETS_MAX);
        if (r >= 0)
                r = sd_event_add_defer(event, &all->news, on_news, all);
        if (r >= 0)
                r = sd_event_source_set_enabled(all->news, SD_EVENT_OFF);
        if (r < 0) {
                workers_free(all);
                return r;
        }
        *ret = all;
        return 0;
}

void workers_hold(Workers *all, const int *fd) {
        all->held_fd = fd;
}

Workers *workers_free(Workers *all) {
        if (!all)
                return NULL;
        while (all->n_children > 0)
                child_free(all->children[all->n_children - 1]);
        while (all->n_tickets > 0)
                ticket_free(all, all->tickets[all->n_tickets - 1]);
        lost_done(&all->lost);
        event_source_drop(all->news);
        free(all->children);
        free(all->tickets);
        free(all->spare);
        free(all);
        return NULL;
}

void workers_on_answer(Workers *all, WorkerJob job, WorkerAnswerHandler handler, void *userdata) {
        if (!all)
                return;
        all->on_answer[job].handler = handler;
        all->on_answer[job].userdata = userdata;
}

void workers_hurry(Workers *all, unsigned divisor) {
        all->divisor = divisor;
}

void workers_begin_pass(Workers *all, bool has_started) {
        if (!all)
                return;
        if (has_started)
                all->patience_usec = all->left_usec = WORKER_PASS_USEC;
}

void workers_end_passes(Workers *all) {
        if (!all)
                return;
        all->patience_usec = WORKER_CALL_USEC;
        all->left_usec = WORKER_START_USEC;
}

bool workers_are_busy(const Workers *all, WorkerJob job) {
        for (size_t i = 0; all && i < all->n_children; i++)
                if (all->children[i]->ticket && all->children[i]->lane == worker_jobs[job].lane)
                        return true;
        return false;
}

bool workers_write_group_of(const Workers *all, const ProcessId *process) {
        if (!all)
                return false;
        for (size_t i = 0; i < all->n_children; i++)
                if (all->children[i]->ticket &&
                    all->children[i]->ticket->request.job == WORKER_GROUP &&
                    process_id_equal(&all->children[i]->ticket->request.process, process))
                        return true;
        for (size_t i = 0; i < all->lost.n_children; i++)
                if (all->lost.children[i].stuck && all->lost.children[i].job == WORKER_GROUP &&
                    process_id_equal(&all->lost.children[i].process, process))
                        return true;
        return false;
}

void workers_forget(Workers *all, pid_t pid) {
        if (!all)
                return;
        lost_forget(&all->lost, pid);
        for (size_t i = 0; i < all->n_tickets; i++)
                if (all->tickets[i]->request.process.pid == pid &&
                    !worker_jobs[all->tickets[i]->request.job].acts)
                        all->tickets[i]->is_outdated = !all->tickets[i]->process;
}

uint64_t workers_count_timeouts(const Workers *all, WorkerJob job) {
        return all ? all->n_timeouts[job] : 0;
}

void workers_prepare_guard(Workers *all) {
        size_t n = 0;
        Child *child;

        if (all && !all->spare)
                all->spare = calloc(1, sizeof(*all->spare));
        for (size_t i = 0; all && i < all->n_children; i++)
                n += all->children[i]->lane == WORKER_LANE_GUARD && !all->children[i]->ticket;
        for (; all && n < 2 &&
               lane_count(all, WORKER_LANE_GUARD, false) < worker_lanes[WORKER_LANE_GUARD].n_max;
             n++)
                if (child_new(all, WORKER_LANE_GUARD, &child) < 0)
                        return;
}
