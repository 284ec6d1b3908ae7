/* The program as a child process. TIDBNUMAD_EXPORTER names it. */
#pragma once

#include "../../support/child-process.h"
#include "fixture.h"

typedef struct Child {
        pid_t pid;
        int stderr_fd;
} Child;

/* `passed_fd` (or -1) becomes descriptor 3 under systemd's protocol, sd_listen_fds(3). */
static inline Child start(const char *runtime_dir, const char *notify, int passed_fd,
                          const char *listen_a, const char *listen_b) {
        const char *program = getenv("TIDBNUMAD_EXPORTER");
        const char *argv[8] = { program, "--runtime-dir", runtime_dir };
        int pipe_fds[2], n = 3;
        char pid[16];
        Child child;

        assert_non_null(program);
        if (listen_a) {
                argv[n++] = "--listen";
                argv[n++] = listen_a;
        }
        if (listen_b) {
                argv[n++] = "--listen";
                argv[n++] = listen_b;
        }
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        child.pid = child_fork();
        if (child.pid == 0) {
                (void)dup2(pipe_fds[1], STDERR_FILENO);
                (void)unsetenv("NOTIFY_SOCKET");
                if (notify)
                        (void)setenv("NOTIFY_SOCKET", notify, 1);
                if (passed_fd >= 0) {
                        (void)snprintf(pid, sizeof(pid), "%d", getpid());
                        (void)setenv("LISTEN_PID", pid, 1);
                        (void)setenv("LISTEN_FDS", "1", 1);
                        if (passed_fd == 3)
                                (void)fcntl(3, F_SETFD, 0);
                        else
                                (void)dup2(passed_fd, 3);
                }
                (void)execv(program, (char **)argv);
                _exit(99);
        }
        (void)close(pipe_fds[1]);
        child.stderr_fd = pipe_fds[0];
        return child;
}

/* Exit code; -signal where one ended it. What it said goes to `said`. */
static inline int finish(Child child, Text *said) {
        int status;

        client_receive(child.stderr_fd, said);
        (void)close(child.stderr_fd);
        assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int stop(Child child, int signal_number) {
        _cleanup_text_ Text said = { 0 };
        int r;

        assert_int_equal(kill(child.pid, signal_number), 0);
        r = finish(child, &said);
        assert_string_equal(said.data ? said.data : "", "");
        return r;
}

static inline void wait_for_socket(const char *path) {
        for (int i = 0; i < 500; i++) {
                int fd = client_try_connect(path);

                if (fd >= 0) {
                        (void)close(fd);
                        return;
                }
                (void)usleep(10000);
        }
        fail_msg("nobody listens on %s after 5 s", path);
}
