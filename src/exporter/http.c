/* libmicrohttpd around answer.c: one polling thread a socket, so that no client can hold up
 * another; every answer is complete in memory before its first byte goes out. It logs nothing,
 * because what it would log a client can cause. */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/exporter/answer.h"
#include "tidbnumad/exporter/http.h"

struct Http {
        struct MHD_Daemon *daemons[EXPORTER_SOCKETS_MAX];
        size_t n;
        const char *runtime_dir;
};

static double now_seconds(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_REALTIME, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* MHD_NO closes the connection without an answer: out of memory. Takes the body over. */
static enum MHD_Result queue_answer(struct MHD_Connection *connection, Answer *answer) {
        struct MHD_Response *response;
        enum MHD_Result result;

        response = MHD_create_response_from_buffer(answer->body.length, answer->body.data,
                                                   MHD_RESPMEM_MUST_FREE);
        if (!response)
                return MHD_NO;
        answer->body = (Text){ 0 };
        if (MHD_add_response_header(response, "Content-Type", answer->content_type) == MHD_NO ||
            MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_NO ||
            MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_NO ||
            (answer->status == 405 &&
             MHD_add_response_header(response, "Allow", "GET, HEAD") == MHD_NO)) {
                MHD_destroy_response(response);
                return MHD_NO;
        }
        result = MHD_queue_response(connection, answer->status, response);
        MHD_destroy_response(response);
        return result;
}

/* Called once when the headers are there and again when the request is complete. A wrong method is
 * refused the first time, so that no body is read. */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **request) {
        static char seen;
        const Http *http = userdata;
        _cleanup_answer_ Answer answer = { 0 };

        (void)version;
        (void)upload;
        if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
                if (answer_build_method_not_allowed(&answer) < 0)
                        return MHD_NO;
                return queue_answer(connection, &answer);
        }
        if (!*request) {
                *request = &seen;
                return MHD_YES;
        }
        if (*upload_size > 0) { /* a body with GET means nothing: swallow it */
                *upload_size = 0;
                return MHD_YES;
        }
        if (answer_build(http->runtime_dir, path, now_seconds(), &answer) < 0)
                return MHD_NO;
        return queue_answer(connection, &answer);
}

/* MHD_USE_ITC: without it, stopping shuts the listening socket down, which systemd still holds. */
static struct MHD_Daemon *start(Http *http, int fd) {
        return MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL,
                                on_request, http, MHD_OPTION_LISTEN_SOCKET, fd,
                                MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS_MAX,
                                MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_CONNECTION_BYTES,
                                MHD_OPTION_CONNECTION_TIMEOUT, HTTP_IDLE_SECONDS, MHD_OPTION_END);
}

int http_new(Listeners *listeners, const char *runtime_dir, Http **ret) {
        _cleanup_(http_freep) Http *http = calloc(1, sizeof(*http));

        if (!http)
                return -ENOMEM;
        http->runtime_dir = runtime_dir;
        for (size_t i = 0; i < listeners->n; i++) {
                errno = 0;
                http->daemons[http->n] = start(http, listeners->sockets[i].fd);
                if (!http->daemons[http->n])
                        return errno > 0 ? -errno : -EIO;
                http->n++;
                listeners->sockets[i].fd = -EBADF; /* MHD_stop_daemon() closes it */
        }
        *ret = TAKE_PTR(http);
        return 0;
}

void http_free(Http *http) {
        if (!http)
                return;
        for (size_t i = 0; i < http->n; i++)
                MHD_stop_daemon(http->daemons[i]);
        free(http);
}
