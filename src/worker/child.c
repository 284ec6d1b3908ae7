/* Starts, talks to and ends the child process of a worker. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/child.h"

/* --- jobs --- */

/* What is sent back beside the result. */
typedef enum JobReply {
        REPLY_NOTHING,
        REPLY_TEXT,
        REPLY_PORTS,
        REPLY_HUGE,
        REPLY_DRAW,
        REPLY_MOVED,
} JobReply;

/* Most jobs take some ms, and a step of the mover moves one huge page. */
#define JOB_USEC (UINT64_C(10) * 1000 * 1000)

/* A write of memory nodes waits for the lock of each memory map: a process for which the kernel
 * reclaims memory can hold its lock for half a minute, and a second write would only wait for the
 * first one. */
#define GROUP_USEC (UINT64_C(60) * 1000 * 1000)

/* Moves a node's memory, up to hundreds of GiB; no other job waits for this worker. */
#define ONCE_USEC (UINT64_C(1800) * 1000 * 1000)

typedef struct Job {
        const char *name;
        WorkerWait wait;
        bool acts;
        uint64_t deadline_usec;
        JobReply reply;
} Job;

static const Job jobs[N_WORKER_JOBS] = {
        [WORKER_HELLO] = { "start", WORKER_WAIT_MEMORY, false, JOB_USEC, REPLY_NOTHING },
        [WORKER_ARGS] = { "args", WORKER_WAIT_MEMORY, false, JOB_USEC, REPLY_TEXT },
        [WORKER_VFORK] = { "vfork", WORKER_WAIT_MEMORY, false, JOB_USEC, REPLY_NOTHING },
        [WORKER_EXE] = { "exe", WORKER_WAIT_FILES, false, JOB_USEC, REPLY_NOTHING },
        [WORKER_PORTS] = { "ports", WORKER_WAIT_MEMORY, false, JOB_USEC, REPLY_PORTS },
        [WORKER_DATA_DIR] = { "data-dir", WORKER_WAIT_MEMORY, false, JOB_USEC, REPLY_TEXT },
        [WORKER_STORAGE] = { "storage", WORKER_WAIT_FILES, false, JOB_USEC, REPLY_TEXT },
        [WORKER_MEMORY_POLICY] = { "memory-policy", WORKER_WAIT_MEMORY, false, JOB_USEC,
                                   REPLY_TEXT },
        [WORKER_USER] = { "user", WORKER_WAIT_NAMES, false, JOB_USEC, REPLY_TEXT },
        [WORKER_SCRIPT] = { "script", WORKER_WAIT_FILES, false, JOB_USEC, REPLY_TEXT },
        [WORKER_HUGE] = { "huge-pages", WORKER_WAIT_MEMORY, false, JOB_USEC, REPLY_HUGE },
        [WORKER_PROBE] = { "probe", WORKER_WAIT_MEMORY, false, JOB_USEC, REPLY_NOTHING },
        [WORKER_DRAW] = { "sample", WORKER_WAIT_MEMORY, false, JOB_USEC, REPLY_DRAW },
        [WORKER_MOVE] = { "move", WORKER_WAIT_MEMORY, true, JOB_USEC, REPLY_MOVED },
        [WORKER_SWEEP] = { "sweep", WORKER_WAIT_MEMORY, true, JOB_USEC, REPLY_NOTHING },
        [WORKER_ONCE] = { "migrate", WORKER_WAIT_MEMORY, true, ONCE_USEC, REPLY_NOTHING },
        [WORKER_MEMS] = { "mems", WORKER_WAIT_MEMORY, true, GROUP_USEC, REPLY_NOTHING },
        [WORKER_GROUP] = { "cgroup", WORKER_WAIT_MEMORY, true, GROUP_USEC, REPLY_NOTHING },
        [WORKER_MAKE_GROUP] = { "make-group", WORKER_WAIT_GROUPS, true, GROUP_USEC, REPLY_NOTHING },
        [WORKER_REMOVE_GROUPS] = { "remove-groups", WORKER_WAIT_GROUPS, true, GROUP_USEC,
                                   REPLY_NOTHING },
};

const char *worker_job_to_string(WorkerJob job) {
        return jobs[job].name;
}

WorkerWait worker_job_wait(WorkerJob job) {
        return jobs[job].wait;
}

bool worker_job_acts(WorkerJob job) {
        return jobs[job].acts;
}

uint64_t worker_job_deadline_usec(WorkerJob job) {
        return jobs[job].deadline_usec;
}

size_t worker_reply_size(const WorkerReply *reply) {
        const size_t head = offsetof(WorkerReply, moved);

        switch (jobs[reply->job].reply) {
        case REPLY_NOTHING:
                break;
        case REPLY_TEXT:
                return head + strlen(reply->text) + 1;
        case REPLY_PORTS:
                return head + sizeof(reply->ports);
        case REPLY_HUGE:
                return head + sizeof(reply->huge);
        case REPLY_DRAW:
                return head + sizeof(reply->draw);
        case REPLY_MOVED:
                return head + sizeof(reply->moved);
        }
        return head;
}

/* --- processes for which a job was abandoned --- */

static bool hung_is_it(const WorkerHung *hung, const ProcessId *process, WorkerWait wait) {
        return hung->wait == wait && process_id_equal(&hung->process, process);
}

WorkerHung *hung_find(Workers *all, const ProcessId *process, WorkerWait wait) {
        for (size_t i = 0; i < all->n_hung; i++)
                if (hung_is_it(&all->hung[i], process, wait))
                        return &all->hung[i];
        return NULL;
}

WorkerHung *hung_remember(Workers *all, const ProcessId *process, WorkerWait wait) {
        WorkerHung *new = hung_find(all, process, wait);

        if (new) {
                new->excused = false;
                new->n++;
                return new;
        }
        new = &all->hung[all->next_hung];
        *new = (WorkerHung){ .process = *process, .wait = wait, .n = 1 };
        all->next_hung = (all->next_hung + 1) % WORKER_HUNG_MAX;
        all->n_hung += all->n_hung < WORKER_HUNG_MAX;
        return new;
}

/* A worker that was killed in the middle of a job has ended; see WORKER_EXCUSE_USEC. */
static void hung_excuse(Workers *all, const WorkerLeaving *leaving) {
        WorkerHung *hung;

        if (!leaving->stuck || clock_monotonic_usec() < leaving->since_usec + WORKER_EXCUSE_USEC)
                return;
        hung = hung_find(all, &leaving->process, worker_job_wait(leaving->job));
        if (hung)
                hung->excused = hung->n <= WORKER_EXCUSED_MAX;
}

/* --- children --- */

/* Longer than the longest answer. */
enum { SEND_BUFFER_BYTES = 512 << 10 };

/* A worker that was let go ends at once, unless it hangs. */
#define REAP_USEC (UINT64_C(100) * 1000)

extern char **environ;

/* dup2(2) onto the same number would keep close-on-exec. */
static int spawn(const char *program, int socket, pid_t *ret) {
        char *const argv[] = { (char *)"tidbnumad", (char *)"--worker", NULL };
        posix_spawn_file_actions_t actions;
        int moved = socket, r;

        if (socket == WORKER_FD)
                moved = fcntl(socket, F_DUPFD_CLOEXEC, WORKER_FD + 1);
        if (moved < 0)
                return -errno;
        r = posix_spawn_file_actions_init(&actions);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, moved, WORKER_FD);
        if (r == 0)
                r = posix_spawn(ret, program, &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        if (moved != socket)
                (void)close(moved);
        return -r;
}

static int start(WorkerChild *child) {
        const int size = SEND_BUFFER_BYTES;
        _cleanup_close_ int other = -EBADF;
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        child->fd = ends[0];
        other = ends[1];
        (void)setsockopt(other, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        return spawn(child->all->program, other, &child->pid);
}

int worker_child_new(Workers *all, WorkerChild **ret) {
        WorkerChild *child = calloc(1, sizeof(*child));
        int r;

        if (!child)
                return -ENOMEM;
        *child = (WorkerChild){ .all = all, .fd = -EBADF };
        r = start(child);
        if (r < 0) {
                (void)worker_child_free(child);
                return r;
        }
        *ret = child;
        return 0;
}

/* --- their end ---
 *
 * By pid, which is not reused before the child is reaped: pidfds need Linux 5.3. A worker that
 * hangs in the kernel may never end, so a timer tries again. */

static bool reap(pid_t pid) {
        return waitpid(pid, NULL, WNOHANG) != 0;
}

static int on_reap(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Workers *all = userdata;

        worker_children_reap(all);
        if (all->n_leaving == 0) {
                all->reap_timer = event_source_drop(all->reap_timer);
                return 0;
        }
        return event_source_arm_after(source, 10 * REAP_USEC);
}

void worker_children_reap(Workers *all) {
        for (size_t i = all->n_leaving; i > 0; i--)
                if (reap(all->leaving[i - 1].pid)) {
                        hung_excuse(all, &all->leaving[i - 1]);
                        ARRAY_REMOVE(all->leaving, all->n_leaving, i - 1);
                }
}

/* Where there is no memory for it, it stays a zombie until the daemon ends. */
static void reap_later(Workers *all, const WorkerChild *child) {
        const WorkerLeaving leaving = { .pid = child->pid,
                                        .stuck = child->busy,
                                        .uid = child->uid,
                                        .job = child->job,
                                        .process = child->process,
                                        .since_usec = clock_monotonic_usec() };

        if (reap(child->pid) ||
            ARRAY_INSERT(all->leaving, all->n_leaving, all->leaving_allocated, 0, &leaving) < 0)
                return;
        if (all->event && !all->reap_timer)
                (void)event_source_add_after(all->event, &all->reap_timer, REAP_USEC, on_reap, all);
}

bool worker_child_is_running(const WorkerChild *child) {
        char text[1024];
        ProcStat stat;

        return path_read(AT_FDCWD, text, sizeof(text), "/proc/%d/stat", child->pid) >= 0 &&
               proc_stat_parse(text, &stat) >= 0 && stat.state == 'R';
}

void worker_child_kill(const WorkerChild *child) {
        (void)kill(child->pid, SIGKILL);
}

WorkerChild *worker_child_free(WorkerChild *child) {
        if (!child)
                return NULL;
        event_source_drop(child->io);
        event_source_drop(child->timer);
        closep(&child->fd);
        if (child->pid > 0)
                reap_later(child->all, child);
        free(child);
        return NULL;
}

static int send_request(int fd, const WorkerRequest *request, const ProcHandle *process) {
        const int fds[] = { process->dir_fd, process->pidfd };
        const size_t size = process->pidfd < 0 ? sizeof(fds[0]) : sizeof(fds);
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = { 0 };
        struct iovec iov = { .iov_base = (void *)request, .iov_len = sizeof(*request) };
        struct msghdr message = { .msg_iov = &iov,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = CMSG_SPACE(size) };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), fds, size);
        return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int worker_child_send(WorkerChild *child, WorkerRequest *request, const ProcHandle *process,
                      uid_t uid) {
        int r;

        request->serial = ++child->serial;
        request->pid = process->pid;
        request->start_ticks = process->start_ticks;
        r = send_request(child->fd, request, process);
        if (r < 0)
                return r;
        child->busy = true;
        child->job = request->job;
        child->request = *request;
        child->process = (ProcessId){ .pid = process->pid, .start_ticks = process->start_ticks };
        child->uid = uid;
        child->asked_usec = clock_monotonic_usec();
        child->deadline_usec = child->asked_usec + worker_job_deadline_usec(request->job);
        child->n_extended = 0;
        child->outdated = false;
        return 0;
}

int worker_child_receive(WorkerChild *child, WorkerReply *reply) {
        ssize_t n;

        for (;;) {
                n = recv(child->fd, reply, sizeof(*reply), MSG_DONTWAIT);
                if (n < 0)
                        return -errno;
                if ((size_t)n < offsetof(WorkerReply, moved))
                        return -ECHILD;
                if (reply->job == WORKER_HELLO)
                        child->ready = true;
                else if (child->busy && reply->serial == child->serial)
                        break;
        }
        child->busy = false;
        return 0;
}

int worker_child_wait(const WorkerChild *child, uint64_t until_usec) {
        struct pollfd p = { .fd = child->fd, .events = POLLIN };
        const uint64_t now = clock_monotonic_usec();
        int n = now < until_usec ? poll(&p, 1, (int)((until_usec - now + 999) / 1000)) : 0;

        return n < 0 && errno != EINTR ? -errno : n == 0 ? -ETIME : 0;
}
