/* The command line of tidbnumad-exporter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/base/cleanup.h"

#define EXPORTER_RUNTIME_DIR "/run/tidbnumad"

/* Each socket has a thread of its own, so there is a limit. */
#define EXPORTER_SOCKETS_MAX 16u

typedef struct Args {
        const char *runtime_dir;
        const char *listen[EXPORTER_SOCKETS_MAX]; /* "unix:PATH" or "ADDRESS:PORT", as given */
        size_t n_listen;
        bool help;    /* print it and end well */
        bool version; /* print it and end well */
} Args;

/* The strings point into `argv`. -EINVAL: not understood, a sentence about it is on stderr. */
int args_parse(int argc, char **argv, Args *ret);

void args_print_help(FILE *file);
