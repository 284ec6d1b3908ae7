/* HTTP on listening sockets. */
#pragma once

#include <stddef.h>

#include "tidbnumad/exporter/listen.h"

typedef struct Http Http;

/* What clients may take of the exporter, and how long. */
typedef struct HttpLimits {
        unsigned connections; /* of all sockets together; further ones wait in the backlogs */
        size_t header_bytes; /* what libmicrohttpd has for a request's header and its answer's; more
                              * is answered with 431 or 414 */
        unsigned idle_seconds; /* without a byte in either direction */
        unsigned request_msec; /* for a request, from the connection or the answer before it */
        unsigned answer_msec;  /* for the client to fetch an answer */
} HttpLimits;

/* A scraper has its answer in milliseconds, over a bad link in seconds. The headers of all
 * connections are 4 MiB at most. */
#define HTTP_LIMITS                                                                                \
        ((HttpLimits){ .connections = 256,                                                         \
                       .header_bytes = (size_t)16 * 1024,                                          \
                       .idle_seconds = 10,                                                         \
                       .request_msec = 15000,                                                      \
                       .answer_msec = 30000 })

/* Serves the sockets, each from a thread of its own, until http_free(). Takes the descriptors over
 * (they are -EBADF in `listeners` then). `runtime_dir` must live as long as the result. All threads
 * inherit the signal mask of the caller. Negative errno on failure, with everything stopped. */
int http_new(Listeners *listeners, const char *runtime_dir, const HttpLimits *limits, Http **ret);

/* Stops answering and closes the sockets. */
void http_free(Http *http);
DEFINE_CLEANUP(Http *, http_free)
