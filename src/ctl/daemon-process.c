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

        /* Not its exe: that of root's process other users may not see. */
        (void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        file = fopen(path, "re");
        if (!file) /* proc(5), hidepid=: root sees all */
                return errno == ENOENT && geteuid() != 0;
        if (!fgets(comm, sizeof(comm), file))
                comm[0] = '\0';
        (void)fclose(file);
        return strcmp(comm, "tidbnumad\n") == 0;
}

/* Opened first, looked at then: what the descriptor means cannot be another one's any more. */
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

/* Not by systemctl: its reload fails where policies are refused, and a pause works all the same. */
int daemon_process_reload(const StatusFile *status) {
        _cleanup_close_ int fd = open_daemon(status);

        if (fd < 0)
                return fd;
        return syscall(SYS_pidfd_send_signal, fd, SIGHUP, NULL, 0) < 0 ? -errno : 0;
}
