/* Processes that a test starts beside itself. They are killed when the test ends, also if it fails.
 */
#pragma once

#include <sys/prctl.h>

#include "test.h"

/* The rest of a child: it waits until it is killed. */
static inline _Noreturn void child_wait(void) {
        for (;;)
                (void)pause();
}

/* fork(2): 0 in the child. */
static inline pid_t child_fork(void) {
        const pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        return pid;
}

/* A child that only waits. */
static inline pid_t child_start(void) {
        const pid_t pid = child_fork();

        if (pid == 0)
                child_wait();
        return pid;
}

/* fork(2) whose parent waits until the child has called child_wait_ready(). */
static inline pid_t child_fork_until_ready(int *ret_ready) {
        int ends[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid = child_fork();
        *ret_ready = ends[1];
        if (pid == 0)
                return 0;
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        (void)close(ends[0]);
        return pid;
}

static inline _Noreturn void child_wait_ready(int ready) {
        (void)!write(ready, "x", 1);
        child_wait();
}

/* 0: it has ended. */
static inline void child_end(pid_t pid) {
        if (pid == 0)
                return;
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Kills the child but does not reap it. */
static inline void child_make_zombie(pid_t pid) {
        siginfo_t info;

        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}
