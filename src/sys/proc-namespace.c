/* What a process shares with others. */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidbnumad/sys/proc-namespace.h"

static int is_file(const struct stat *file, const char *reference) {
        struct stat s;

        if (stat(reference, &s) < 0)
                return -errno;
        return file->st_dev == s.st_dev && file->st_ino == s.st_ino;
}

/* Is `name` of the process what it is of ourselves, or of PID 1 where `init` says so? */
static int same_file(const ProcHandle *handle, const char *name, const char *own,
                     const char *init) {
        struct stat file;
        int r;

        if (handle->pidfd < 0)
                return 1;
        if (fstatat(handle->dir_fd, name, &file, 0) < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        r = is_file(&file, own);
        /* Where PID 1 does not let itself be seen, it counts as another. */
        return r == 0 && init ? is_file(&file, init) > 0 : r;
}

int proc_in_host_namespace(const ProcHandle *handle, ProcNamespace namespace) {
        switch (namespace) {
        case PROC_NAMESPACE_PID:
                return same_file(handle, "ns/pid", "/proc/self/ns/pid", NULL);
        case PROC_NAMESPACE_USER:
                return same_file(handle, "ns/user", "/proc/self/ns/user", NULL);
        case PROC_NAMESPACE_MOUNT:
                return same_file(handle, "ns/mnt", "/proc/self/ns/mnt", "/proc/1/ns/mnt");
        case PROC_NAMESPACE_NETWORK:
                return same_file(handle, "ns/net", "/proc/self/ns/net", NULL);
        }
        return -EINVAL;
}

int proc_has_host_root(const ProcHandle *handle) {
        return same_file(handle, "root", "/proc/self/root", "/proc/1/root");
}

int proc_shares_memory(const ProcHandle *handle, pid_t other) {
        long r;

        if (handle->pidfd < 0 || other <= 0)
                return 0;
        r = syscall(SYS_kcmp, handle->pid, other, KCMP_VM, 0UL, 0UL);
        return r < 0 ? -errno : r == 0;
}
