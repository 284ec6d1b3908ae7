/* Pairs of sockets: the one end is a client's, the other one is in the table. No deadline is
 * measured: those that are to pass are short, those that are not to are an hour away. */

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

        assert_int_equal(clients_new(4, SOON, LATER, &clients), 0);
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

        assert_int_equal(clients_new(4, LATER, SOON, &clients), 0);
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

        assert_int_equal(clients_new(4, LATER, LATER, &clients), 0);
        pair = connected(clients);
        clients_fetches(clients, pair.client);
        clients_asks(clients, pair.client);
        clients_cut_fetching(clients, NULL);
        assert_false(is_cut_within(&pair, 0));
        disconnect(clients, &pair);
}

TEST(cut_who_fetches) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair fetches, spared, asks;

        assert_int_equal(clients_new(4, LATER, LATER, &clients), 0);
        fetches = connected(clients);
        spared = connected(clients);
        asks = connected(clients);
        clients_fetches(clients, fetches.client);
        clients_fetches(clients, spared.client);
        clients_cut_fetching(clients, spared.client);
        assert_true(is_cut_within(&fetches, 0));
        assert_false(is_cut_within(&spared, 0));
        assert_false(is_cut_within(&asks, 0));
        clients_cut_fetching(clients, NULL);
        assert_true(is_cut_within(&spared, 0));
        assert_int_equal(clients_n_cut(clients), 2); /* none twice */
        disconnect(clients, &fetches);
        disconnect(clients, &spared);
        disconnect(clients, &asks);
}

TEST(places) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair a, b;

        assert_int_equal(clients_new(2, LATER, LATER, &clients), 0);
        a = connected(clients);
        b = connected(clients);
        assert_null(clients_add(clients, b.ours));
        disconnect(clients, &a);
        a = connected(clients); /* a place is free again */
        disconnect(clients, &a);
        disconnect(clients, &b);
}

/* A descriptor whose number is used again belongs to somebody else. */
TEST(who_has_gone_is_left_alone) {
        _cleanup_(clients_freep) Clients *clients = NULL;
        Pair gone, other;

        assert_int_equal(clients_new(4, LATER, LATER, &clients), 0);
        gone = connected(clients);
        clients_fetches(clients, gone.client);
        disconnect(clients, &gone);
        other = connected(clients);
        clients_cut_fetching(clients, NULL);
        assert_false(is_cut_within(&other, 0));
        assert_int_equal(clients_n_cut(clients), 0);
        disconnect(clients, &other);
}
