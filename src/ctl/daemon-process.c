/* The daemon as a process. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidbnumad/ctl/daemon-process.h"

static bool is_tidbnumad(pid_t pid) {
        char path[64], comm[32] = { 0 };
        FILE *file;

        /* Not the exe, which other users may not read for a process of root. */
        (void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        file = fopen(path, "re");
        if (!file) /* proc(5), hidepid=: only root sees all processes */
                return errno == ENOENT && geteuid() != 0;
        if (!fgets(comm, sizeof(comm), file))
                comm[0] = '\0';
        (void)fclose(file);
        return strcmp(comm, "tidbnumad\n") == 0;
}

/* Checks the process after it was opened: the descriptor then cannot refer to another one. */
static int open_daemon(const StatusFile *status) {
        _cleanup_close_ int fd = -EBADF;

        if (status->pid <= 0)
                return -ESRCH;
        fd = (int)syscall(SYS_pidfd_open, status->pid, 0);
        if (fd < 0)
                return -errno;
        return is_tidbnumad(status->pid) ? TAKE_FD(fd) : -ESRCH;
}

bool daemon_process_lives(const StatusFile *status) {
        _cleanup_close_ int fd = open_daemon(status);

        return fd >= 0;
}

/* Not by systemctl: its reload fails if policies are rejected, but a pause still works. */
int daemon_process_reload(const StatusFile *status) {
        _cleanup_close_ int fd = open_daemon(status);

        if (fd < 0)
                return fd;
        return syscall(SYS_pidfd_send_signal, fd, SIGHUP, NULL, 0) < 0 ? -errno : 0;
}
