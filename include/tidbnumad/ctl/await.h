/* Waits until the daemon's status shows what the operator asked for, and prints the result. */
#pragma once

#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/status-file.h"

/* The expected result, by command; `globs` are those of the command line, or "*". */
typedef struct Await {
        const Args *args;
        const char *const *globs;
        size_t n_globs;
        char *const *stays; /* of release --undo: globs that stay released */
        size_t n_stays;
        double loaded_before; /* time of the previous load of policies */
        bool quiet;           /* nothing is printed on success */
} Await;

/* Does the status show the expected result? */
bool await_is_done(const Await *await, const StatusFile *status);

/* Does a glob name the instance or unit? `unit` may be NULL. */
bool await_names(const Await *await, const char *name, const char *unit);

/* Returns an exit status, with the result on stdout or stderr; or negative errno. */
int await_daemon(const Await *await);
