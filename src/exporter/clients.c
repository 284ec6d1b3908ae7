/* A table of deadlines, and a thread that sleeps until the next one. A client is disconnected by
 * shutdown(2): the HTTP library then sees the end of the connection and closes it. Until then the
 * client keeps its place in the table, but is not counted. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "tidbnumad/exporter/clients.h"

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
        uint64_t n_cut, n_begun;
        size_t max, max_of_user;
        size_t n_places;
        Client list[];
};

static uint64_t now_msec(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- the thread --- */

static void cut(Clients *clients, Client *client) {
        (void)shutdown(client->fd, SHUT_RDWR);
        client->deadline_msec = NEVER;
        client->fetches = false;
        clients->n_cut++;
}

/* Returns the next deadline. */
static uint64_t cut_late(Clients *clients, uint64_t now) {
        uint64_t next = NEVER;

        for (size_t i = 0; i < clients->n_places; i++) {
                Client *client = &clients->list[i];

                if (client->fd < 0)
                        continue;
                if (client->deadline_msec <= now)
                        cut(clients, client);
                if (client->deadline_msec < next)
                        next = client->deadline_msec;
        }
        return next;
}

static void *watch(void *userdata) {
        Clients *clients = userdata;

        (void)pthread_mutex_lock(&clients->lock);
        while (!clients->ends) {
                const uint64_t next = cut_late(clients, now_msec());
                const struct timespec until = { .tv_sec = (time_t)(next / 1000),
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

static void init_condition(pthread_cond_t *condition) {
        pthread_condattr_t attributes;

        (void)pthread_condattr_init(&attributes);
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void)pthread_cond_init(condition, &attributes);
        (void)pthread_condattr_destroy(&attributes);
}

int clients_new(size_t max, unsigned request_msec, unsigned answer_msec, Clients **ret) {
        const size_t n_places = max + CLIENTS_LEAVING_MAX;
        Clients *clients = calloc(1, sizeof(*clients) + n_places * sizeof(clients->list[0]));
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
        init_condition(&clients->changed);
        r = pthread_create(&clients->thread, NULL, watch, clients);
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

static void set_deadline(Clients *clients, Client *client, bool fetches) {
        client->since_msec = now_msec();
        client->order = clients->n_begun++;
        client->fetches = fetches;
        client->deadline_msec =
                client->since_msec + (fetches ? clients->answer_msec : clients->request_msec);
        if (client->deadline_msec < clients->wakes_msec)
                (void)pthread_cond_signal(&clients->changed);
}

static bool is_served(const Client *client) {
        return client->fd >= 0 && client->deadline_msec != NEVER;
}

/* A peer over TCP has no user. */
static struct ucred peer_of(int fd) {
        struct ucred peer;
        socklen_t size = sizeof(peer);

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0
                       ? (struct ucred){ .uid = NO_USER }
                       : peer;
}

/* Incomplete requests are disconnected first, because a client that gets an answer disconnects
 * soon. */
static bool goes_before(const Client *a, const Client *b) {
        return a->fetches != b->fetches ? b->fetches : a->order < b->order;
}

/* `user` NO_USER: among the clients of all users. A process replaces clients of its own first: in a
 * user namespace, users that it does not know are one (user_namespaces(7)), and a crowd is not to
 * replace another user's client. */
static void make_place(Clients *clients, uid_t user, pid_t pid, size_t max) {
        Client *first = NULL, *first_own = NULL;
        size_t n = 0;

        for (size_t i = 0; i < clients->n_places; i++) {
                Client *client = &clients->list[i];

                if (!is_served(client) || (user != NO_USER && client->user != user))
                        continue;
                n++;
                if (!first || goes_before(client, first))
                        first = client;
                if (client->pid == pid && (!first_own || goes_before(client, first_own)))
                        first_own = client;
        }
        if (n >= max)
                cut(clients, first_own ? first_own : first);
}

Client *clients_add(Clients *clients, int fd) {
        const struct ucred peer = peer_of(fd);
        Client *client = NULL;

        (void)pthread_mutex_lock(&clients->lock);
        if (peer.uid != NO_USER)
                make_place(clients, peer.uid, peer.pid, clients->max_of_user);
        make_place(clients, NO_USER, -1, clients->max);
        for (size_t i = 0; i < clients->n_places && !client; i++)
                if (clients->list[i].fd < 0)
                        client = &clients->list[i];
        if (client) {
                *client = (Client){ .fd = fd, .user = peer.uid, .pid = peer.pid };
                set_deadline(clients, client, false);
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
static void change(Clients *clients, Client *client, bool fetches) {
        (void)pthread_mutex_lock(&clients->lock);
        if (client->deadline_msec != NEVER)
                set_deadline(clients, client, fetches);
        (void)pthread_mutex_unlock(&clients->lock);
}

void clients_asks(Clients *clients, Client *client) {
        change(clients, client, false);
}

void clients_fetches(Clients *clients, Client *client) {
        change(clients, client, true);
}

void clients_cut_fetching(Clients *clients, unsigned least_msec) {
        const uint64_t now = now_msec();

        (void)pthread_mutex_lock(&clients->lock);
        for (size_t i = 0; i < clients->n_places; i++) {
                Client *client = &clients->list[i];

                if (is_served(client) && client->fetches && now - client->since_msec >= least_msec)
                        cut(clients, client);
        }
        (void)pthread_mutex_unlock(&clients->lock);
}

uint64_t clients_n_cut(Clients *clients) {
        uint64_t n;

        (void)pthread_mutex_lock(&clients->lock);
        n = clients->n_cut;
        (void)pthread_mutex_unlock(&clients->lock);
        return n;
}
