/* Reading of published files, and of nothing else: no link is followed, nothing blocks, no size is
 * trusted. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/exporter/snapshot-file.h"

void snapshot_file_done(SnapshotFile *file) {
        free(file->data);
        *file = (SnapshotFile){ 0 };
}

static int read_whole(int fd, size_t size, SnapshotFile *file) {
        file->data = malloc(size + 1);
        if (!file->data)
                return -ENOMEM;
        while (file->size < size) {
                ssize_t n = read(fd, file->data + file->size, size - file->size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                file->size += (size_t)n;
        }
        file->data[file->size] = '\0';
        return 0;
}

int snapshot_file_read(const char *directory, const char *name, SnapshotFile *ret) {
        _cleanup_snapshot_file_ SnapshotFile file = { 0 };
        _cleanup_close_ int dir_fd = -EBADF, fd = -EBADF;
        struct stat st;
        int r;

        dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -errno;
        /* O_NONBLOCK: a FIFO in its place must not hold us. */
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADF;
        if (st.st_size < 0 || (size_t)st.st_size > SNAPSHOT_FILE_MAX)
                return -EFBIG;
        r = read_whole(fd, (size_t)st.st_size, &file);
        if (r < 0)
                return r;
        file.mtime_seconds = (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9;
        *ret = file;
        file.data = NULL;
        return 0;
}
