#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidbnumad/ctl/daemon-process.h"

/* Linux 5.3 and 5.1; the same numbers on all architectures. Before 5.3 the pid must suffice: a
 * wrong process gets the signal only if the daemon ends between the check and the signal, and the
 * kernel assigns all other pids in this time. */
#define NR_PIDFD_OPEN 434
#define NR_PIDFD_SEND_SIGNAL 424

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

bool daemon_process_lives(const StatusFile *status) {
        return status->pid > 0 && (kill(status->pid, 0) == 0 || errno == EPERM) &&
               is_tidbnumad(status->pid);
}

/* Not by systemctl: its reload fails if policies are rejected, but a pause still works. */
int daemon_process_reload(const StatusFile *status) {
        _cleanup_close_ int fd = -EBADF;

        if (status->pid <= 0)
                return -ESRCH;
        /* Checked after it was opened: the descriptor then cannot refer to another one. */
        fd = (int)syscall(NR_PIDFD_OPEN, status->pid, 0);
        if (fd < 0 && errno != ENOSYS)
                return -errno;
        if (!is_tidbnumad(status->pid))
                return -ESRCH;
        const long r = fd < 0 ? kill(status->pid, SIGHUP)
                              : syscall(NR_PIDFD_SEND_SIGNAL, fd, SIGHUP, NULL, 0);
        return r < 0 ? -errno : 0;
}
