/* Opening below another root, by openat2 and by the walk: the same answers. */
#include <limits.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/namespace.h"

static void make_link(const FakeTree *tree, const char *target, const char *name) {
        char path[PATH_MAX];

        assert_true(snprintf(path, sizeof(path), "%s/%s", tree->path, name) < PATH_MAX);
        assert_int_equal(symlink(target, path), 0);
}

static void make_tree(FakeTree *tree) {
        fake_init(tree);
        fake_mkdir(tree, "root/data/tikv");
        fake_mkdir(tree, "root/srv");
        fake_mkdir(tree, "data"); /* outside */
        fake_write(tree, "root/file", "x");
        make_link(tree, "/data", "root/absolute");
        make_link(tree, "data/tikv", "root/relative");
        make_link(tree, "../../../../../data", "root/srv/above");
        make_link(tree, "absolute/tikv", "root/chain");
        make_link(tree, "circle", "root/circle");
        make_link(tree, "/nowhere", "root/dangling");
        make_link(tree, "file", "root/to-file");
}

typedef struct Case {
        const char *path;
        const char *leads_to; /* below the root; NULL: */
        int error;
} Case;

static const Case CASES[] = {
        { "/", "", 0 },
        { ".", "", 0 },
        { "", NULL, -ENOENT },
        { "/data/tikv", "data/tikv", 0 },
        { "data//./tikv/", "data/tikv", 0 },
        { "/..", "", 0 },
        { "/data/../../../srv", "srv", 0 },
        { "/data/tikv/..", "data", 0 },
        { "/absolute/tikv", "data/tikv", 0 }, /* the root's /data, not the one outside */
        { "/relative", "data/tikv", 0 },
        { "/srv/above/tikv", "data/tikv", 0 },
        { "/chain", "data/tikv", 0 },
        { "/chain/../tikv/.", "data/tikv", 0 },
        { "/circle", NULL, -ELOOP },
        { "/dangling", NULL, -ENOENT },
        { "/nowhere/tikv", NULL, -ENOENT },
        { "/file", NULL, -ENOTDIR },
        { "/file/tikv", NULL, -ENOTDIR },
        { "/to-file", NULL, -ENOTDIR },
};

static void assert_leads_to(int root_fd, int fd, const Case *c) {
        struct stat expected, found;

        assert_true(fd >= 0);
        assert_int_equal(fstatat(root_fd, *c->leads_to ? c->leads_to : ".", &expected, 0), 0);
        assert_int_equal(fstat(fd, &found), 0);
        assert_true(expected.st_dev == found.st_dev && expected.st_ino == found.st_ino);
        assert_true(fcntl(fd, F_GETFL) & O_PATH);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void check(int (*open_it)(int, const char *)) {
        _cleanup_fake_ FakeTree tree;
        _cleanup_close_ int root_fd = -EBADF;
        char path[PATH_MAX];

        make_tree(&tree);
        assert_true(snprintf(path, sizeof(path), "%s/root", tree.path) < PATH_MAX);
        root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; i < ELEMENTSOF(CASES); i++) {
                _cleanup_close_ int fd = open_it(root_fd, CASES[i].path);

                if (CASES[i].leads_to)
                        assert_leads_to(root_fd, fd, &CASES[i]);
                else
                        assert_int_equal(fd, CASES[i].error);
        }
}

TEST(by_the_call) {
        check(open_below);
}

TEST(by_the_walk) {
        check(open_below_walk);
}

static bool is_there(int (*open_it)(int, const char *), int root_fd, const char *path) {
        _cleanup_close_ int fd = open_it(root_fd, path);

        return fd >= 0;
}

TEST(magic_links) {
        _cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(open_below(root_fd, "/proc/self/root/etc"), -ELOOP);
        assert_int_equal(open_below_walk(root_fd, "/proc/self/root/etc"), -ELOOP);
        assert_int_equal(open_below_walk(root_fd, "/proc/self/cwd"), -ELOOP);
        assert_true(is_there(open_below, root_fd, "/proc/self/task"));
        assert_true(is_there(open_below_walk, root_fd, "/proc/self/task"));
}

TEST(names_that_are_too_long) {
        _cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        char name[NAME_MAX + 3], path[PATH_MAX + 1];

        memset(name, 'x', sizeof(name));
        name[0] = '/';
        name[sizeof(name) - 1] = '\0';
        memset(path, '/', sizeof(path));
        path[sizeof(path) - 1] = '\0';
        assert_int_equal(open_below(root_fd, name), -ENAMETOOLONG);
        assert_int_equal(open_below_walk(root_fd, name), -ENAMETOOLONG);
        assert_int_equal(open_below(root_fd, path), -ENAMETOOLONG);
        assert_int_equal(open_below_walk(root_fd, path), -ENAMETOOLONG);
}
