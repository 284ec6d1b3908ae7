/* systemd as the other end of a pair of sockets, on the same event loop: no bus is between. */
#pragma once

#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "test.h"

/* The client's end is what bus_units_open() returns. `on_message` is shown what arrives at the
 * other. */
static inline void bus_peer_open(sd_event *event, sd_bus_message_handler_t on_message,
                                 void *userdata, sd_bus **ret_peer, sd_bus **ret_client) {
        sd_id128_t id = { .qwords = { 1, 2 } };
        sd_bus *peer = NULL, *client = NULL;
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
                         0);
        assert_int_equal(sd_bus_new(&peer), 0);
        assert_true(sd_bus_set_fd(peer, fds[0], fds[0]) >= 0);
        assert_true(sd_bus_set_server(peer, 1, id) >= 0);
        assert_true(sd_bus_set_anonymous(peer, 1) >= 0);
        assert_true(sd_bus_set_trusted(peer, 1) >= 0);
        assert_true(sd_bus_add_filter(peer, NULL, on_message, userdata) >= 0);
        assert_true(sd_bus_start(peer) >= 0);
        assert_true(sd_bus_attach_event(peer, event, SD_EVENT_PRIORITY_NORMAL) >= 0);
        assert_int_equal(sd_bus_new(&client), 0);
        assert_true(sd_bus_set_fd(client, fds[1], fds[1]) >= 0);
        assert_true(sd_bus_start(client) >= 0);
        assert_true(sd_bus_attach_event(client, event, SD_EVENT_PRIORITY_NORMAL) >= 0);
        *ret_peer = peer;
        *ret_client = client;
}

/* What there is to do, and no waiting. */
static inline void bus_peer_run(sd_event *event) {
        while (sd_event_run(event, 0) > 0)
                ;
}
