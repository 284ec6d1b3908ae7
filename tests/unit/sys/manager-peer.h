/* The manager of systemd for tests of bus-manager: what it is asked, and what it answers. */
#pragma once

#include "../../support/bus-peer.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"

#define SYSTEMD "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"

/* Fills the answer to `message`; negative: the test's mistake. */
typedef int (*Answer)(sd_bus_message *message, sd_bus_message *reply);

static struct {
        sd_bus *bus;
        sd_event *event;
        BusManager manager;
        const char *error; /* what every call is answered with; NULL: by `answer` */
        Answer answer;     /* NULL: an empty answer */
        unsigned n_calls;
        char path[128], member[64]; /* of the last call */
        /* The last event of the client, and their number. */
        unsigned n_events;
        BusEvent last;
        char unit[64], state[32];
} peer;

int __wrap_bus_units_open(sd_event *event, sd_bus **ret);

static inline int on_call(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
        sd_bus_message *reply = NULL;
        uint8_t type;

        (void)userdata;
        (void)unused;
        assert_true(sd_bus_message_get_type(message, &type) >= 0);
        if (type != SD_BUS_MESSAGE_METHOD_CALL)
                return 0;
        peer.n_calls++;
        (void)snprintf(peer.path, sizeof(peer.path), "%s", sd_bus_message_get_path(message));
        (void)snprintf(peer.member, sizeof(peer.member), "%s", sd_bus_message_get_member(message));
        if (peer.error)
                return sd_bus_reply_method_errorf(message, peer.error, "because");
        assert_true(sd_bus_message_new_method_return(message, &reply) >= 0);
        if (peer.answer)
                assert_true(peer.answer(message, reply) >= 0);
        assert_true(sd_bus_send(NULL, reply, NULL) >= 0);
        sd_bus_message_unref(reply);
        return 1;
}

int __wrap_bus_units_open(sd_event *event, sd_bus **ret) {
        bus_peer_open(event, on_call, NULL, &peer.bus, ret);
        return 0;
}

static inline void on_event(BusEvent event, const char *unit, const char *state, void *userdata) {
        assert_ptr_equal(userdata, &peer);
        peer.n_events++;
        peer.last = event;
        (void)snprintf(peer.unit, sizeof(peer.unit), "%s", unit ? unit : "");
        (void)snprintf(peer.state, sizeof(peer.state), "%s", state ? state : "");
}

static inline void run(void) {
        bus_peer_run(peer.event);
}

static inline int peer_setup(void **state) {
        (void)state;
        memset(&peer, 0, sizeof(peer));
        assert_int_equal(sd_event_new(&peer.event), 0);
        assert_true(bus_manager_open(&peer.manager, peer.event, on_event, &peer) >= 0);
        return 0;
}

static inline int peer_teardown(void **state) {
        (void)state;
        bus_manager_close(&peer.manager);
        peer.bus = bus_units_close(peer.bus);
        peer.event = sd_event_unref(peer.event);
        return 0;
}

#define PEER .setup_func = peer_setup, .teardown_func = peer_teardown
