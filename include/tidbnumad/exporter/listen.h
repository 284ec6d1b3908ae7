/* The command line of tidbnumad-exporter, and the sockets that it serves. */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/cleanup.h"

#define EXPORTER_RUNTIME_DIR "/run/tidbnumad"

/* Each socket has a thread of its own, so there is a limit. */
#define EXPORTER_SOCKETS_MAX 16u

typedef struct Args {
        const char *runtime_dir;
        const char *listen[EXPORTER_SOCKETS_MAX]; /* "unix:PATH" or "ADDRESS:PORT", as given */
        size_t n_listen;
} Args;

/* The strings point into `argv`. 1: continue; 0: --help or --version was printed; -EINVAL: not
 * understood, a sentence about it is on stderr. */
int args_parse(int argc, char **argv, Args *ret);

/* The sockets that the exporter serves. */

typedef struct Listener {
        int fd;           /* listening, non-blocking; owned */
        const char *path; /* path of a unix socket that this process created and removes at the end,
                             else NULL */
} Listener;

typedef struct Listeners {
        Listener sockets[EXPORTER_SOCKETS_MAX];
        size_t n;
} Listeners;

/* Takes the sockets that systemd passed (sd_listen_fds(3)) and opens those of --listen, whose paths
 * the result borrows from `args`. Errors are on stderr, with their place and remedy. -EINVAL: an
 * address or a passed descriptor of the wrong kind, or no socket at all; -EADDRINUSE: another
 * process listens there. On failure nothing stays open. */
int listeners_open(const Args *args, Listeners *ret);

/* Closes the descriptors that are still open (-EBADF: taken over) and removes the unix sockets that
 * were created. */
void listeners_close(Listeners *listeners);
#define _cleanup_listeners_ _cleanup_(listeners_close)
