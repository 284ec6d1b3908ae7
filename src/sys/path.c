/* Reading small files of the kernel, and the roots below which they are. What is in them is left to
 * others. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/path.h"
#include "tidbnumad/sys/sysroot.h"

enum { FILE_MAX_BYTES = 64 << 20 };

/* The path of a function whose last arguments are a format and what it names. Of one that is too
 * long PATH_MAX bytes are left, and the kernel refuses it (-ENAMETOOLONG). */
#define FORMAT_PATH(path, format)                                                                  \
        ({                                                                                         \
                va_list _arguments;                                                                \
                _Static_assert(sizeof(path) == PATH_MAX + 1, "too long for the kernel");           \
                va_start(_arguments, format);                                                      \
                (void)vsnprintf(path, sizeof(path), format, _arguments);                           \
                va_end(_arguments);                                                                \
                path;                                                                              \
        })

static int open_to_read(int dir_fd, const char *path) {
        int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        return fd < 0 ? -errno : fd;
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

/* The `n` bytes that were read, or an error, as text. */
static ssize_t as_text(char *buffer, ssize_t n, size_t size) {
        if (n < 0)
                return n;
        if ((size_t)n == size)
                return -EFBIG;
        if (n > 0 && buffer[n - 1] == '\n')
                n--;
        buffer[n] = '\0';
        return n;
}

static ssize_t read_text(int dir_fd, const char *path, char *buffer, size_t size) {
        _cleanup_close_ int fd = open_to_read(dir_fd, path);

        return fd < 0 ? fd : as_text(buffer, read_up_to(fd, buffer, size), size);
}

ssize_t path_read(int dir_fd, char *buffer, size_t size, const char *format, ...) {
        char path[PATH_MAX + 1];

        return read_text(dir_fd, FORMAT_PATH(path, format), buffer, size);
}

ssize_t path_read_record(int dir_fd, char *buffer, size_t size, const char *format, ...) {
        char path[PATH_MAX + 1];
        _cleanup_close_ int fd = open_to_read(dir_fd, FORMAT_PATH(path, format));
        ssize_t n;

        if (fd < 0)
                return fd;
        do
                n = read(fd, buffer, size);
        while (n < 0 && errno == EINTR);
        return as_text(buffer, n < 0 ? -errno : n, size);
}

ssize_t path_read_start(int dir_fd, char *buffer, size_t size, const char *format, ...) {
        char path[PATH_MAX + 1];
        _cleanup_close_ int fd = open_to_read(dir_fd, FORMAT_PATH(path, format));
        ssize_t n = fd < 0 ? fd : read_up_to(fd, buffer, size - 1);

        if (n >= 0)
                buffer[n] = '\0';
        return n;
}

int path_read_alloc(int dir_fd, char **ret, size_t *ret_size, const char *format, ...) {
        char path[PATH_MAX + 1];
        _cleanup_close_ int fd = open_to_read(dir_fd, FORMAT_PATH(path, format));
        _cleanup_free_ char *data = NULL;
        size_t allocated = 0, length = 0;

        if (fd < 0)
                return fd;
        do {
                ssize_t n;

                if (length + 1 >= FILE_MAX_BYTES)
                        return -EFBIG;
                if (ARRAY_RESERVE(data, allocated, length + 4096) < 0)
                        return -ENOMEM;
                n = read_up_to(fd, data + length, allocated - length - 1);
                if (n < 0)
                        return (int)n;
                length += (size_t)n;
        } while (length == allocated - 1);
        data[length] = '\0';
        *ret = TAKE_PTR(data);
        if (ret_size)
                *ret_size = length;
        return 0;
}

static int read_number(int dir_fd, const char *path, uint64_t max, uint64_t *ret) {
        uint64_t value;
        char text[32];
        ssize_t n = read_text(dir_fd, path, text, sizeof(text));
        int r = n < 0 ? (int)n : parse_u64(text, &value);

        if (r < 0 || value > max)
                return r < 0 ? r : -ERANGE;
        *ret = value;
        return 0;
}

int path_read_u64(int dir_fd, uint64_t max, uint64_t *ret, const char *format, ...) {
        char path[PATH_MAX + 1];

        return read_number(dir_fd, FORMAT_PATH(path, format), max, ret);
}

int path_read_u32(int dir_fd, uint32_t max, uint32_t *ret, const char *format, ...) {
        char path[PATH_MAX + 1];
        uint64_t value;
        int r = read_number(dir_fd, FORMAT_PATH(path, format), max, &value);

        if (r >= 0)
                *ret = (uint32_t)value;
        return r;
}

int path_read_list_to(int dir_fd, IdTarget ret, const char *format, ...) {
        char path[PATH_MAX + 1], text[ID_SET_LIST_ANY];
        ssize_t n = read_text(dir_fd, FORMAT_PATH(path, format), text, sizeof(text));

        return n < 0 ? (int)n : id_target_parse_list(text, ret);
}

int path_read_mask_to(int dir_fd, IdTarget ret, const char *format, ...) {
        char path[PATH_MAX + 1], text[ID_SET_MASK_MAX];
        ssize_t n = read_text(dir_fd, FORMAT_PATH(path, format), text, sizeof(text));

        return n < 0 ? (int)n : id_target_parse_mask(text, ret);
}

ssize_t path_read_link(int dir_fd, char *buffer, size_t size, const char *format, ...) {
        char path[PATH_MAX + 1];
        ssize_t n = readlinkat(dir_fd, FORMAT_PATH(path, format), buffer, size);

        if (n < 0)
                return -errno;
        buffer[(size_t)n < size ? n : 0] = '\0';
        return (size_t)n < size ? n : -ENAMETOOLONG;
}

int path_read_link_name(int dir_fd, char **ret, const char *format, ...) {
        char path[PATH_MAX + 1], target[PATH_MAX];
        ssize_t n = readlinkat(dir_fd, FORMAT_PATH(path, format), target, sizeof(target) - 1);

        if (n < 0)
                return errno == EINVAL ? -ENOENT : -errno;
        target[n] = '\0';
        *ret = strdup(basename(target));
        return *ret ? 0 : -ENOMEM;
}

bool path_cut_last(char *path) {
        char *slash = strrchr(path, '/');

        if (!slash || strcmp(path, "/") == 0)
                return false;
        slash[slash == path] = '\0';
        return true;
}

bool path_exists(int dir_fd, const char *format, ...) {
        char path[PATH_MAX + 1];

        return faccessat(dir_fd, FORMAT_PATH(path, format), F_OK, 0) == 0;
}

int path_open(int dir_fd, int flags, const char *format, ...) {
        char path[PATH_MAX + 1];
        int fd = openat(dir_fd, FORMAT_PATH(path, format), flags | O_CLOEXEC, 0);

        return fd < 0 ? -errno : fd;
}

DIR *dir_from_fd(int fd) {
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);

        if (!dir)
                closep(&fd);
        return dir;
}

int path_open_dir(int dir_fd, DIR **ret, const char *format, ...) {
        char path[PATH_MAX + 1];
        DIR *dir = dir_from_fd(
                openat(dir_fd, FORMAT_PATH(path, format), O_RDONLY | O_DIRECTORY | O_CLOEXEC));

        if (!dir)
                return errno == ENOTDIR ? -ENOENT : -errno;
        *ret = dir;
        return 0;
}

const char *path_next(DIR *dir) {
        const struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (entry->d_name[0] != '.')
                        return entry->d_name;
        return NULL;
}

int path_identify(int dir_fd, FileIdentity *ret, const char *format, ...) {
        const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
        char path[PATH_MAX + 1];
        struct statx s;

        if (statx(dir_fd, FORMAT_PATH(path, format), flags, STATX_INO, &s) < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        *ret = (FileIdentity){ .dev = makedev(s.stx_dev_major, s.stx_dev_minor), .ino = s.stx_ino };
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

/* --- where /proc and /sys are read from --- */

const char *const PROC_NAMESPACE_FILES[N_PROC_NAMESPACES] = {
        [PROC_NAMESPACE_PID] = "ns/pid",
        [PROC_NAMESPACE_USER] = "ns/user",
        [PROC_NAMESPACE_MOUNT] = "ns/mnt",
        [PROC_NAMESPACE_NETWORK] = "ns/net",
};

static int sysroot_open_folder(const char *root, const char *name, int *ret) {
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
        r = sysroot_open_folder(root, "proc", &s.proc_fd);
        if (r < 0)
                return r;
        r = sysroot_open_folder(root, "sys", &s.sys_fd);
        if (r < 0)
                return r;
        r = sysroot_open_folder(root, "sys/fs/cgroup", &s.cgroup_fd);
        if (r < 0)
                s.cgroup_fd = -EBADF; /* dumps rarely have it */
        for (size_t i = 0; s.live && i < N_PROC_NAMESPACES; i++)
                (void)path_identify(s.proc_fd, &s.namespaces[i], "self/%s",
                                    PROC_NAMESPACE_FILES[i]);
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
