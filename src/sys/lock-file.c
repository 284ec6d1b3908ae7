/* A file by which one process owns a folder.
 *
 * By fcntl(2) and not by flock(2): the kernel names the holder, a child that outlives the holder
 * has no share in it, and a descriptor that can only read (any user's, of a folder) locks nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/lock-file.h"

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
