/* Waiting until the daemon's status shows what the operator asked for, and telling what came. */
#pragma once

#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/status-file.h"

/* What is waited for, by the command; `globs` are those of the command line,
 * or "*". */
typedef struct Await {
        const Args *args;
        const char *const *globs;
        size_t n_globs;
        char *const *stays; /* of release --undo: globs that are released all the same */
        size_t n_stays;
        double loaded_before; /* the load of policies that was before */
        bool quiet;           /* nothing is printed on success */
} Await;

/* Does the status show it? */
bool await_is_done(const Await *await, const StatusFile *status);

/* Does a glob name the instance or unit? `unit` may be NULL. */
bool await_names(const Await *await, const char *name, const char *unit);

/* An exit status, told on stdout or stderr; or negative errno. */
int await_daemon(const Await *await);
