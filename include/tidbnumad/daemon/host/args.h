/* The command line of tidbnumad(8). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { ARGS_POLICY_DIRS_MAX = 8 };

typedef struct Args {
        bool dry_run;
        bool once;
        bool debug;
        const char *sysroot;                           /* NULL: this machine */
        const char *runtime_dir;                       /* NULL: a dry run that publishes nothing */
        const char *policy_dirs[ARGS_POLICY_DIRS_MAX]; /* files of later folders replace those of
                                                          the same name in earlier ones */
        size_t n_policy_dirs;
} Args;

/* 1: continue; 0: --help or --version was printed; -EINVAL: invalid, with a message on stderr. */
int args_parse(Args *args, int argc, char *argv[]);
