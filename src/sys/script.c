#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/open-below.h"
#include "tidbnumad/sys/script.h"

/* As many links one after the other as a kernel follows, path_resolution(7). */
enum { LINKS_MAX = 40 };

/* Without the right to look at PID 1: the own root. */
static int open_root(const Sysroot *sysroot) {
        int fd = openat(sysroot->proc_fd, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* O_PATH first: a device or a pipe is not opened to find out that it is one. */
static int open_regular(int folder_fd, const char *name) {
        char link[sizeof("/proc/self/fd/") + 12];
        _cleanup_close_ int path_fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        int fd;

        if (path_fd < 0 || fstat(path_fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
        fd = open(link, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static int read_text(int fd, bool any, char **ret) {
        _cleanup_free_ char *text = malloc(SCRIPT_BYTES_MAX + 1);
        size_t n = 0;

        if (!text)
                return -ENOMEM;
        for (;;) {
                ssize_t r = read(fd, text + n, SCRIPT_BYTES_MAX + 1 - n);

                if (r < 0 && errno == EINTR)
                        continue;
                if (r < 0)
                        return -errno;
                n += (size_t)r;
                if (!any && n >= 2 && memcmp(text, "#!", 2) != 0)
                        return -ENOEXEC;
                if (n > SCRIPT_BYTES_MAX)
                        return -E2BIG;
                if (r == 0)
                        break;
        }
        if (!any && n < 2)
                return -ENOEXEC;
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

/* Where the last name of the path is a link: its target in `link`. */
static bool is_link(int folder_fd, const char *name, char link[PATH_MAX]) {
        ssize_t n = readlinkat(folder_fd, name, link, PATH_MAX);

        if (n <= 0 || n >= PATH_MAX)
                return false;
        link[n] = '\0';
        return true;
}

static int read_below(int root_fd, const char *path, bool any, unsigned n_links, char **ret) {
        const char *name = strrchr(path, '/');
        _cleanup_close_ int folder_fd = -EBADF, fd = -EBADF;
        _cleanup_free_ char *folder = NULL, *target = NULL;
        char link[PATH_MAX];

        if (path[0] != '/' || !name[1])
                return -EINVAL;
        folder = strndup(path, name == path ? 1 : (size_t)(name - path));
        if (!folder)
                return -ENOMEM;
        folder_fd = open_below(root_fd, folder);
        if (folder_fd < 0)
                return folder_fd;
        if (is_link(folder_fd, name + 1, link)) {
                if (n_links == 0)
                        return -ELOOP;
                target = link[0] == '/' ? strdup(link) : text_new("%s/%s", folder, link);
                return target ? read_below(root_fd, target, any, n_links - 1, ret) : -ENOMEM;
        }
        fd = open_regular(folder_fd, name + 1);
        return fd < 0 ? fd : read_text(fd, any, ret);
}

int script_read(const Sysroot *sysroot, const char *path, bool any, char **ret) {
        _cleanup_close_ int root_fd = open_root(sysroot);

        return root_fd < 0 ? root_fd : read_below(root_fd, path, any, LINKS_MAX, ret);
}
