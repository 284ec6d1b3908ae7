/* HTTP in this process: what clients see, and what one client can do to another. */
#include "../../support/test.h"

#include <netinet/in.h>

#include "fixture.h"

#include "tidbnumad/exporter/answer.h"
#include "tidbnumad/exporter/http.h"

static Fixture fixture;
static Http *http;
static int kept_fd; /* a second descriptor of the socket, as systemd has one */

static int setup_with(HttpLimits limits) {
        Args args = { .n_listen = 1 };
        Listeners listeners;
        char listen[128];

        fixture_init(&fixture);
        (void)snprintf(listen, sizeof(listen), "unix:%s", fixture.socket_path);
        args.listen[0] = listen;
        assert_int_equal(listeners_open(&args, &listeners), 0);
        kept_fd = dup(listeners.sockets[0].fd);
        assert_int_equal(http_new(&listeners, fixture.dir, &limits, &http), 0);
        assert_int_equal(listeners.sockets[0].fd, -EBADF);
        return 0;
}

static int setup(void **state) {
        (void)state;
        return setup_with(HTTP_LIMITS);
}

static int teardown(void **state) {
        (void)state;
        http_free(http);
        http = NULL;
        (void)close(kept_fd);
        fixture_done(&fixture);
        return 0;
}

#define HTTP_TEST(test) TEST(test, .setup_func = setup, .teardown_func = teardown)

/* All that comes back for some bytes. */
static void ask(const char *bytes, Text *answer) {
        _cleanup_close_ int fd = client_connect(fixture.socket_path);

        client_send(fd, bytes);
        client_receive(fd, answer);
}

static void put_metrics(void) {
        fixture_write(&fixture, "metrics.prom", "a 1\n", 4, fixture_now(), 0);
}

HTTP_TEST(get) {
        _cleanup_text_ Text answer = { 0 };

        put_metrics();
        client_request(fixture.socket_path, "GET", "/metrics?x=y", &answer);
        assert_starts_with(answer.data, "HTTP/1.1 200 ");
        assert_contains(answer.data,
                        "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
        assert_starts_with(body_of(answer.data), "a 1\n# HELP tidbnumad_exporter_snapshot_age");
}

HTTP_TEST(the_whole_uri) {
        _cleanup_text_ Text answer = { 0 };

        put_metrics();
        client_request(fixture.socket_path, "GET", "http://localhost/metrics", &answer);
        assert_starts_with(answer.data, "HTTP/1.1 200 ");
}

HTTP_TEST(head_has_the_length_and_no_body) {
        _cleanup_text_ Text get = { 0 }, head = { 0 };

        put_metrics();
        client_request(fixture.socket_path, "GET", "/metrics", &get);
        client_request(fixture.socket_path, "HEAD", "/metrics", &head);
        assert_starts_with(head.data, "HTTP/1.1 200 ");
        assert_string_equal(body_of(head.data), "");
        assert_contains(head.data, fmt("\r\nContent-Length: %zu\r\n", strlen(body_of(get.data))));
}

HTTP_TEST(other_methods) {
        static const char *const methods[] = { "POST", "PUT", "DELETE", "OPTIONS", "BREW" };

        put_metrics();
        for (size_t i = 0; i < ELEMENTSOF(methods); i++) {
                _cleanup_text_ Text answer = { 0 };

                client_request(fixture.socket_path, methods[i], "/metrics", &answer);
                assert_starts_with(answer.data, "HTTP/1.1 405 ");
                assert_contains(answer.data, "\r\nAllow: GET, HEAD\r\n");
        }
}

/* Refused at the headers: the body that was announced is never waited for. */
HTTP_TEST(post_with_a_body) {
        _cleanup_text_ Text answer = { 0 };

        ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nxxxx", &answer);
        assert_starts_with(answer.data, "HTTP/1.1 405 ");
}

HTTP_TEST(get_with_a_body) {
        _cleanup_text_ Text answer = { 0 };

        put_metrics();
        ask("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            "Content-Length: 4\r\n\r\nabcd",
            &answer);
        assert_starts_with(answer.data, "HTTP/1.1 200 ");
}

HTTP_TEST(errors) {
        _cleanup_text_ Text missing = { 0 }, unknown = { 0 };

        client_request(fixture.socket_path, "GET", "/metrics", &missing);
        assert_starts_with(missing.data, "HTTP/1.1 503 ");
        assert_contains(body_of(missing.data), "no snapshot: ");
        client_request(fixture.socket_path, "GET", "/x", &unknown);
        assert_starts_with(unknown.data, "HTTP/1.1 404 ");
}

/* As Prometheus asks by default. */
HTTP_TEST(one_text_for_all) {
        _cleanup_text_ Text answer = { 0 };

        put_metrics();
        ask("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n"
            "Accept-Encoding: gzip\r\n\r\n",
            &answer);
        assert_contains(answer.data,
                        "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
        assert_null(strstr(answer.data, "Content-Encoding"));
        assert_starts_with(body_of(answer.data), "a 1\n# HELP tidbnumad_exporter_snapshot_age");
}

HTTP_TEST(an_empty_file) {
        _cleanup_text_ Text answer = { 0 };

        fixture_write(&fixture, "status.json", "", 0, fixture_now(), 0);
        client_request(fixture.socket_path, "GET", "/status", &answer);
        assert_starts_with(answer.data, "HTTP/1.1 200 ");
        assert_contains(answer.data, "\r\nContent-Length: 0\r\n");
}

/* Many requests before the first answer is read. */
HTTP_TEST(pipelining) {
        _cleanup_close_ int fd = client_connect(fixture.socket_path);
        _cleanup_text_ Text answer = { 0 };
        unsigned n = 0;

        put_metrics();
        for (unsigned i = 0; i < 50; i++)
                client_send(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        client_send(fd, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        client_receive(fd, &answer);
        for (const char *at = answer.data; (at = strstr(at, "HTTP/1.1 200 ")); at++)
                n++;
        assert_int_equal(n, 50);
        assert_contains(answer.data, "\ntidbnumad_exporter_scrapes_total 50\n");
        assert_contains(answer.data, "HTTP/1.1 404 ");
}

HTTP_TEST(keep_alive) {
        _cleanup_text_ Text answer = { 0 };

        ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            &answer);
        assert_starts_with(answer.data, "HTTP/1.1 200 ");
        assert_contains(answer.data, "HTTP/1.1 404 ");
}

HTTP_TEST(header_that_is_too_large) {
        _cleanup_close_ int fd = client_connect(fixture.socket_path);
        _cleanup_text_ Text answer = { 0 };
        char large[64 * 1024];

        assert_true(HTTP_LIMITS.header_bytes < sizeof(large));
        memset(large, 'x', sizeof(large) - 1);
        large[sizeof(large) - 1] = '\0';
        client_send(fd, "GET / HTTP/1.1\r\nHost: x\r\nX-Large: ");
        (void)send(fd, large, sizeof(large) - 1, MSG_NOSIGNAL); /* it may hang up in the middle */
        client_receive(fd, &answer);
        assert_starts_with(answer.data, "HTTP/1.1 431 ");
}

/* Half a request, and an answer that is not fetched: others are served meanwhile. */
HTTP_TEST(slow_clients_hold_up_nobody) {
        _cleanup_close_ int half = client_connect(fixture.socket_path),
                            lazy = client_connect(fixture.socket_path);
        _cleanup_free_ char *large = malloc(SNAPSHOT_FILE_MAX);
        struct timespec before, after;

        memset(large, '\n', SNAPSHOT_FILE_MAX);
        fixture_write(&fixture, "metrics.prom", large, SNAPSHOT_FILE_MAX, fixture_now(), 0);
        client_send(half, "GET /metrics HTTP/1.1\r\nHos");
        client_send(lazy, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        (void)clock_gettime(CLOCK_MONOTONIC, &before);
        for (int i = 0; i < 20; i++) {
                _cleanup_text_ Text answer = { 0 };

                client_request(fixture.socket_path, "GET", "/", &answer);
                assert_starts_with(answer.data, "HTTP/1.1 200 ");
        }
        (void)clock_gettime(CLOCK_MONOTONIC, &after);
        assert_true(after.tv_sec - before.tv_sec < (time_t)HTTP_LIMITS.idle_seconds / 2);
}

/* Deadlines that a test can wait for; the idle timeout stays far above. */
static int setup_hasty(void **state) {
        HttpLimits limits = HTTP_LIMITS;

        (void)state;
        limits.request_msec = limits.answer_msec = 300;
        return setup_with(limits);
}

/* It is never idle: a byte of a header each 20 ms. */
TEST(a_slow_request_is_cut_off, .setup_func = setup_hasty, .teardown_func = teardown) {
        _cleanup_close_ int fd = client_connect(fixture.socket_path);
        struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
        bool cut = false;

        client_send(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ");
        for (unsigned i = 0; i < 3000 && !cut; i++) {
                cut = poll(&poll_fd, 1, 20) == 1;
                if (!cut)
                        (void)send(fd, "x", 1, MSG_NOSIGNAL);
        }
        assert_true(cut); /* long before a minute is over */
}

/* It fetches a byte each 20 ms, of an answer that no socket buffer holds. */
static void fetch_slowly_until_cut_off(void) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *large = malloc(SNAPSHOT_FILE_MAX);
        struct pollfd poll_fd = { .events = POLLRDHUP };
        bool cut = false;
        char byte;

        memset(large, '\n', SNAPSHOT_FILE_MAX);
        fixture_write(&fixture, "metrics.prom", large, SNAPSHOT_FILE_MAX, fixture_now(), 0);
        poll_fd.fd = fd = client_connect(fixture.socket_path); /* its time begins here */
        client_send(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        for (unsigned i = 0; i < 3000 && !cut; i++) {
                cut = poll(&poll_fd, 1, 20) == 1;
                if (!cut)
                        (void)recv(fd, &byte, 1, MSG_DONTWAIT);
        }
        assert_true(cut);
}

TEST(a_slow_reader_is_cut_off, .setup_func = setup_hasty, .teardown_func = teardown) {
        fetch_slowly_until_cut_off();
}

static int setup_idle(void **state) {
        HttpLimits limits = HTTP_LIMITS;

        (void)state;
        limits.idle_seconds = 1;
        limits.crowded_msec = 60000;
        return setup_with(limits);
}

TEST(a_reader_that_stops_is_counted, .setup_func = setup_idle, .teardown_func = teardown) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *large = malloc(SNAPSHOT_FILE_MAX);
        struct pollfd poll_fd = { .events = POLLIN };
        bool counted = false;

        memset(large, '\n', SNAPSHOT_FILE_MAX);
        fixture_write(&fixture, "metrics.prom", large, SNAPSHOT_FILE_MAX, fixture_now(), 0);
        poll_fd.fd = fd = client_connect(fixture.socket_path);
        client_send(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(poll(&poll_fd, 1, 5000), 1);
        fixture_write(&fixture, "metrics.prom", "a 1\n", 4, fixture_now(), 0);
        for (unsigned i = 0; i < 200 && !counted; i++) {
                _cleanup_close_ int other = client_connect(fixture.socket_path);
                _cleanup_text_ Text answer = { 0 };

                client_send(other, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
                client_receive(other, &answer);
                counted = strstr(answer.data, "clients_cut_off_total 1\n");
                (void)poll(NULL, 0, 100);
        }
        assert_true(counted);
}

/* Time for an answer is short, and for a request it is not. */
static int setup_hasty_answers(void **state) {
        HttpLimits limits = HTTP_LIMITS;

        (void)state;
        limits.answer_msec = 300;
        limits.request_msec = limits.idle_seconds * 1000;
        return setup_with(limits);
}

/* The time for the answer that it has fetched ends before the slow reader's. */
TEST(who_has_its_answer_may_ask_again, .setup_func = setup_hasty_answers,
     .teardown_func = teardown) {
        _cleanup_close_ int fd = client_connect(fixture.socket_path);
        _cleanup_text_ Text answer = { 0 };
        struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
        char first[4096];

        client_send(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(poll(&poll_fd, 1, 5000), 1);
        assert_true(recv(fd, first, sizeof(first), 0) > 0);
        fetch_slowly_until_cut_off();
        client_send(fd, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        client_receive(fd, &answer);
        assert_contains(answer.data, "HTTP/1.1 404 ");
}

/* More connections than are served at a time: the rest wait in the backlog and are served when one
 * goes away. */
#define CONNECTIONS 8

static int setup_few(void **state) {
        HttpLimits limits = HTTP_LIMITS;

        (void)state;
        limits.connections = CONNECTIONS;
        return setup_with(limits);
}

TEST(connection_limit, .setup_func = setup_few, .teardown_func = teardown) {
        int idle[CONNECTIONS];
        _cleanup_text_ Text answer = { 0 };

        for (size_t i = 0; i < ELEMENTSOF(idle); i++) {
                idle[i] = client_connect(fixture.socket_path);
                client_send(idle[i], "GET");
        }
        client_request(fixture.socket_path, "GET", "/", &answer);
        assert_starts_with(answer.data, "HTTP/1.1 200 ");
        for (size_t i = 0; i < ELEMENTSOF(idle); i++)
                (void)close(idle[i]);
}

/* systemd keeps the socket and starts us again: stopping must leave it listening. */
HTTP_TEST(stopping_leaves_the_socket_of_others_alone) {
        _cleanup_close_ int fd = -EBADF;
        int listening = 0;
        socklen_t size = sizeof(listening);

        http_free(http);
        http = NULL;
        assert_int_equal(getsockopt(kept_fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size), 0);
        assert_int_equal(listening, 1);
        fd = client_connect(fixture.socket_path);
}

/* --- Pairs of sockets: the one end is a client's, the other one is in the table. No deadline is
 * measured: those that are to pass are short, those that are not to are an hour away --- */

#define SOON 1
#define LATER (3600 * 1000)

typedef struct Pair {
        int theirs, ours;
        Client *client;
} Pair;

static Pair connected(Clients *clients) {
        Pair pair;
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        pair = (Pair){ fds[0], fds[1], clients_add(clients, fds[1]) };
        assert_non_null(pair.client);
        return pair;
}

static void disconnect(Clients *clients, Pair *pair) {
        clients_remove(clients, pair->client);
        (void)close(pair->theirs);
        (void)close(pair->ours);
}

/* As the client sees it. */
static bool is_cut_within(const Pair *pair, int msec) {
        struct pollfd poll_fd = { .fd = pair->theirs, .events = POLLIN };
        char byte;

        return poll(&poll_fd, 1, msec) == 1 && read(pair->theirs, &byte, 1) == 0;
}

TEST(who_does_not_ask) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair pair;

        assert_int_equal(clients_new(16, SOON, LATER, &clients), 0);
        pair = connected(clients);
        assert_true(is_cut_within(&pair, 10000));
        assert_int_equal(clients_n_cut(clients), 1);
        clients_fetches(clients, pair.client); /* its request was on the way: too late */
        clients_asks(clients, pair.client);
        disconnect(clients, &pair);
        assert_int_equal(clients_n_cut(clients), 1);
}

TEST(who_does_not_fetch) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair slow, quiet;

        assert_int_equal(clients_new(16, LATER, SOON, &clients), 0);
        quiet = connected(clients);
        slow = connected(clients);
        clients_fetches(clients, slow.client);
        assert_true(is_cut_within(&slow, 10000));
        assert_false(is_cut_within(&quiet, 0));
        disconnect(clients, &slow);
        disconnect(clients, &quiet);
}

/* With its answer fetched, it has the time for a request again. */
TEST(who_asks_again) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair pair;

        assert_int_equal(clients_new(16, LATER, LATER, &clients), 0);
        pair = connected(clients);
        clients_fetches(clients, pair.client);
        clients_asks(clients, pair.client);
        clients_cut_fetching(clients, 0);
        assert_false(is_cut_within(&pair, 0));
        disconnect(clients, &pair);
}

TEST(cut_who_fetches) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair fetches, asks;

        assert_int_equal(clients_new(16, LATER, LATER, &clients), 0);
        fetches = connected(clients);
        asks = connected(clients);
        clients_fetches(clients, fetches.client);
        clients_cut_fetching(clients, LATER); /* it has just begun */
        assert_false(is_cut_within(&fetches, 0));
        clients_cut_fetching(clients, 0);
        assert_true(is_cut_within(&fetches, 0));
        assert_false(is_cut_within(&asks, 0));
        clients_cut_fetching(clients, 0);
        assert_int_equal(clients_n_cut(clients), 1); /* none twice */
        disconnect(clients, &fetches);
        disconnect(clients, &asks);
}

/* A user has a quarter of the places: for one more, what waits longest gives way. */
TEST(places_of_a_user) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair pairs[6];

        assert_int_equal(clients_new(16, LATER, LATER, &clients), 0);
        for (size_t i = 0; i < 4; i++)
                pairs[i] = connected(clients);
        clients_fetches(clients, pairs[0].client); /* the oldest, but it has asked */
        pairs[4] = connected(clients);
        assert_true(is_cut_within(&pairs[1], 0));
        for (size_t i = 2; i < 5; i++)
                clients_fetches(clients, pairs[i].client);
        pairs[5] = connected(clients); /* all have asked: the one that asked first */
        assert_true(is_cut_within(&pairs[0], 0));
        for (size_t i = 2; i < 6; i++)
                assert_false(is_cut_within(&pairs[i], 0));
        for (size_t i = 0; i < 6; i++)
                disconnect(clients, &pairs[i]);
        assert_int_equal(clients_n_cut(clients), 2);
}

static Pair connected_over_tcp(Clients *clients) {
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof(address);
        _cleanup_close_ int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        Pair pair = { .theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };

        assert_int_equal(bind(listening, (struct sockaddr *)&address, size), 0);
        assert_int_equal(listen(listening, 1), 0);
        assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &size), 0);
        assert_int_equal(connect(pair.theirs, (struct sockaddr *)&address, size), 0);
        pair.ours = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
        assert_true(pair.ours >= 0);
        pair.client = clients_add(clients, pair.ours);
        assert_non_null(pair.client);
        return pair;
}

/* A peer over TCP has no user: all of them may have all places. */
TEST(places) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair pairs[5];

        assert_int_equal(clients_new(4, LATER, LATER, &clients), 0);
        for (size_t i = 0; i < 4; i++)
                pairs[i] = connected_over_tcp(clients);
        assert_int_equal(clients_n_cut(clients), 0);
        pairs[4] = connected_over_tcp(clients);
        assert_true(is_cut_within(&pairs[0], 10000));
        for (size_t i = 1; i < 5; i++)
                assert_false(is_cut_within(&pairs[i], 0));
        for (size_t i = 0; i < 5; i++)
                disconnect(clients, &pairs[i]);
}

/* A descriptor whose number is used again belongs to another client. */
TEST(who_has_gone_is_left_alone) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair gone, other;

        assert_int_equal(clients_new(16, LATER, LATER, &clients), 0);
        gone = connected(clients);
        clients_fetches(clients, gone.client);
        disconnect(clients, &gone);
        other = connected(clients);
        clients_cut_fetching(clients, 0);
        assert_false(is_cut_within(&other, 0));
        assert_int_equal(clients_n_cut(clients), 0);
        disconnect(clients, &other);
}
