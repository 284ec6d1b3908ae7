/* A child that executes another program when it is told to; and the end of any child. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

typedef struct ExecChild {
        pid_t pid;
        int go;
} ExecChild;

/* Of the memory of the caller, until exec_child_go(). */
static inline void exec_child_start(ExecChild *child) {
        int go[2];

        assert_int_equal(pipe2(go, O_CLOEXEC), 0);
        child->pid = fork();
        assert_true(child->pid >= 0);
        if (child->pid == 0) {
                char byte;

                (void)!read(go[0], &byte, 1);
                (void)execlp("sleep", "sleep", "1000", NULL);
                _exit(127);
        }
        (void)close(go[0]);
        child->go = go[1];
}

static inline void exec_child_go(const ExecChild *child) {
        assert_int_equal(write(child->go, "x", 1), 1);
}

static inline void end_child(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static inline void exec_child_end(const ExecChild *child) {
        end_child(child->pid);
        (void)close(child->go);
}
