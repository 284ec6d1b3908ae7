/* Files by write-to-temporary and rename, files of root alone, and the lock of a folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/sysroot.h"

static int write_temporary(int dir_fd, const char *name, const char *data, size_t size,
                           mode_t mode) {
        _cleanup_close_ int fd =
                openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        int r;

        if (fd < 0)
                return -errno;
        r = write_all(fd, data, size);
        if (r < 0)
                return r;
        /* Not by the mode of open(): the umask must not restrict reading of the metrics. */
        return fchmod(fd, mode) < 0 ? -errno : 0;
}

int atomic_file_write(int dir_fd, const char *name, const char *data, size_t size, mode_t mode) {
        _cleanup_free_ char *temporary = text_new(".%s.new", name);
        int r;

        if (!temporary)
                return -ENOMEM;
        r = write_temporary(dir_fd, temporary, data, size, mode);
        if (r == -EEXIST) { /* of a daemon that was killed while it wrote */
                (void)unlinkat(dir_fd, temporary, 0);
                r = write_temporary(dir_fd, temporary, data, size, mode);
        }
        if (r >= 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
                r = -errno;
        if (r < 0)
                (void)unlinkat(dir_fd, temporary, 0);
        return r;
}

/* --- files of root alone --- */

static bool is_ours(const struct stat *st) {
        return (st->st_uid == 0 || st->st_uid == geteuid()) &&
               (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int private_dir_open(int parent_fd, const char *name, int *ret_fd) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (mkdirat(parent_fd, name, 0700) < 0 && errno != EEXIST)
                return -errno;
        fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!is_ours(&st))
                return -EPERM;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int private_file_read(int dir_fd, const char *name, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd =
                openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        _cleanup_free_ char *text = NULL;
        struct stat st;
        ssize_t n;

        if (fd < 0)
                return errno == ELOOP ? -EPERM : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || !is_ours(&st))
                return -EPERM;
        if ((uint64_t)st.st_size > max)
                return -EFBIG;
        text = malloc((size_t)st.st_size + 2);
        if (!text)
                return -ENOMEM;
        n = read_up_to(fd, text, (size_t)st.st_size + 1);
        if (n < 0)
                return (int)n;
        if (n != st.st_size)
                return -EAGAIN; /* it is being written to, which the daemon never does in place */
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        *ret_size = (size_t)n;
        return 0;
}

/* --- lock ---
 *
 * By fcntl(2) and not by flock(2): the kernel names the holder, a child that outlives the holder
 * has no share in the lock, and a descriptor that can only read locks nothing. */

static int read_holder(int fd, pid_t *ret) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

        if (fcntl(fd, F_GETLK, &lock) < 0)
                return -errno;
        if (lock.l_type == F_UNLCK)
                return -ESRCH;
        *ret = lock.l_pid > 0 ? lock.l_pid : 0;
        return 0;
}

int lock_file_take(int dir_fd, const char *name, int *ret_fd, pid_t *ret_holder) {
        const struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        _cleanup_close_ int fd =
                openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

        if (fd < 0)
                return -errno;
        if (fcntl(fd, F_SETLK, &lock) < 0) {
                if (errno != EAGAIN && errno != EACCES)
                        return -errno;
                *ret_holder = 0;
                (void)read_holder(fd, ret_holder);
                return -EBUSY;
        }
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* flock(2) beside it, which such children do have a share in. */
int lock_file_share(int fd, uint64_t timeout_usec) {
        const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
        const uint64_t end = clock_monotonic_usec() + timeout_usec;

        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                if (clock_monotonic_usec() >= end)
                        return -ETIME;
                (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        }
        return 0;
}

int lock_file_holder(int dir_fd, const char *name, pid_t *ret) {
        _cleanup_close_ int fd =
                openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        return fd < 0 ? -errno : read_holder(fd, ret);
}
