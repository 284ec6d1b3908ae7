/* Waits until the daemon's status shows the requested change, and prints the result. */
#pragma once

#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/policy.h"

/* The expected result, by command. */
typedef struct Await {
        const Args *args;
        WordList globs;        /* those of the command line; borrowed */
        const WordList *stays; /* of release --undo: globs that stay released; NULL: none */
        double loaded_before;  /* time of the previous load of policies */
        bool quiet;            /* nothing is printed on success */
} Await;

/* Does the status show the expected result? */
bool await_is_done(const Await *await, const StatusFile *status);

/* Returns an exit status, with the result on stdout or stderr; or negative errno. */
int await_daemon(const Await *await);
