/* Reads published files safely: no link is followed, nothing blocks, and no size is trusted. */
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

bool snapshot_id_equal(const SnapshotId *a, const SnapshotId *b) {
        return a->device == b->device && a->inode == b->inode && a->size == b->size &&
               a->mtime_nsec == b->mtime_nsec;
}

double snapshot_id_age(const SnapshotId *id, double now_seconds) {
        double age = now_seconds - (double)id->mtime_nsec / 1e9;

        return age > 0 ? age : 0;
}

int snapshot_file_open(const char *directory, const char *name, SnapshotId *ret_id, int *ret_fd) {
        _cleanup_close_ int dir_fd = -EBADF, fd = -EBADF;
        struct stat st;

        dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -errno;
        /* O_NONBLOCK: a FIFO in its place must not block. */
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADF;
        if (st.st_size < 0 || (size_t)st.st_size > SNAPSHOT_FILE_MAX)
                return -EFBIG;
        *ret_id = (SnapshotId){ .device = st.st_dev,
                                .inode = st.st_ino,
                                .size = st.st_size,
                                .mtime_nsec = (int64_t)st.st_mtim.tv_sec * 1000000000 +
                                              st.st_mtim.tv_nsec };
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int snapshot_file_read_fd(int fd, const SnapshotId *id, SnapshotFile *ret) {
        _cleanup_snapshot_file_ SnapshotFile file = { .id = *id };
        const size_t size = (size_t)id->size;

        file.data = malloc(size + 2); /* a newline may be appended */
        if (!file.data)
                return -ENOMEM;
        while (file.size < size) {
                ssize_t n = read(fd, file.data + file.size, size - file.size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                file.size += (size_t)n;
        }
        file.data[file.size] = '\0';
        *ret = file;
        file.data = NULL;
        return 0;
}
