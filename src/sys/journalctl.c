/* journalctl(1) as a child. The program decides what the user may see, and knows where journals
 * are. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/journalctl.h"

enum { ARGUMENTS_MAX = 16 };

static int journalctl_spawn(const char *const *arguments, int out, pid_t *ret) {
        char *argv[ARGUMENTS_MAX + 4] = { (char *)"journalctl", (char *)"--no-pager",
                                          (char *)"--quiet" };
        posix_spawn_file_actions_t actions;
        int r;

        for (size_t i = 0; arguments[i] && i < ARGUMENTS_MAX; i++)
                argv[3 + i] = (char *)arguments[i];
        r = posix_spawn_file_actions_init(&actions);
        if (r != 0)
                return -r;
        r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
                                                     0);
        if (r == 0)
                r = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static int read_all(int fd, Text *ret) {
        char buffer[16384];

        for (;;) {
                ssize_t n = read(fd, buffer, sizeof(buffer));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : ret->error;
                text_append_bytes(ret, buffer, (size_t)n);
        }
}

int journalctl_read(const char *const *arguments, Text *ret) {
        _cleanup_close_ int in = -EBADF, out = -EBADF;
        int fds[2], status, r, waited;
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        in = fds[0];
        out = fds[1];
        r = journalctl_spawn(arguments, out, &pid);
        closep(&out);
        if (r < 0)
                return r;
        r = read_all(in, ret);
        closep(&in);
        do
                waited = waitpid(pid, &status, 0) < 0 ? -errno : 0;
        while (waited == -EINTR);
        if (r < 0 || waited < 0)
                return r < 0 ? r : waited;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}
