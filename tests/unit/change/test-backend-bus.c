/* A bus that is lost while systemd is being asked: every question is answered once, whatever is
 * asked meanwhile, and the next one goes over a new connection. systemd is the other end of a pair
 * of sockets here. */

#include "../../support/test.h"

#include "../../support/bus-peer.h"
#include "../../support/id-sets.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/sys/bus-units.h"

enum { CALLS = 3 };

/* systemd, as far as it lives. */
static struct {
        sd_bus *bus;
        unsigned n_opened, n_asked;
        const char *error; /* what it answers; NULL: that it is done */
        bool silent;       /* it takes questions, and does not answer */
        int refuses;       /* the bus cannot be opened */
} peer;

int __wrap_bus_units_open(sd_event *event, sd_bus **ret);

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)userdata;
        (void)error;
        if (!sd_bus_message_is_method_call(message, "org.freedesktop.systemd1.Manager",
                                           "SetUnitProperties"))
                return 0;
        peer.n_asked++;
        if (peer.error)
                return sd_bus_reply_method_errorf(message, peer.error, "because");
        return peer.silent ? 1 : sd_bus_reply_method_return(message, NULL);
}

int __wrap_bus_units_open(sd_event *event, sd_bus **ret) {
        if (peer.refuses < 0)
                return peer.refuses;
        sd_bus_unref(peer.bus);
        bus_peer_open(event, on_message, NULL, &peer.bus, ret);
        peer.n_opened++;
        return 0;
}

typedef struct Host Host;

typedef struct Caller {
        Host *host;
        BackendCall call;
        unsigned n_replies;
        int error;
} Caller;

struct Host {
        sd_event *event;
        Backend backend;
        Caller callers[CALLS];
        bool asks_again; /* who is answered with an error asks once more at once */
        int asked_again; /* and that came to this */
};

static int ask(Caller *caller);

static void on_reply(const Error *error, void *userdata) {
        Caller *caller = userdata;
        Host *h = caller->host;

        caller->call.slot = sd_bus_slot_unref(caller->call.slot);
        caller->n_replies++;
        caller->error = error->code;
        if (error->code < 0 && h->asks_again)
                h->asked_again = ask(caller);
}

static int ask(Caller *caller) {
        const BackendTarget target = { .instance = "a", .unit = "a.service" };
        const CpuSet cpus = cpu_set("1");
        Backend *backend = &caller->host->backend;

        caller->call = (BackendCall){ .reply = on_reply, .userdata = caller };
        return backend_systemd_ops.set_cpus(backend, &target, &cpus, &caller->call);
}

static void host_init(Host *h) {
        *h = (Host){ 0 };
        memset(&peer, 0, sizeof(peer));
        assert_int_equal(sd_event_new(&h->event), 0);
        backend_init(&h->backend, NULL, h->event);
        for (size_t i = 0; i < CALLS; i++)
                h->callers[i].host = h;
}

static void host_done(Host *h) {
        for (size_t i = 0; i < CALLS; i++)
                sd_bus_slot_unref(h->callers[i].call.slot);
        backend_done(&h->backend);
        peer.bus = bus_units_close(peer.bus);
        sd_event_unref(h->event);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, Host, h, host_init, host_done)

static void run(Host *h) {
        bus_peer_run(h->event);
}

static void lose(void) {
        peer.bus = bus_units_close(peer.bus);
}

HOST_TEST(answers) {
        for (size_t i = 0; i < CALLS; i++)
                assert_int_equal(ask(&h->callers[i]), 0);
        run(h);
        assert_int_equal(peer.n_opened, 1);
        assert_int_equal(peer.n_asked, CALLS);
        for (size_t i = 0; i < CALLS; i++) {
                assert_int_equal(h->callers[i].n_replies, 1);
                assert_int_equal(h->callers[i].error, 0);
        }
}

/* Each of these wants something else of the operator. */
TEST(refusals_are_told_apart) {
        static const struct {
                const char *name;
                int error;
        } cases[] = {
                { "org.freedesktop.systemd1.UnitMasked", -ERFKILL },
                { "org.freedesktop.systemd1.NoSuchUnit", -ENOENT },
                { "org.freedesktop.systemd1.LoadFailed", -ENOEXEC },
                { "org.freedesktop.systemd1.BadUnitSetting", -ENOEXEC },
                { "org.freedesktop.systemd1.UnitExists", -EEXIST },
                { "org.freedesktop.systemd1.TransactionIsDestructive", -EDEADLK },
                { "org.freedesktop.systemd1.UnitMaskedNot", -EIO },
                { "org.example.systemd1.UnitMasked", -EIO },
                { "org.freedesktop.DBus.Error.AccessDenied", -EACCES },
                { "org.freedesktop.DBus.Error.NoReply", -ETIMEDOUT },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ Host h;

                host_init(&h);
                peer.error = cases[i].name;
                assert_int_equal(ask(&h.callers[0]), 0);
                run(&h);
                assert_int_equal(h.callers[0].n_replies, 1);
                if (h.callers[0].error != cases[i].error)
                        fail_msg("%s: %d", cases[i].name, h.callers[0].error);
        }
}

TEST(lost_with_questions_open) {
        for (int asks_again = 0; asks_again <= 1; asks_again++) {
                _cleanup_host_ Host h;

                host_init(&h);
                peer.silent = true;
                for (size_t i = 0; i < CALLS; i++)
                        assert_int_equal(ask(&h.callers[i]), 0);
                run(&h);
                assert_int_equal(peer.n_asked, CALLS);
                lose();
                h.asks_again = asks_again;
                run(&h);
                for (size_t i = 0; i < CALLS; i++) {
                        assert_int_equal(h.callers[i].n_replies, 1);
                        assert_true(h.callers[i].error < 0);
                }
                if (asks_again)
                        assert_int_equal(h.asked_again, -ENOTCONN);
                assert_int_equal(peer.n_opened, 1);
                /* And then over a new one. */
                h.asks_again = peer.silent = false;
                assert_int_equal(ask(&h.callers[0]), 0);
                run(&h);
                assert_int_equal(peer.n_opened, 2);
                assert_int_equal(h.callers[0].n_replies, 2);
                assert_int_equal(h.callers[0].error, 0);
                assert_int_equal(h.callers[1].n_replies, 1);
        }
}

/* A timer asks for another unit while the earlier answers are still handed out. */
HOST_TEST(asked_while_others_are_told) {
        unsigned told = 0;

        peer.silent = true;
        assert_int_equal(ask(&h->callers[0]), 0);
        assert_int_equal(ask(&h->callers[1]), 0);
        run(h);
        lose();
        while (h->callers[0].n_replies + h->callers[1].n_replies == 0)
                assert_true(sd_event_run(h->event, 0) >= 0);
        told = h->callers[0].n_replies + h->callers[1].n_replies;
        assert_int_equal(told, 1); /* the test bites: one still waits */
        assert_int_equal(ask(&h->callers[2]), -ENOTCONN);
        run(h);
        assert_int_equal(h->callers[0].n_replies, 1);
        assert_int_equal(h->callers[1].n_replies, 1);
        peer.silent = false;
        assert_int_equal(ask(&h->callers[2]), 0);
        run(h);
        assert_int_equal(h->callers[2].n_replies, 1);
        assert_int_equal(h->callers[2].error, 0);
}

HOST_TEST(no_bus) {
        peer.refuses = -ECONNREFUSED;
        assert_int_equal(ask(&h->callers[0]), -ECONNREFUSED);
        assert_null(h->callers[0].call.slot);
        peer.refuses = 0;
        assert_int_equal(ask(&h->callers[0]), 0);
        run(h);
        assert_int_equal(h->callers[0].n_replies, 1);
}
