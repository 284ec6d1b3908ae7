/* openat2(2), and the walk that takes its place on kernels before 5.6. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/open-below.h"

/* Of linux/openat2.h and asm/unistd.h; the headers of the build host may be older. */
#define NR_OPENAT2 437

typedef struct How {
        uint64_t flags, mode, resolve;
} How;

#define IN_ROOT UINT64_C(0x10)
#define NO_MAGIC_LINKS UINT64_C(0x02)

/* O_DIRECTORY lets no device be found. */
enum { FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC, LINKS_MAX = 40, PROC_ROOT_INO = 1 };

/* --- the walk --- */

typedef struct Walk {
        int root_fd, fd;
        struct stat root;
        unsigned n_links;
        char rest[PATH_MAX]; /* still to go */
} Walk;

static int go(Walk *walk, int from_fd, const char *name, int flags) {
        int fd = openat(from_fd, name, FLAGS | flags);

        if (fd < 0)
                return -errno;
        closep(&walk->fd);
        walk->fd = fd;
        return 0;
}

/* The root's parent is the root. Where the root is mounted inside itself, that place is one too. */
static int go_up(Walk *walk) {
        struct stat st;

        if (fstat(walk->fd, &st) < 0)
                return -errno;
        return st.st_dev == walk->root.st_dev && st.st_ino == walk->root.st_ino
                       ? 0
                       : go(walk, walk->fd, "..", 0);
}

/* Are the links in this directory magic? Those in /proc itself, such as self, are not; of the
 * others there are more than these, but none on the way to a data directory. */
static bool has_magic_links(int fd) {
        struct statfs fs;
        struct stat st;

        return fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0 ||
               (fs.f_type == PROC_SUPER_MAGIC && st.st_ino != PROC_ROOT_INO);
}

/* Puts the link's target before what is still to go. -ENOTDIR: it is no link. */
static int follow(Walk *walk, const char *name) {
        char target[PATH_MAX], rest[PATH_MAX];
        ssize_t n = readlinkat(walk->fd, name, target, sizeof(target));

        if (n < 0)
                return errno == EINVAL ? -ENOTDIR : -errno;
        if (++walk->n_links > LINKS_MAX || has_magic_links(walk->fd))
                return -ELOOP;
        (void)strcpy(rest, walk->rest);
        if (snprintf(walk->rest, sizeof(walk->rest), "%.*s/%s", (int)n, target, rest) >= PATH_MAX)
                return -ENAMETOOLONG;
        return target[0] == '/' ? go(walk, walk->root_fd, ".", 0) : 0;
}

static int step(Walk *walk, const char *name) {
        int r;

        if (strcmp(name, "..") == 0)
                return go_up(walk);
        r = go(walk, walk->fd, name, O_NOFOLLOW);
        return r == -ENOTDIR || r == -ELOOP ? follow(walk, name) : r;
}

/* Cuts the first name off what is still to go. False: that was all. */
static bool take_name(Walk *walk, char name[static NAME_MAX + 1]) {
        const char *begin = walk->rest + strspn(walk->rest, "/");
        const size_t n = strcspn(begin, "/");

        if (n == 0 || n > NAME_MAX)
                return false;
        (void)snprintf(name, NAME_MAX + 1, "%.*s", (int)n, begin);
        memmove(walk->rest, begin + n, strlen(begin + n) + 1);
        return true;
}

int open_below_walk(int root_fd, const char *path) {
        _cleanup_close_ int start = openat(root_fd, ".", FLAGS);
        Walk walk = { .root_fd = root_fd, .fd = start };
        char name[NAME_MAX + 1];
        int r = 0;

        if (start < 0 || fstat(start, &walk.root) < 0)
                return -errno;
        if (*path == '\0')
                return -ENOENT;
        if (snprintf(walk.rest, sizeof(walk.rest), "%s", path) >= PATH_MAX)
                return -ENAMETOOLONG;
        start = -EBADF;
        while (r >= 0 && take_name(&walk, name))
                r = step(&walk, name);
        if (r >= 0 && walk.rest[strspn(walk.rest, "/")] != '\0')
                r = -ENAMETOOLONG;
        if (r < 0)
                closep(&walk.fd);
        return r < 0 ? r : walk.fd;
}

/* --- the call --- */

int open_below(int root_fd, const char *path) {
        const How how = { .flags = FLAGS, .resolve = IN_ROOT | NO_MAGIC_LINKS };
        int fd = (int)syscall(NR_OPENAT2, root_fd, path, &how, sizeof(how));

        /* EPERM: a list of system calls that is older than this one. */
        if (fd < 0 && (errno == ENOSYS || errno == EPERM))
                return open_below_walk(root_fd, path);
        return fd < 0 ? -errno : fd;
}

bool path_has_dot_dot(const char *path) {
        for (const char *p = path; *p; p += strcspn(p, "/")) {
                p += strspn(p, "/");
                if (strcspn(p, "/") == 2 && strncmp(p, "..", 2) == 0)
                        return true;
        }
        return false;
}
