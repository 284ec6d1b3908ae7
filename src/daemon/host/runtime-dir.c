/* The folder in which the daemon publishes and keeps its undo records. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/daemon/host/runtime-dir.h"
#include "tidbnumad/sys/lock-file.h"

static int cannot_open(const Journal *journal, const char *path, int error) {
        journal_log(journal, LOG_ERR, NULL,
                    "Cannot open the runtime folder %s: %s. Run as root, or choose another with "
                    "--runtime-dir",
                    path, strerror(-error));
        return error;
}

static int is_in_use(const Journal *journal, const char *path, pid_t holder) {
        char who[32] = "";

        if (holder > 0)
                (void)snprintf(who, sizeof(who), " (process %d)", holder);
        journal_log(journal, LOG_ERR, NULL,
                    "Another tidbnumad%s uses the runtime folder %s. Stop that one first "
                    "(systemctl stop tidbnumad), or choose another folder with --runtime-dir; "
                    "--dry-run without --runtime-dir uses none",
                    who, path);
        return -EBUSY;
}

static int take_lock(const Journal *journal, const char *path, int fd, int *ret_lock_fd) {
        pid_t holder = 0;
        int r = lock_file_take(fd, RUNTIME_DIR_LOCK, ret_lock_fd, &holder);

        if (r == -EBUSY)
                return is_in_use(journal, path, holder);
        if (r == -ENOSPC || r == -EDQUOT) {
                journal_log(journal, LOG_WARNING, NULL,
                            "The lock file %s/%s cannot be created: %s. Do not start a second "
                            "tidbnumad: it would not be detected",
                            path, RUNTIME_DIR_LOCK, strerror(-r));
                return 0;
        }
        return r < 0 ? cannot_open(journal, path, r) : 0;
}

int runtime_dir_open(const Journal *journal, const char *path, int *ret_fd, int *ret_lock_fd) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        /* Normally made by tmpfiles.d; a run by hand needs it as well. */
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                return cannot_open(journal, path, -errno);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return cannot_open(journal, path, -errno);
        r = take_lock(journal, path, fd, ret_lock_fd);
        if (r < 0)
                return r;
        *ret_fd = TAKE_FD(fd);
        return 0;
}
