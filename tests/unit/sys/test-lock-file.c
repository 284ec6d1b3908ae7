/* One process owns a folder, and the kernel names it. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/atomic-file.h"

/* A process that takes the lock, forks a child that stays, and waits to be killed. */
static pid_t start_holder(const FakeTree *tree) {
        int ready[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                pid_t holder;
                int fd;

                if (lock_file_take(tree->fd, "lock", &fd, &holder) < 0 ||
                    write(ready[1], "x", 1) != 1)
                        _exit(1);
                for (;;)
                        (void)pause();
        }
        (void)close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        (void)close(ready[0]);
        return pid;
}

static void end_holder(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

FAKE_TEST(one_at_a_time) {
        _cleanup_close_ int fd = -EBADF;
        pid_t holder = 1, pid;

        pid = start_holder(tree);
        assert_int_equal(lock_file_take(tree->fd, "lock", &fd, &holder), -EBUSY);
        assert_int_equal(holder, pid);
        assert_int_equal(fd, -EBADF);
        end_holder(pid);
        assert_int_equal(lock_file_take(tree->fd, "lock", &fd, &holder), 0);
        assert_true(fd >= 0);
}

/* The child of a migration may outlive a daemon that was killed. */
FAKE_TEST(children_do_not_hold) {
        _cleanup_close_ int fd = -EBADF;
        pid_t holder, child, found;
        int status;

        assert_int_equal(lock_file_take(tree->fd, "lock", &fd, &holder), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
                _exit(lock_file_take(tree->fd, "lock", &fd, &found) == -EBUSY && found == getppid()
                              ? 0
                              : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
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
