/* Holding a process: by its directory of /proc, and by a pidfd where the kernel has these. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "tidbnumad/sys/event-source.h"
#include "tidbnumad/sys/proc.h"

#define NR_PIDFD_OPEN 434 /* the same on all architectures; headers before 5.3 do not have it */

/* -ENOSYS: the kernel has none, or forbids it. */
static int open_pidfd(pid_t pid) {
        int fd = (int)syscall(NR_PIDFD_OPEN, pid, 0);

        return fd >= 0 ? fd : errno == EPERM ? -ENOSYS : -errno;
}

bool proc_has_pidfds(void) {
        _cleanup_close_ int fd = open_pidfd(getpid());

        return fd != -ENOSYS;
}

int proc_open(const Sysroot *sysroot, pid_t pid, ProcHandle *ret) {
        return proc_open_stat(sysroot, pid, ret, &(ProcStat){ 0 });
}

int proc_open_twice(const Sysroot *sysroot, pid_t pid, ProcHandle *ret) {
        int r = proc_open(sysroot, pid, ret);

        return r == -ESRCH ? proc_open(sysroot, pid, ret) : r;
}

int proc_open_stat(const Sysroot *sysroot, pid_t pid, ProcHandle *ret, ProcStat *ret_stat) {
        _cleanup_proc_ ProcHandle h = PROC_HANDLE_NONE;
        char name[16];
        ProcStat stat;
        int r;

        (void)snprintf(name, sizeof(name), "%d", pid);
        h.pid = pid;
        h.dir_fd = openat(sysroot->proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (h.dir_fd < 0)
                return proc_error(-errno);
        if (sysroot->live) {
                h.live = true;
                h.pidfd = open_pidfd(pid);
                if (h.pidfd == -ENOSYS && proc_has_pidfds())
                        return -EAGAIN; /* refused this once: nobody would look for its end */
                if (h.pidfd < 0 && h.pidfd != -ENOSYS)
                        return proc_error(h.pidfd);
        }
        /* Read last and through the directory: if this answers, the directory's process was still
         * there after the pidfd was taken, so that both are of the same one. */
        r = proc_stat_read(&h, 0, &stat);
        if (r < 0)
                return r;
        h.start_ticks = stat.start_ticks;
        *ret_stat = stat;
        *ret = h;
        h = PROC_HANDLE_NONE;
        return 0;
}

void proc_close(ProcHandle *handle) {
        event_source_drop(handle->exit); /* before the pidfd that it polls */
        closep(&handle->dir_fd);
        closep(&handle->pidfd);
        *handle = PROC_HANDLE_NONE;
}

/* A first thread that has ended is shown as a zombie while others still run. */
static bool is_alive_by_stat(const ProcHandle *handle) {
        char exe[PATH_MAX]; /* quicker: stat sums up all threads */
        ProcStat stat;

        return proc_held_is_in_exec(handle) || proc_held_exe_read(handle, exe, sizeof(exe)) >= 0 ||
               (proc_stat_read(handle, 0, &stat) >= 0 &&
                ((stat.state != 'Z' && stat.state != 'X') || stat.n_threads > 1));
}

bool proc_is_alive(const ProcHandle *handle) {
        struct pollfd p = { .fd = handle->pidfd, .events = POLLIN };

        if (handle->pidfd >= 0)
                return poll(&p, 1, 0) <= 0; /* a failed poll proves nothing */
        return !handle->live || is_alive_by_stat(handle);
}

int proc_watch_exit(ProcHandle *handle, sd_event *event, sd_event_io_handler_t callback,
                    void *userdata) {
        int r;

        if (handle->pidfd < 0)
                return 0;
        r = sd_event_add_io(event, &handle->exit, handle->pidfd, EPOLLIN, callback, userdata);
        return r < 0 ? r
                     : sd_event_source_set_priority(handle->exit, SD_EVENT_PRIORITY_IMPORTANT - 1);
}
