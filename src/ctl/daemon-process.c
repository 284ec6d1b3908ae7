#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tidbnumad/ctl/daemon-process.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/path.h"

static bool is_tidbnumad(pid_t pid) {
        char comm[32];
        /* Not the exe, which other users may not read for a process of root. */
        ssize_t n = path_read_record(AT_FDCWD, comm, sizeof(comm), "/proc/%d/comm", pid);

        if (n < 0) /* proc(5), hidepid=: only root sees all processes */
                return n == -ENOENT && geteuid() != 0;
        return strcmp(comm, "tidbnumad") == 0;
}

static pid_t lock_holder(const char *runtime_dir) {
        _cleanup_close_ int fd = open(runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        pid_t pid = 0;

        return fd >= 0 && lock_file_holder(fd, RUNTIME_DIR_LOCK, &pid) >= 0 ? pid : 0;
}

pid_t daemon_process_find(const char *runtime_dir, const Snapshot *status) {
        const pid_t holder = lock_holder(runtime_dir);

        if (holder > 0)
                return holder;
        return status && status->self.pid > 0 &&
                               (kill(status->self.pid, 0) == 0 || errno == EPERM) &&
                               is_tidbnumad(status->self.pid)
                       ? status->self.pid
                       : 0;
}

/* 0: it is not there. */
static uint64_t size_of(const char *runtime_dir, const char *name) {
        char path[PATH_MAX];
        struct stat st;
        const int n = snprintf(path, sizeof(path), "%s/%s", runtime_dir, name);

        return n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Each file is written beside the former one, which it replaces. */
bool daemon_process_lacks_room(const char *runtime_dir) {
        const uint64_t status = size_of(runtime_dir, "status.json");
        const uint64_t metrics = size_of(runtime_dir, "metrics.prom");
        const uint64_t needed = status > metrics ? status : metrics;
        struct statvfs fs;

        return statvfs(runtime_dir, &fs) == 0 &&
               (fs.f_bavail * fs.f_frsize <= needed || (fs.f_files > 0 && fs.f_favail == 0));
}
