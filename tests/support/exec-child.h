/* A child that executes another program on request. */
#pragma once

#include "child-process.h"

typedef struct ExecChild {
        pid_t pid;
        int go;
} ExecChild;

/* It has the memory of the caller until exec_child_go(). */
static inline void exec_child_start(ExecChild *child) {
        int go[2];

        assert_int_equal(pipe2(go, O_CLOEXEC), 0);
        child->pid = child_fork();
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

static inline void exec_child_end(const ExecChild *child) {
        child_end(child->pid);
        (void)close(child->go);
}
