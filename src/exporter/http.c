/* HTTP by libmicrohttpd: one polling thread for each socket, so that clients of one cannot delay
 * those of another. Every answer is complete in memory before its first byte is sent. Nothing is
 * logged, because clients could fill the log. */
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tidbnumad/exporter/answer.h"
#include "tidbnumad/exporter/http.h"

#define NEVER UINT64_MAX
#define NO_USER ((uid_t)-1)

struct Client {
        int fd; /* -EBADF: the place is free */
        uid_t user;
        pid_t pid;           /* 0: of another PID namespace, or over TCP */
        uint64_t since_msec; /* when its request or its answer began */
        uint64_t order;      /* order of these times: smaller is earlier */
        uint64_t deadline_msec;
        bool fetches;
};

struct Clients {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        pthread_t thread;
        bool ends;
        uint64_t wakes_msec; /* when the thread wakes */
        unsigned request_msec, answer_msec;
        uint64_t n_begun;
        atomic_uint_fast64_t n_cut;
        size_t max, max_of_user;
        size_t n_places;
        Client list[];
};

static uint64_t now_msec(clockid_t clock) {
        struct timespec t;

        (void)clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- the thread --- */

static void client_cut(Clients *clients, Client *client) {
        clients->n_cut++;
        (void)shutdown(client->fd, SHUT_RDWR);
        client->deadline_msec = NEVER;
        client->fetches = false;
}

static void *clients_watch(void *userdata) {
        Clients *clients = userdata;

        (void)pthread_mutex_lock(&clients->lock);
        while (!clients->ends) {
                const uint64_t now = now_msec(CLOCK_MONOTONIC);
                struct timespec until;
                uint64_t next = NEVER;

                for (size_t i = 0; i < clients->n_places; i++) {
                        Client *client = &clients->list[i];

                        if (client->fd < 0)
                                continue;
                        if (client->deadline_msec <= now)
                                client_cut(clients, client);
                        if (client->deadline_msec < next)
                                next = client->deadline_msec;
                }
                until = (struct timespec){ .tv_sec = (time_t)(next / 1000),
                                           .tv_nsec = (long)(next % 1000) * 1000000 };
                clients->wakes_msec = next;
                if (next == NEVER)
                        (void)pthread_cond_wait(&clients->changed, &clients->lock);
                else
                        (void)pthread_cond_timedwait(&clients->changed, &clients->lock, &until);
        }
        (void)pthread_mutex_unlock(&clients->lock);
        return NULL;
}

int clients_new(size_t max, unsigned request_msec, unsigned answer_msec, Clients **ret) {
        const size_t n_places = max + CLIENTS_LEAVING_MAX;
        Clients *clients = calloc(1, sizeof(*clients) + n_places * sizeof(clients->list[0]));
        pthread_condattr_t attributes;
        int r;

        if (!clients)
                return -ENOMEM;
        clients->request_msec = request_msec;
        clients->answer_msec = answer_msec;
        clients->max = max;
        clients->max_of_user = max / 4 > 0 ? max / 4 : 1;
        clients->n_places = n_places;
        for (size_t i = 0; i < n_places; i++)
                clients->list[i].fd = -EBADF;
        (void)pthread_mutex_init(&clients->lock, NULL);
        (void)pthread_condattr_init(&attributes);
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&clients->changed, &attributes);
        (void)pthread_condattr_destroy(&attributes);
        r = pthread_create(&clients->thread, NULL, clients_watch, clients);
        if (r > 0) {
                (void)pthread_cond_destroy(&clients->changed);
                (void)pthread_mutex_destroy(&clients->lock);
                free(clients);
                return -r;
        }
        *ret = clients;
        return 0;
}

void clients_free(Clients *clients) {
        if (!clients)
                return;
        (void)pthread_mutex_lock(&clients->lock);
        clients->ends = true;
        (void)pthread_cond_signal(&clients->changed);
        (void)pthread_mutex_unlock(&clients->lock);
        (void)pthread_join(clients->thread, NULL);
        (void)pthread_cond_destroy(&clients->changed);
        (void)pthread_mutex_destroy(&clients->lock);
        free(clients);
}

/* --- the table --- */

static void client_set_deadline(Clients *clients, Client *client, bool fetches) {
        client->since_msec = now_msec(CLOCK_MONOTONIC);
        client->order = clients->n_begun++;
        client->fetches = fetches;
        client->deadline_msec =
                client->since_msec + (fetches ? clients->answer_msec : clients->request_msec);
        if (client->deadline_msec < clients->wakes_msec)
                (void)pthread_cond_signal(&clients->changed);
}

static bool client_is_served(const Client *client) {
        return client->fd >= 0 && client->deadline_msec != NEVER;
}

/* Incomplete requests are disconnected first, because a client that gets an answer disconnects
 * soon. */
static bool client_goes_before(const Client *a, const Client *b) {
        return a->fetches != b->fetches ? b->fetches : a->order < b->order;
}

/* `user` NO_USER: among the clients of all users. A process replaces clients of its own first: in a
 * user namespace, users that it does not know are one (user_namespaces(7)), and a crowd is not to
 * replace another user's client. */
static void clients_make_place(Clients *clients, uid_t user, pid_t pid, size_t max) {
        Client *first = NULL, *first_own = NULL;
        size_t n = 0;

        for (size_t i = 0; i < clients->n_places; i++) {
                Client *client = &clients->list[i];

                if (!client_is_served(client) || (user != NO_USER && client->user != user))
                        continue;
                n++;
                if (!first || client_goes_before(client, first))
                        first = client;
                if (client->pid == pid && (!first_own || client_goes_before(client, first_own)))
                        first_own = client;
        }
        if (n >= max)
                client_cut(clients, first_own ? first_own : first);
}

Client *clients_add(Clients *clients, int fd) {
        struct ucred peer;
        socklen_t size = sizeof(peer);
        Client *client = NULL;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
                peer = (struct ucred){ .uid = NO_USER }; /* over TCP */
        (void)pthread_mutex_lock(&clients->lock);
        if (peer.uid != NO_USER)
                clients_make_place(clients, peer.uid, peer.pid, clients->max_of_user);
        clients_make_place(clients, NO_USER, -1, clients->max);
        for (size_t i = 0; i < clients->n_places && !client; i++)
                if (clients->list[i].fd < 0)
                        client = &clients->list[i];
        if (client) {
                *client = (Client){ .fd = fd, .user = peer.uid, .pid = peer.pid };
                client_set_deadline(clients, client, false);
        }
        (void)pthread_mutex_unlock(&clients->lock);
        return client;
}

void clients_remove(Clients *clients, Client *client) {
        (void)pthread_mutex_lock(&clients->lock);
        *client = (Client){ .fd = -EBADF };
        (void)pthread_mutex_unlock(&clients->lock);
}

/* A client that was disconnected stays so. */
static void client_change(Clients *clients, Client *client, bool fetches) {
        (void)pthread_mutex_lock(&clients->lock);
        if (client->deadline_msec != NEVER)
                client_set_deadline(clients, client, fetches);
        (void)pthread_mutex_unlock(&clients->lock);
}

void clients_asks(Clients *clients, Client *client) {
        client_change(clients, client, false);
}

void clients_fetches(Clients *clients, Client *client) {
        client_change(clients, client, true);
}

void clients_cut_fetching(Clients *clients, unsigned least_msec) {
        const uint64_t now = now_msec(CLOCK_MONOTONIC);

        (void)pthread_mutex_lock(&clients->lock);
        for (size_t i = 0; i < clients->n_places; i++) {
                Client *client = &clients->list[i];

                if (client_is_served(client) && client->fetches &&
                    now - client->since_msec >= least_msec)
                        client_cut(clients, client);
        }
        (void)pthread_mutex_unlock(&clients->lock);
}

uint64_t clients_n_cut(Clients *clients) {
        return clients->n_cut;
}

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

/* --- answers --- */

static void free_answer(void *userdata) {
        Answer *answer = userdata;

        answer_done(answer);
        free(answer);
}

/* Bytes that are copied at a time, into memory that each answer has. */
#define BLOCK_BYTES 4096

/* Copies at most `max` bytes from that position of the body and the text after it. */
static ssize_t copy_answer(void *userdata, uint64_t position, char *buffer, size_t max) {
        const Answer *answer = userdata;
        const size_t body_size = answer->body ? answer->body->size : 0;
        const char *from;
        size_t n;

        if (position < body_size) {
                from = answer->body->data + position;
                n = body_size - position;
        } else {
                from = answer->text.data + (position - body_size);
                n = answer->text.length - (position - body_size);
        }
        n = n < max ? n : max;
        memcpy(buffer, from, n);
        return (ssize_t)n;
}

/* Sends the body from the store without a copy of the whole. MHD_NO closes the connection without
 * an answer: no memory. Takes over the answer's parts. */
static HttpResult queue_answer(struct MHD_Connection *connection, Answer *answer) {
        struct MHD_Response *response;
        HttpResult result = MHD_NO;
        Answer *held = malloc(sizeof(*held));
        size_t body_size;

        if (!held)
                return MHD_NO;
        *held = TAKE_STRUCT(*answer);
        body_size = held->body ? held->body->size : 0;
        response = MHD_create_response_from_callback(body_size + held->text.length, BLOCK_BYTES,
                                                     copy_answer, held, free_answer);
        if (!response) {
                free_answer(held);
                return MHD_NO;
        }
        if (MHD_add_response_header(response, "Content-Type", held->content_type) == MHD_YES &&
            MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES &&
            MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
            (held->status != 405 ||
             MHD_add_response_header(response, "Allow", "GET, HEAD") == MHD_YES))
                result = MHD_queue_response(connection, held->status, response);
        MHD_destroy_response(response);
        return result;
}

/* --- requests --- */

static Client *client_of(struct MHD_Connection *connection) {
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

        return info ? info->socket_context : NULL;
}

/* Called when the headers are complete, and again when the request is. A wrong method is refused in
 * the first call, so that no body is read. */
static HttpResult on_request(void *userdata, struct MHD_Connection *connection, const char *path,
                             const char *method, _unused_ const char *version,
                             _unused_ const char *upload, size_t *upload_size, void **request) {
        static char seen;
        _cleanup_answer_ Answer answer = { 0 };
        Client *client = client_of(connection);
        Http *http = userdata;
        AnswerRequest asked = { 0 };

        if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
                if (answer_build(http->store, &asked, &answer) < 0)
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
        asked = (AnswerRequest){ .path = path,
                                 .now_seconds = (double)now_msec(CLOCK_REALTIME) / 1e3,
                                 .n_scrapes = http->n_scrapes,
                                 .n_cut_off = clients_n_cut(http->clients) };
        if (!client || answer_build(http->store, &asked, &answer) < 0)
                return MHD_NO;
        if (answer.is_scrape)
                http->n_scrapes++;
        if (store_is_crowded(http->store))
                clients_cut_fetching(http->clients, http->crowded_msec);
        clients_fetches(http->clients, client);
        return queue_answer(connection, &answer);
}

static void on_completed(void *userdata, struct MHD_Connection *connection, _unused_ void **request,
                         enum MHD_RequestTerminationCode code) {
        Http *http = userdata;
        Client *client = client_of(connection);

        if (client)
                clients_asks(http->clients, client);
        /* The idle timeout has disconnected it while it read its answer. */
        if (code == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED)
                http->clients->n_cut++;
}

/* The descriptor is open in both calls. */
static void on_connection(void *userdata, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code) {
        const int size = SOCKET_BUFFER_BYTES;
        Http *http = userdata;
        const union MHD_ConnectionInfo *info;

        if (code == MHD_CONNECTION_NOTIFY_STARTED) {
                info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
                *socket_context = NULL;
                if (!info)
                        return;
                /* The kernel charges data in a socket to the exporter, even after a client that
                 * reads nothing was disconnected, for as long as the client keeps its end open. */
                (void)setsockopt(info->connect_fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
                (void)setsockopt(info->connect_fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
                *socket_context = clients_add(http->clients, info->connect_fd);
        } else if (*socket_context)
                clients_remove(http->clients, *socket_context);
}

/* --- sockets --- */

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
        for (size_t i = 0; i < listeners->n; i++) {
                errno = 0;
                /* MHD_USE_ITC: without it, stopping shuts the listening socket down, which systemd
                 * still holds. */
                http->daemons[i] = MHD_start_daemon(
                        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request, http,
                        MHD_OPTION_LISTEN_SOCKET, listeners->sockets[i].fd,
                        MHD_OPTION_CONNECTION_LIMIT, limits->connections + CLIENTS_LEAVING_MAX,
                        MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits->header_bytes,
                        MHD_OPTION_CONNECTION_TIMEOUT, limits->idle_seconds,
                        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
                        MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_END);
                if (!http->daemons[i])
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
        clients_free(http->clients);
        store_free(http->store);
        free(http);
}
