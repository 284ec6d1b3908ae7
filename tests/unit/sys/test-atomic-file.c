/* A published file is the old one or the new one, whatever happens, and nothing else is left. */
#include <sys/resource.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/atomic-file.h"

static void assert_file(const FakeTree *tree, const char *name, const char *expected) {
        char text[8192];

        assert_true(path_read(tree->fd, text, sizeof(text), "%s", name) >= 0);
        assert_string_equal(text, expected);
}

/* Beside the two folders that every fake tree has. */
static void assert_entries(const FakeTree *tree, unsigned expected) {
        _cleanup_closedir_ DIR *dir = opendir(tree->path);
        unsigned n = 0;

        assert_non_null(dir);
        while (readdir(dir))
                n++;
        assert_int_equal(n - 4, expected);
}

FAKE_TEST(new_and_again) {
        assert_int_equal(atomic_file_write(tree->fd, "a", "one", 3, 0644), 0);
        assert_file(tree, "a", "one");
        assert_int_equal(atomic_file_write(tree->fd, "a", "", 0, 0644), 0);
        assert_file(tree, "a", "");
        assert_int_equal(atomic_file_write(tree->fd, "a", "x\0y", 3, 0644), 0);
        assert_file(tree, "a", "x");
        assert_entries(tree, 1);
}

FAKE_TEST(mode_despite_umask) {
        struct stat st;

        for (unsigned i = 0; i < 2; i++) {
                mode_t mode = i == 0 ? 0644 : 0600, before = umask(i == 0 ? 0077 : 0);

                assert_int_equal(atomic_file_write(tree->fd, "a", "b", 1, mode), 0);
                (void)umask(before);
                assert_int_equal(fstatat(tree->fd, "a", &st, 0), 0);
                assert_int_equal(st.st_mode & 07777, mode);
        }
}

/* Who has the old one open reads on in the old one. */
FAKE_TEST(readers_keep_theirs) {
        _cleanup_close_ int fd = -EBADF;
        char text[8] = "";

        fake_write(tree, "a", "old");
        fd = openat(tree->fd, "a", O_RDONLY | O_CLOEXEC);
        assert_int_equal(atomic_file_write(tree->fd, "a", "new", 3, 0644), 0);
        assert_int_equal(read(fd, text, sizeof(text)), 3);
        assert_string_equal(text, "old");
}

FAKE_TEST(disk_that_is_full) {
        static const char data[5000] = { [0 ... 4999] = 'x' };
        struct rlimit before, small;
        int r;

        fake_write(tree, "a", "old");
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        small = (struct rlimit){ .rlim_cur = 4096, .rlim_max = before.rlim_max };
        (void)signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        r = atomic_file_write(tree->fd, "a", data, sizeof(data), 0644);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(r, -EFBIG);
        assert_file(tree, "a", "old");
        assert_entries(tree, 1);
}

FAKE_TEST(names_that_cannot_be) {
        char name[256];

        memset(name, 'n', 255);
        name[255] = '\0';
        fake_write(tree, name, "old");
        assert_int_equal(atomic_file_write(tree->fd, name, "new", 3, 0644), -ENAMETOOLONG);
        assert_file(tree, name, "old");
        assert_entries(tree, 1);
        fake_mkdir(tree, "folder");
        assert_int_equal(atomic_file_write(tree->fd, "folder", "new", 3, 0644), -EISDIR);
        assert_entries(tree, 2);
        assert_int_equal(atomic_file_write(tree->fd, "none/a", "new", 3, 0644), -ENOENT);
        assert_int_equal(atomic_file_write(-EBADF, "a", "new", 3, 0644), -EBADF);
}

/* What a killed daemon left is replaced, and never written through. */
FAKE_TEST(leftovers) {
        fake_write(tree, ".a.new", "half of a file, longer than the new one");
        assert_int_equal(atomic_file_write(tree->fd, "a", "new", 3, 0644), 0);
        assert_file(tree, "a", "new");
        assert_entries(tree, 1);
        fake_write(tree, "victim", "untouched");
        fake_link(tree, ".a.new", "victim");
        assert_int_equal(atomic_file_write(tree->fd, "a", "newer", 5, 0644), 0);
        assert_file(tree, "a", "newer");
        assert_file(tree, "victim", "untouched");
        assert_entries(tree, 2);
        /* A link in place of the file itself is replaced, its target left alone. */
        fake_link(tree, "a", "victim");
        assert_int_equal(atomic_file_write(tree->fd, "a", "newest", 6, 0644), 0);
        assert_file(tree, "a", "newest");
        assert_file(tree, "victim", "untouched");
}

/* --- files that only root may have written --- */

static void write_it(const FakeTree *tree, const char *text) {
        fake_write(tree, "a", text);
        assert_int_equal(fchmodat(tree->fd, "a", 0600, 0), 0);
}

static int read_it(const FakeTree *tree, const char *name, const char *expected) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r = private_file_read(tree->fd, name, 8, &text, &size);

        if (r == 0) {
                assert_string_equal(text, expected);
                assert_int_equal(size, strlen(expected));
        } else {
                assert_null(text);
        }
        return r;
}

FAKE_TEST(content) {
        write_it(tree, "text");
        assert_int_equal(read_it(tree, "a", "text"), 0);
        write_it(tree, "");
        assert_int_equal(read_it(tree, "a", ""), 0);
        assert_int_equal(read_it(tree, "b", ""), -ENOENT);
}

FAKE_TEST(size) {
        write_it(tree, "12345678");
        assert_int_equal(read_it(tree, "a", "12345678"), 0);
        write_it(tree, "123456789");
        assert_int_equal(read_it(tree, "a", ""), -EFBIG);
}

FAKE_TEST(who_may_write) {
        write_it(tree, "text");
        assert_int_equal(fchmodat(tree->fd, "a", 0644, 0), 0);
        assert_int_equal(read_it(tree, "a", "text"), 0);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(fchmodat(tree->fd, "a", i == 0 ? 0620 : 0602, 0), 0);
                assert_int_equal(read_it(tree, "a", ""), -EPERM);
        }
        if (geteuid() != 0)
                skip();
        assert_int_equal(fchmodat(tree->fd, "a", 0600, 0), 0);
        assert_int_equal(fchownat(tree->fd, "a", 65534, 0, 0), 0);
        assert_int_equal(read_it(tree, "a", ""), -EPERM);
}

FAKE_TEST(no_plain_file) {
        write_it(tree, "text");
        fake_link(tree, "link", "a");
        assert_int_equal(read_it(tree, "link", ""), -EPERM);
        assert_int_equal(mkfifoat(tree->fd, "fifo", 0600), 0);
        assert_int_equal(read_it(tree, "fifo", ""), -EPERM); /* and does not wait */
        fake_mkdir(tree, "folder");
        assert_int_equal(fchmodat(tree->fd, "folder", 0700, 0), 0);
        assert_int_equal(read_it(tree, "folder", ""), -EPERM);
}

FAKE_TEST(folder) {
        mode_t before = umask(0);
        _cleanup_close_ int fd = -EBADF, again = -EBADF, other = -EBADF;
        struct stat st;

        assert_int_equal(private_dir_open(tree->fd, "d", &fd), 0);
        (void)umask(before);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(private_dir_open(tree->fd, "d", &again), 0);
        assert_int_equal(fchmodat(tree->fd, "d", 0720, 0), 0);
        assert_int_equal(private_dir_open(tree->fd, "d", &other), -EPERM);
        fake_link(tree, "link", "d");
        assert_true(private_dir_open(tree->fd, "link", &other) < 0);
        fake_write(tree, "file", "");
        assert_int_equal(private_dir_open(tree->fd, "file", &other), -ENOTDIR);
        assert_int_equal(private_dir_open(tree->fd, "none/d", &other), -ENOENT);
        assert_int_equal(other, -EBADF);
}

/* --- one process owns a folder, and the kernel names it --- */

/* A process that takes the lock, forks a child that stays, and waits to be killed. */
static pid_t start_holder(const FakeTree *tree) {
        int ready;
        const pid_t pid = child_fork_until_ready(&ready);

        if (pid == 0) {
                pid_t holder;
                int fd;

                if (lock_file_take(tree->fd, "lock", &fd, &holder) < 0)
                        _exit(1);
                child_wait_ready(ready);
        }
        return pid;
}

FAKE_TEST(one_at_a_time) {
        _cleanup_close_ int fd = -EBADF;
        pid_t holder = 1, pid;

        pid = start_holder(tree);
        assert_int_equal(lock_file_take(tree->fd, "lock", &fd, &holder), -EBUSY);
        assert_int_equal(holder, pid);
        assert_int_equal(fd, -EBADF);
        child_end(pid);
        assert_int_equal(lock_file_take(tree->fd, "lock", &fd, &holder), 0);
        assert_true(fd >= 0);
}

/* The child of a migration may outlive a daemon that was killed. */
FAKE_TEST(children_do_not_hold) {
        _cleanup_close_ int fd = -EBADF;
        pid_t holder, child, found;
        int status;

        assert_int_equal(lock_file_take(tree->fd, "lock", &fd, &holder), 0);
        child = child_fork();
        if (child == 0)
                _exit(lock_file_take(tree->fd, "lock", &fd, &found) == -EBUSY && found == getppid()
                              ? 0
                              : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

/* But one that was started with a copy of the descriptor is waited for. */
FAKE_TEST(children_that_share_it_are_waited_for) {
        _cleanup_close_ int fd = -EBADF;
        int ready;
        const pid_t pid = child_fork_until_ready(&ready); /* the former holder */
        pid_t holder, child;

        if (pid == 0) {
                if (lock_file_take(tree->fd, "lock", &fd, &holder) < 0 ||
                    lock_file_share(fd, 0) < 0)
                        _exit(1);
                child_wait_ready(ready);
        }
        child_end(pid);
        assert_int_equal(lock_file_take(tree->fd, "lock", &fd, &holder), 0);
        assert_int_equal(lock_file_share(fd, 1000 * 1000), 0);
        child = child_fork_until_ready(&ready); /* has a copy */
        if (child == 0)
                child_wait_ready(ready);
        closep(&fd);
        assert_int_equal(lock_file_take(tree->fd, "lock", &fd, &holder), 0);
        assert_int_equal(lock_file_share(fd, 0), -ETIME);
        child_end(child);
        assert_int_equal(lock_file_share(fd, 1000 * 1000), 0);
}

/* Any user may open a folder that all may read, and lock that. */
FAKE_TEST(nobody_else_can_open_it) {
        _cleanup_close_ int fd = -EBADF;
        mode_t before = umask(0);
        struct stat st;
        pid_t holder;

        assert_int_equal(lock_file_take(tree->fd, "lock", &fd, &holder), 0);
        (void)umask(before);
        assert_int_equal(fstatat(tree->fd, "lock", &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(symlinkat("lock", tree->fd, "link"), 0);
        assert_int_equal(lock_file_take(tree->fd, "link", &fd, &holder), -ELOOP);
}
