/* HTTP on listening sockets. */
#pragma once

#include <stddef.h>

#include "tidbnumad/exporter/listen.h"

typedef struct Http Http;

/* What clients may take of the exporter, and how long. */
typedef struct HttpLimits {
        unsigned connections; /* of all sockets together, see clients.h */
        size_t header_bytes; /* what libmicrohttpd has for a request's header and its answer's; more
                              * is answered with 431 or 414 */
        unsigned idle_seconds; /* without a byte in either direction */
        unsigned request_msec; /* for a request, from the connection or the answer before it */
        unsigned answer_msec;  /* for the client to fetch an answer */
        unsigned crowded_msec; /* the same while a newer snapshot waits for memory */
} HttpLimits;

/* A scraper has its answer in milliseconds, over a bad link in seconds. */
#define HTTP_LIMITS                                                                                \
        ((HttpLimits){ .connections = 1024,                                                        \
                       .header_bytes = (size_t)8 * 1024,                                           \
                       .idle_seconds = 10,                                                         \
                       .request_msec = 15000,                                                      \
                       .answer_msec = 30000,                                                       \
                       .crowded_msec = 1000 })

/* Serves the sockets, each from a thread of its own, until http_free(). Takes the descriptors over
 * (they are -EBADF in `listeners` then). `runtime_dir` must live as long as the result. All threads
 * inherit the signal mask of the caller. Negative errno on failure, with everything stopped. */
int http_new(Listeners *listeners, const char *runtime_dir, const HttpLimits *limits, Http **ret);

/* Stops answering and closes the sockets. */
void http_free(Http *http);
DEFINE_CLEANUP(Http *, http_free)
