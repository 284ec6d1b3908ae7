/* The sockets that the exporter serves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/exporter/args.h"

typedef struct Listener {
        int fd;           /* listening, non-blocking; owned */
        const char *path; /* of a unix socket that we created and remove at the end, else NULL */
} Listener;

typedef struct Listeners {
        Listener sockets[EXPORTER_SOCKETS_MAX];
        size_t n;
} Listeners;

/* Takes the sockets that systemd passed (sd_listen_fds(3)) and opens those of --listen, whose paths
 * the result borrows from `args`. Says on stderr what is wrong, where and how to mend it. -EINVAL:
 * an address or a passed descriptor of the wrong kind, or nothing to listen on; -EADDRINUSE:
 * somebody else listens there; other negative errno. On failure nothing stays open. */
int listeners_open(const Args *args, Listeners *ret);

/* Closes what is still open (-EBADF: handed on) and removes the unix sockets we created. */
void listeners_close(Listeners *listeners);
#define _cleanup_listeners_ _cleanup_(listeners_close)
