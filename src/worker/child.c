/* Starts a child process, and talks to it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/child.h"

/* Longer than the longest answer. */
enum { SEND_BUFFER_BYTES = 512 << 10 };

extern char **environ;

int worker_child_start(const char *program, WorkerChild *ret) {
        char *const argv[] = { (char *)"tidbnumad", (char *)"--worker", NULL };
        _cleanup_close_ int here = -EBADF, there = -EBADF;
        const int size = SEND_BUFFER_BYTES;
        posix_spawn_file_actions_t actions;
        int ends[2], r;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        here = ends[0];
        there = ends[1];
        (void)setsockopt(there, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        if (there == WORKER_FD) { /* dup2(2) onto the same number would keep close-on-exec */
                there = fcntl(there, F_DUPFD_CLOEXEC, WORKER_FD + 1);
                (void)close(WORKER_FD);
                if (there < 0)
                        return -errno;
        }
        r = posix_spawn_file_actions_init(&actions);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, there, WORKER_FD);
        if (r == 0)
                r = posix_spawn(&pid, program, &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        if (r != 0)
                return -r;
        *ret = (WorkerChild){ .fd = TAKE_FD(here), .pid = pid };
        return 0;
}

bool worker_child_is_running(const WorkerChild *child) {
        char text[1024];
        ProcStat stat;

        return path_read(AT_FDCWD, text, sizeof(text), "/proc/%d/stat", child->pid) >= 0 &&
               proc_stat_parse(text, &stat) >= 0 && stat.state == 'R';
}

int worker_child_send(WorkerChild *child, WorkerRequest *request, const ProcHandle *process) {
        const int fds[] = { process->dir_fd, process->pidfd };
        const size_t size = process->pidfd < 0 ? sizeof(fds[0]) : sizeof(fds);
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = { 0 };
        struct iovec iov = { .iov_base = request, .iov_len = sizeof(*request) };
        struct msghdr message = { .msg_iov = &iov,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = CMSG_SPACE(size) };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), fds, size);
        request->serial = ++child->serial;
        return sendmsg(child->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int worker_child_receive(WorkerChild *child, WorkerReply *reply) {
        for (;;) {
                ssize_t n = recv(child->fd, reply, sizeof(*reply), MSG_DONTWAIT);

                if (n < 0)
                        return -errno;
                if ((size_t)n < offsetof(WorkerReply, moved))
                        return -ECHILD;
                if (reply->job == WORKER_HELLO)
                        child->ready = true;
                else if (reply->serial == child->serial)
                        return 0;
        }
}

int worker_child_wait(const WorkerChild *child, uint64_t until_usec) {
        struct pollfd p = { .fd = child->fd, .events = POLLIN };
        const uint64_t now = clock_monotonic_usec();
        int n = now < until_usec ? poll(&p, 1, (int)((until_usec - now + 999) / 1000)) : 0;

        return n < 0 && errno != EINTR ? -errno : n == 0 ? -ETIME : 0;
}
