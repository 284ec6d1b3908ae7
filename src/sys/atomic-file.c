/* Publishing of files by write-to-temporary and rename. */
#include <fcntl.h>
#include <sys/stat.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/atomic-file.h"

static int write_all(int fd, const char *data, size_t size) {
        while (size > 0) {
                ssize_t n = write(fd, data, size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                data += n;
                size -= (size_t)n;
        }
        return 0;
}

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
        /* Not by the mode of open(): the umask must not decide who may read the metrics. */
        return fchmod(fd, mode) < 0 ? -errno : 0;
}

int atomic_file_write(int dir_fd, const char *name, const char *data, size_t size, mode_t mode) {
        _cleanup_free_ char *temporary = NULL;
        int r;

        if (asprintf(&temporary, ".%s.new", name) < 0) {
                temporary = NULL;
                return -ENOMEM;
        }
        (void)unlinkat(dir_fd, temporary, 0); /* of a daemon that was killed while it wrote */
        r = write_temporary(dir_fd, temporary, data, size, mode);
        if (r >= 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
                r = -errno;
        if (r < 0)
                (void)unlinkat(dir_fd, temporary, 0);
        return r;
}
