/* The child processes: their start, their messages, and a list of those that were given up and are
 * not reaped yet. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

/* Longer than the longest answer. */
enum { SEND_BUFFER_BYTES = 512 << 10 };

extern char **environ;

int worker_child_start(const char *program, int input, WorkerChild *ret) {
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
        if (r == 0 && input >= 0)
                r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
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

/* --- what is given up --- */

/* A child that was let go ends at once, unless it hangs. */
#define REAP_USEC (UINT64_C(100) * 1000)

LostProcess *lost_find(const Lost *lost, const ProcessId *process, WorkerWait wait) {
        for (size_t i = 0; i < lost->n_processes; i++)
                if (lost->processes[i].wait == wait &&
                    process_id_equal(&lost->processes[i].id, process))
                        return (LostProcess *)&lost->processes[i];
        return NULL;
}

LostProcess *lost_remember(Lost *lost, const ProcessId *process, WorkerWait wait) {
        LostProcess *new = lost_find(lost, process, wait);

        if (new) {
                new->excused = false;
                new->n++;
                return new;
        }
        new = &lost->processes[lost->next];
        *new = (LostProcess){ .id = *process, .wait = wait, .n = 1 };
        lost->next = (lost->next + 1) % WORKER_HUNG_MAX;
        lost->n_processes += lost->n_processes < WORKER_HUNG_MAX;
        return new;
}

void lost_forget(Lost *lost, pid_t pid) {
        for (size_t i = 0; i < lost->n_processes; i++)
                if (lost->processes[i].id.pid == pid)
                        lost->processes[i].id = (ProcessId){ 0 };
}

/* By pid, which is not reused before the child is reaped: pidfds need Linux 5.3. */
static bool child_reap(pid_t pid) {
        return waitpid(pid, NULL, WNOHANG) != 0;
}

static void lost_reap(Lost *lost) {
        for (size_t i = lost->n_children; i > 0; i--) {
                const LostChild *child = &lost->children[i - 1];
                LostProcess *process = NULL;

                if (!child_reap(child->pid))
                        continue;
                /* A child that was killed in the middle of a job has ended; see WORKER_EXCUSE_USEC.
                 */
                if (child->stuck &&
                    clock_monotonic_usec() >= child->since_usec + WORKER_EXCUSE_USEC)
                        process = lost_find(lost, &child->process, child->wait);
                if (process)
                        process->excused = process->n <= WORKER_EXCUSED_MAX;
                ARRAY_REMOVE(lost->children, lost->n_children, i - 1);
        }
}

/* One that hangs in the kernel may never end, so the timer tries again. */
static int on_reap(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Lost *lost = userdata;

        lost_reap(lost);
        if (lost->n_children == 0) {
                lost->timer = event_source_drop(lost->timer);
                return 0;
        }
        return event_source_arm_after(source, 10 * REAP_USEC);
}

/* Where there is no memory for it, it stays a zombie until the daemon ends. */
void lost_add_child(Lost *lost, const LostChild *child) {
        if (child_reap(child->pid) ||
            ARRAY_INSERT(lost->children, lost->n_children, lost->allocated, 0, child) < 0)
                return;
        if (!lost->timer)
                (void)event_source_add_after(lost->event, &lost->timer, REAP_USEC, on_reap, lost);
}

size_t lost_count_stuck(const Lost *lost, const uid_t *uid) {
        size_t n = 0;

        for (size_t i = 0; i < lost->n_children; i++)
                n += lost->children[i].stuck && (!uid || lost->children[i].uid == *uid);
        return n;
}

void lost_done(Lost *lost) {
        lost_reap(lost);
        lost->timer = event_source_drop(lost->timer);
        free(lost->children);
        lost->children = NULL;
        lost->n_children = lost->allocated = 0;
}
