/* HTTP on listening sockets. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/exporter/listen.h"

typedef struct Http Http;

/* Limits on what clients may use. */
typedef struct HttpLimits {
        unsigned connections;  /* connections of all sockets together */
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

/* Connected clients and their deadlines: a client that sends its request or reads its answer a byte
 * at a time is disconnected, which an idle timeout alone never does. */

typedef struct Clients Clients;
typedef struct Client Client;

/* Places for clients that were disconnected but not removed yet, in addition to `max`. */
#define CLIENTS_LEAVING_MAX 64u

/* Serves at most `max` clients, and at most a quarter of these for one user (unix(7), SO_PEERCRED).
 * A further client replaces one of the same process, if there is any: the oldest one whose request
 * is not complete, or else the one with the oldest answer. A client has `request_msec` for a
 * request, counted from the connection or the previous answer, and `answer_msec` for reading an
 * answer. To be called before other threads exist; starts the thread that disconnects clients. */
int clients_new(size_t max, unsigned request_msec, unsigned answer_msec, Clients **ret);
void clients_free(Clients *clients);
DEFINE_CLEANUP(Clients *, clients_free)

/* NULL: no place is left. The caller keeps the descriptor, open until clients_remove(). */
Client *clients_add(Clients *clients, int fd);
void clients_remove(Clients *clients, Client *client);

/* clients_asks(): the client sends a request; clients_fetches(): it reads its answer. */
void clients_asks(Clients *clients, Client *client);
void clients_fetches(Clients *clients, Client *client);

/* Disconnects clients that have been reading an answer for this long. */
void clients_cut_fetching(Clients *clients, unsigned least_msec);

/* Number of clients that were disconnected, also by the idle timeout. */
uint64_t clients_n_cut(Clients *clients);
