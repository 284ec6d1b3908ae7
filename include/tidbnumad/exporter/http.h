/* HTTP on listening sockets. */
#pragma once

#include <stddef.h>

#include "tidbnumad/exporter/listen.h"

typedef struct Http Http;

/* Limits on what clients may use. */
typedef struct HttpLimits {
        unsigned connections;  /* connections of all sockets together, see clients.h */
        size_t header_bytes;   /* memory of libmicrohttpd for a request's header and its answer's; a
                                  larger request is answered with 431 or 414 */
        unsigned idle_seconds; /* idle timeout: no byte in either direction */
        unsigned request_msec; /* for sending a request, from the connection or the previous answer
                                */
        unsigned answer_msec;  /* for reading an answer */
        unsigned crowded_msec; /* the same, while a newer snapshot waits for memory */
} HttpLimits;

/* A scraper reads its answer within milliseconds, over a bad link within seconds. */
#define HTTP_LIMITS                                                                                \
        ((HttpLimits){ .connections = 1024,                                                        \
                       .header_bytes = (size_t)8 * 1024,                                           \
                       .idle_seconds = 10,                                                         \
                       .request_msec = 15000,                                                      \
                       .answer_msec = 30000,                                                       \
                       .crowded_msec = 1000 })

/* Serves each socket with a thread of its own until http_free(). Takes over the descriptors, which
 * are -EBADF in `listeners` afterwards. `runtime_dir` must outlive the result. All threads inherit
 * the caller's signal mask. On a negative errno everything is stopped. */
int http_new(Listeners *listeners, const char *runtime_dir, const HttpLimits *limits, Http **ret);

/* Stops answering and closes the sockets. */
void http_free(Http *http);
DEFINE_CLEANUP(Http *, http_free)
