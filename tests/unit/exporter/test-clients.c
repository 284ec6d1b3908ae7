/* Pairs of sockets: the one end is a client's, the other one is in the table. No deadline is
 * measured: those that are to pass are short, those that are not to are an hour away. */

#include <netinet/in.h>

#include "../../support/test.h"

#include "tidbnumad/exporter/clients.h"

#include "fixture.h"

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
