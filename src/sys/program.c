#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/program.h"

/* `out` becomes its standard output (-1: it has ours); `quiet`: it has no standard error. */
static int program_spawn(const char *const *argv, int out, bool quiet, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        int r = posix_spawn_file_actions_init(&actions);

        if (r != 0)
                return -r;
        if (out >= 0)
                r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        if (r == 0 && quiet)
                r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
                                                     0);
        if (r == 0)
                r = posix_spawnp(ret, argv[0], &actions, NULL, (char *const *)argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static int program_wait(pid_t pid) {
        int status;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int program_run(const char *const *argv, int out) {
        pid_t pid;
        int r = program_spawn(argv, out, false, &pid);

        return r < 0 ? r : program_wait(pid);
}

int program_read(const char *const *argv, Text *ret) {
        _cleanup_close_ int in = -EBADF, out = -EBADF;
        char buffer[16384];
        int fds[2], r, ended;
        pid_t pid;
        ssize_t n;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        in = fds[0];
        out = fds[1];
        r = program_spawn(argv, out, true, &pid);
        closep(&out);
        if (r < 0)
                return r;
        do {
                n = read(in, buffer, sizeof(buffer));
                if (n > 0)
                        text_append_bytes(ret, buffer, (size_t)n);
        } while (n > 0 || (n < 0 && errno == EINTR));
        r = n < 0 ? -errno : ret->error;
        closep(&in);
        ended = program_wait(pid);
        return r < 0 ? r : ended;
}
