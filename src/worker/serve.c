#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/self.h"
#include "tidbnumad/worker/serve.h"

/* For reading processes and their folders, and for moving their pages; not for sockets or counters.
 */
#define CAPABILITIES                                                                               \
        (UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_SYS_NICE |                             \
         UINT64_C(1) << CAP_DAC_READ_SEARCH)

enum { FDS_MAX = 2 };

/* What came with it: the directory, and a pidfd where the kernel has these. */
static int take_fds(const struct cmsghdr *header, int fds[FDS_MAX]) {
        size_t size = header ? header->cmsg_len - CMSG_LEN(0) : 0;

        if (size != sizeof(int) && size != FDS_MAX * sizeof(int))
                return -EBADMSG;
        memcpy(fds, CMSG_DATA(header), size);
        return 0;
}

/* Receives a message and the descriptors that come with it. 1; 0: the other end is closed. */
static int receive(int fd, WorkerRequest *request, ProcHandle *ret) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct iovec iov = { .iov_base = request, .iov_len = sizeof(*request) };
        struct msghdr message = { .msg_iov = &iov,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        int fds[FDS_MAX] = { -EBADF, -EBADF };
        ssize_t n;

        do
                n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
                return n < 0 ? -errno : 0;
        if (take_fds(CMSG_FIRSTHDR(&message), fds) < 0 || (size_t)n != sizeof(*request))
                return -EBADMSG;
        *ret = (ProcHandle){ .live = true,
                             .pid = request->pid,
                             .dir_fd = fds[0],
                             .pidfd = fds[1],
                             .start_ticks = request->start_ticks };
        return 1;
}

/* A directory of /proc is empty once its process has ended, and the pid may be reused: so system
 * calls that take a number act on the right process. Its start time is read of its first thread:
 * for the whole process the kernel sums up all threads, which takes half a millisecond for 500. */
static int check(WorkerJob job, const ProcHandle *handle) {
        ProcStat stat;
        int r;

        if (job == WORKER_MEMS || job == WORKER_GROUP) /* of a control group, by descriptor */
                return handle->pidfd < 0 || proc_is_alive(handle) ? 0 : -ESRCH;
        r = proc_stat_read(handle, handle->pid, &stat);
        if (r < 0)
                return r;
        return stat.start_ticks == handle->start_ticks && proc_is_alive(handle) ? 0 : -ESRCH;
}

/* Linux 5.9; the same number on all architectures, and glibc 2.31 has no name for it. */
#define NR_CLOSE_RANGE 436

typedef struct Above {
        int fd, dir_fd;
} Above;

static int close_one(pid_t fd, void *userdata) {
        const Above *above = userdata;

        if (fd > above->fd && fd != above->dir_fd)
                (void)close(fd);
        return 0;
}

/* What the daemon did not mark to be closed on exec, such as sockets that it was given. */
static void close_above(int fd) {
        Above above = { .fd = fd };

        if (syscall(NR_CLOSE_RANGE, (unsigned)fd + 1, ~0U, 0U) == 0)
                return;
        above.dir_fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (above.dir_fd >= 0)
                (void)proc_foreach_number(above.dir_fd, close_one, &above); /* which closes it */
}

static int answer(int fd, const WorkerReply *reply) {
        return send(fd, reply, worker_reply_size(reply), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int serve_one(int fd, const Sysroot *sysroot, WorkerWalks **walks, WorkerReply *reply) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        WorkerRequest request;
        int r = receive(fd, &request, &handle);

        if (r <= 0)
                return r;
        r = check(request.job, &handle);
        if (r >= 0)
                worker_run(sysroot, walks, &request, &handle, reply);
        /* If the process ended meanwhile, the result may be that of another one with its pid. */
        if (r >= 0 && reply->result >= 0 && handle.dir_fd >= 0)
                r = check(request.job, &handle);
        if (r < 0) {
                memset(reply, 0, offsetof(WorkerReply, draw.by_node));
                reply->job = request.job;
                reply->serial = request.serial;
                reply->result = r;
        }
        r = answer(fd, reply);
        return r < 0 ? r : 1;
}

int worker_serve(int fd) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_free_ WorkerReply *reply = calloc(1, sizeof(*reply));
        WorkerWalks *walks = NULL;
        int r;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_NAME, "tidbnumad-work");
        (void)self_lock_memory(); /* used pages only; the guard must not swap */
        close_above(fd);
        /* fails for users other than root, who have no capabilities */
        (void)capability_keep(CAPABILITIES);
        if (!reply || sysroot_open(NULL, &sysroot) < 0)
                return EXIT_FAILURE;
        reply->job = WORKER_HELLO;
        r = answer(fd, reply);
        while (r >= 0 && (r = serve_one(fd, &sysroot, &walks, reply)) > 0)
                ;
        (void)worker_walks_free(walks);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
