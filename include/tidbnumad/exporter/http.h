/* HTTP on listening sockets. */
#pragma once

#include "tidbnumad/exporter/listen.h"

typedef struct Http Http;

/* What one client may take. The header bound is what libmicrohttpd has for a request and the header
 * of its answer; more is answered with 431 or 414. Bodies of answers are not in it. */
#define HTTP_CONNECTIONS_MAX 32u           /* a socket; further ones wait in its backlog */
#define HTTP_CONNECTION_BYTES (16u * 1024) /* headers */
#define HTTP_IDLE_SECONDS 10u              /* without a byte in either direction */

/* Serves the sockets, each from a thread of its own, until http_free(). Takes the descriptors over
 * (they are -EBADF in `listeners` then). `runtime_dir` must live as long as the result. All threads
 * inherit the signal mask of the caller. Negative errno on failure, with everything stopped. */
int http_new(Listeners *listeners, const char *runtime_dir, Http **ret);

/* Stops answering and closes the sockets. */
void http_free(Http *http);
DEFINE_CLEANUP(Http *, http_free)
