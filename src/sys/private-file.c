/* Files of root's own. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/private-file.h"
#include "tidbnumad/sys/sysroot.h"

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
                return -EAGAIN; /* somebody writes to it, and we never do in place */
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        *ret_size = (size_t)n;
        return 0;
}
