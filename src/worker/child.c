/* Starts, talks to and ends the child process of a worker. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/child.h"

/* Linux 5.4; the C library has it since 2.36. */
enum { WAIT_BY_PIDFD = 3 };

/* Longer than the longest answer. */
enum { SEND_BUFFER_BYTES = 512 << 10 };

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
        int ends[2], r;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        child->fd = ends[0];
        other = ends[1];
        (void)setsockopt(other, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        r = spawn(child->all->program, other, &pid);
        if (r < 0)
                return r;
        /* The child was not waited for yet, so its pid cannot be reused. */
        child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        return child->pidfd < 0 ? -errno : 0;
}

int worker_child_new(Workers *all, WorkerChild **ret) {
        WorkerChild *child = calloc(1, sizeof(*child));
        int r;

        if (!child)
                return -ENOMEM;
        *child = (WorkerChild){ .all = all, .fd = -EBADF, .pidfd = -EBADF };
        r = start(child);
        if (r < 0) {
                (void)worker_child_free(child);
                return r;
        }
        *ret = child;
        return 0;
}

static bool reap(int pidfd) {
        siginfo_t info = { 0 };

        return waitid((idtype_t)WAIT_BY_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) == 0 &&
               info.si_pid != 0;
}

static int on_end(sd_event_source *source, int pidfd, uint32_t revents, void *userdata) {
        (void)revents;
        (void)userdata;
        (void)reap(pidfd);
        (void)sd_event_source_set_floating(source, false); /* the loop frees the source */
        return 0;
}

/* Reaps the child whenever it ends. The loop owns the source, and the source the descriptor. */
static void reap_later(sd_event *event, int pidfd) {
        sd_event_source *source;

        if (reap(pidfd) || !event ||
            sd_event_add_io(event, &source, pidfd, EPOLLIN, on_end, NULL) < 0) {
                (void)close(pidfd);
                return;
        }
        (void)sd_event_source_set_io_fd_own(source, true);
        (void)sd_event_source_set_floating(source, true);
        (void)sd_event_source_unref(source);
}

void worker_child_kill(const WorkerChild *child) {
        (void)syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0U);
}

WorkerChild *worker_child_free(WorkerChild *child) {
        if (!child)
                return NULL;
        sd_event_source_disable_unref(child->io);
        sd_event_source_disable_unref(child->timer);
        closep(&child->fd);
        if (child->pidfd >= 0)
                reap_later(child->all->event, child->pidfd);
        free(child);
        return NULL;
}

static int send_request(int fd, const WorkerRequest *request, const ProcHandle *process) {
        const int fds[2] = { process->dir_fd, process->pidfd };
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = { 0 };
        struct iovec iov = { .iov_base = (void *)request, .iov_len = sizeof(*request) };
        struct msghdr message = { .msg_iov = &iov,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(fds));
        memcpy(CMSG_DATA(header), fds, sizeof(fds));
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
        child->process = (ProcessId){ .pid = process->pid, .start_ticks = process->start_ticks };
        child->uid = uid;
        child->deadline_usec = clock_monotonic_usec() + worker_job_deadline_usec(request->job);
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
