/* The sockets that the exporter serves. */
#pragma once

#include <stddef.h>

#include "tidbnumad/exporter/args.h"

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
