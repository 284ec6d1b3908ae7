/* Serves answer.c by libmicrohttpd: one polling thread for each socket, so that clients of one
 * cannot delay those of another. Every answer is complete in memory before its first byte is sent.
 * Nothing is logged, because clients could fill the log. */
#include <errno.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "config.h"
#include "tidbnumad/exporter/answer.h"
#include "tidbnumad/exporter/clients.h"
#include "tidbnumad/exporter/http.h"

/* The kernel doubles this size. A snapshot takes some hundred writes. */
#define SOCKET_BUFFER_BYTES 8192

/* What libmicrohttpd is answered; of no type of its own before 0.9.71. */
#if MHD_VERSION < 0x00097002
typedef int HttpResult;
#else
typedef enum MHD_Result HttpResult;
#endif

struct Http {
        struct MHD_Daemon *daemons[EXPORTER_SOCKETS_MAX];
        size_t n;
        Store *store;
        Clients *clients;
        unsigned crowded_msec;
        atomic_uint_fast64_t n_scrapes;
};

static double now_seconds(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_REALTIME, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* --- answers --- */

static void free_answer(void *userdata) {
        Answer *answer = userdata;

        answer_done(answer);
        free(answer);
}

#if HAVE_MHD_RESPONSE_FROM_IOVEC
static struct MHD_Response *response_of(Answer *answer) {
        struct MHD_IoVec parts[2];
        unsigned n = 0;

        if (answer->body && answer->body->file.size > 0)
                parts[n++] = (struct MHD_IoVec){ answer->body->file.data, answer->body->file.size };
        if (answer->text.length > 0)
                parts[n++] = (struct MHD_IoVec){ answer->text.data, answer->text.length };
        return MHD_create_response_from_iovec(parts, n, free_answer, answer);
}
#else
/* Bytes that are copied at a time, into memory that each answer has. */
#define BLOCK_BYTES 4096

/* Copies at most `max` bytes from that position of the body and the text after it. */
static ssize_t copy_answer(void *userdata, uint64_t position, char *buffer, size_t max) {
        const Answer *answer = userdata;
        const size_t body_size = answer->body ? answer->body->file.size : 0;
        const char *from;
        size_t n;

        if (position < body_size) {
                from = answer->body->file.data + position;
                n = body_size - position;
        } else {
                from = answer->text.data + (position - body_size);
                n = answer->text.length - (position - body_size);
        }
        n = n < max ? n : max;
        memcpy(buffer, from, n);
        return (ssize_t)n;
}

static struct MHD_Response *response_of(Answer *answer) {
        const size_t body_size = answer->body ? answer->body->file.size : 0;

        return MHD_create_response_from_callback(body_size + answer->text.length, BLOCK_BYTES,
                                                 copy_answer, answer, free_answer);
}
#endif

/* Sends the body from the store without a copy of the whole. Takes over the answer's parts. */
static struct MHD_Response *make_response(Answer *answer) {
        struct MHD_Response *response;
        Answer *held = malloc(sizeof(*held));

        if (!held)
                return NULL;
        *held = *answer;
        *answer = (Answer){ 0 };
        response = response_of(held);
        if (!response)
                free_answer(held);
        return response;
}

static bool add_header(struct MHD_Response *response, const char *name, const char *value) {
        return MHD_add_response_header(response, name, value) == MHD_YES;
}

static bool add_headers(struct MHD_Response *response, const char *content_type,
                        const Answer *answer) {
        return add_header(response, "Content-Type", content_type) &&
               add_header(response, "Cache-Control", "no-store") &&
               add_header(response, "X-Content-Type-Options", "nosniff") &&
               (answer->status != 405 || add_header(response, "Allow", "GET, HEAD"));
}

/* MHD_NO closes the connection without an answer: no memory. Takes over the answer's parts. */
static HttpResult queue_answer(struct MHD_Connection *connection, Answer *answer) {
        const Answer about = *answer;
        struct MHD_Response *response;
        HttpResult result = MHD_NO;

        response = make_response(answer);
        if (!response)
                return MHD_NO;
        if (add_headers(response, about.content_type, &about))
                result = MHD_queue_response(connection, about.status, response);
        MHD_destroy_response(response);
        return result;
}

/* --- requests --- */

static Client *client_of(struct MHD_Connection *connection) {
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

        return info ? info->socket_context : NULL;
}

static HttpResult answer_get(Http *http, struct MHD_Connection *connection, const char *path) {
        const AnswerRequest request = {
                .path = path,
                .now_seconds = now_seconds(),
                .n_scrapes = http->n_scrapes,
                .n_cut_off = clients_n_cut(http->clients),
        };
        _cleanup_answer_ Answer answer = { 0 };
        Client *client = client_of(connection);

        if (!client || answer_build(http->store, &request, &answer) < 0)
                return MHD_NO;
        if (answer.is_scrape)
                http->n_scrapes++;
        if (store_is_crowded(http->store))
                clients_cut_fetching(http->clients, http->crowded_msec);
        clients_fetches(http->clients, client);
        return queue_answer(connection, &answer);
}

/* Called when the headers are complete, and again when the request is. A wrong method is refused in
 * the first call, so that no body is read. */
static HttpResult on_request(void *userdata, struct MHD_Connection *connection, const char *path,
                             const char *method, _unused_ const char *version,
                             _unused_ const char *upload, size_t *upload_size, void **request) {
        static char seen;
        _cleanup_answer_ Answer answer = { 0 };

        if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
                if (answer_build_method_not_allowed(&answer) < 0)
                        return MHD_NO;
                return queue_answer(connection, &answer);
        }
        if (!*request) {
                *request = &seen;
                return MHD_YES;
        }
        if (*upload_size > 0) { /* discard the body of a GET request */
                *upload_size = 0;
                return MHD_YES;
        }
        return answer_get(userdata, connection, path);
}

static void on_completed(void *userdata, struct MHD_Connection *connection, _unused_ void **request,
                         _unused_ enum MHD_RequestTerminationCode code) {
        Http *http = userdata;
        Client *client = client_of(connection);

        if (client)
                clients_asks(http->clients, client);
}

/* The kernel charges data in a socket to the exporter, even after a client that reads nothing was
 * disconnected, for as long as the client keeps its end open. */
static void keep_buffers_small(int fd) {
        const int size = SOCKET_BUFFER_BYTES;

        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

/* The descriptor is open in both calls. */
static void on_connection(void *userdata, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code) {
        Http *http = userdata;
        const union MHD_ConnectionInfo *info;

        if (code == MHD_CONNECTION_NOTIFY_STARTED) {
                info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
                if (info)
                        keep_buffers_small(info->connect_fd);
                *socket_context = info ? clients_add(http->clients, info->connect_fd) : NULL;
        } else if (*socket_context)
                clients_remove(http->clients, *socket_context);
}

/* --- sockets --- */

/* MHD_USE_ITC: without it, stopping shuts the listening socket down, which systemd still holds. */
static struct MHD_Daemon *start(Http *http, int fd, const HttpLimits *limits) {
        return MHD_start_daemon(
                MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request, http,
                MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                limits->connections + CLIENTS_LEAVING_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                limits->header_bytes, MHD_OPTION_CONNECTION_TIMEOUT, limits->idle_seconds,
                MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
                on_completed, http, MHD_OPTION_END);
}

static int start_all(Http *http, Listeners *listeners, const HttpLimits *limits) {
        for (size_t i = 0; i < listeners->n; i++) {
                errno = 0;
                http->daemons[http->n] = start(http, listeners->sockets[i].fd, limits);
                if (!http->daemons[http->n])
                        return errno > 0 ? -errno : -EIO;
                http->n++;
                listeners->sockets[i].fd = -EBADF; /* MHD_stop_daemon() closes it */
        }
        return 0;
}

int http_new(Listeners *listeners, const char *runtime_dir, const HttpLimits *limits, Http **ret) {
        _cleanup_(http_freep) Http *http = calloc(1, sizeof(*http));
        int r;

        if (!http)
                return -ENOMEM;
        r = store_new(runtime_dir, &http->store);
        if (r < 0)
                return r;
        http->crowded_msec = limits->crowded_msec;
        r = clients_new(limits->connections, limits->request_msec, limits->answer_msec,
                        &http->clients);
        if (r < 0)
                return r;
        r = start_all(http, listeners, limits);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(http);
        return 0;
}

void http_free(Http *http) {
        if (!http)
                return;
        for (size_t i = 0; i < http->n; i++)
                MHD_stop_daemon(http->daemons[i]);
        clients_free(http->clients);
        store_free(http->store);
        free(http);
}
