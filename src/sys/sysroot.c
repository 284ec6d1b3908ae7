/* Where /proc and /sys are read from, and reading of whole files there. */
#include <fcntl.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/proc-namespace.h"
#include "tidbnumad/sys/sysroot.h"

enum { FILE_MAX_BYTES = 64 << 20 };

static int open_dir(const char *root, const char *name, int *ret) {
        _cleanup_free_ char *path = text_new("%s/%s", root, name);

        if (!path)
                return -ENOMEM;
        *ret = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return *ret < 0 ? -errno : 0;
}

int sysroot_open(const char *path, Sysroot *ret) {
        _cleanup_sysroot_ Sysroot s = SYSROOT_NONE;
        const char *root = path ? path : "";
        int r;

        s.live = !path;
        s.path = strdup(path ? path : "/");
        if (!s.path)
                return -ENOMEM;
        r = open_dir(root, "proc", &s.proc_fd);
        if (r < 0)
                return r;
        r = open_dir(root, "sys", &s.sys_fd);
        if (r < 0)
                return r;
        r = open_dir(root, "sys/fs/cgroup", &s.cgroup_fd);
        if (r < 0)
                s.cgroup_fd = -EBADF; /* dumps rarely have it */
        if (s.live)
                proc_namespaces_read_own(&s);
        *ret = s;
        s = SYSROOT_NONE;
        return 0;
}

void sysroot_close(Sysroot *sysroot) {
        closep(&sysroot->proc_fd);
        closep(&sysroot->sys_fd);
        closep(&sysroot->cgroup_fd);
        free(sysroot->path);
        *sysroot = SYSROOT_NONE;
}

ssize_t read_up_to(int fd, char *buffer, size_t size) {
        size_t length = 0;

        while (length < size) {
                ssize_t n = read(fd, buffer + length, size - length);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                length += (size_t)n;
        }
        return (ssize_t)length;
}

/* The `n` bytes that were read, as text. */
static ssize_t as_text(char *buffer, ssize_t n, size_t size) {
        if ((size_t)n == size)
                return -EFBIG;
        if (n > 0 && buffer[n - 1] == '\n')
                n--;
        buffer[n] = '\0';
        return n;
}

ssize_t read_file_at(int dir_fd, const char *path, char *buffer, size_t size) {
        _cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t n;

        if (fd < 0)
                return -errno;
        n = read_up_to(fd, buffer, size);
        return n < 0 ? n : as_text(buffer, n, size);
}

ssize_t read_record_at(int dir_fd, const char *path, char *buffer, size_t size) {
        _cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t n;

        if (fd < 0)
                return -errno;
        do
                n = read(fd, buffer, size);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : as_text(buffer, n, size);
}

int read_file_alloc_at(int dir_fd, const char *path, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        _cleanup_free_ char *data = NULL;
        size_t allocated = 0, length = 0;

        if (fd < 0)
                return -errno;
        for (;;) {
                ssize_t n;

                if (length + 1 >= FILE_MAX_BYTES)
                        return -EFBIG;
                if (ARRAY_RESERVE(data, allocated, length + 4096) < 0)
                        return -ENOMEM;
                n = read_up_to(fd, data + length, allocated - length - 1);
                if (n < 0)
                        return (int)n;
                length += (size_t)n;
                if (length < allocated - 1)
                        break;
        }
        data[length] = '\0';
        *ret = TAKE_PTR(data);
        if (ret_size)
                *ret_size = length;
        return 0;
}

int write_all(int fd, const char *data, size_t size) {
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
