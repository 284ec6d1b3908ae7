/* Interrupts: when the daemon looks at them by itself. */
#include <sys/resource.h>

#include "irq-host.h"

static uint64_t until_next(void) {
        return world.timer_usec - world.now;
}

/* Where settings are wanted, others may change them; else only counters are read. */
HOST_TEST(slow_looks) {
        start(h);
        assert_int_equal(until_next(), 3 * SECOND);
        h->m.host.policies.n_irqs = 0; /* nothing wanted, nothing to be given back */
        reconcile_after(h, SECOND);
        reconcile_after(h, SECOND);
        assert_int_equal(until_next(), 30 * SECOND);
}

/* Nothing can be read: what is known of it by then does not matter. */
HOST_TEST(one_that_failed_is_made_again_soon) {
        struct rlimit before, none;

        h->m.host.policies.n_irqs = 0;
        start(h);
        assert_int_equal(until_next(), 30 * SECOND);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        for (unsigned i = 0; i < 3; i++) {
                reconcile_after(h, until_next());
                assert_int_equal(until_next(), 3 * SECOND);
        }
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        h->m.host.policies.n_irqs = 1;
        reconcile_after(h, until_next());
        assert_steered(h);
}

static void note_owners(TestHost *h, uint64_t next_usec) {
        irq_note_owners(h->interrupts);
        assert_int_equal(until_next(), next_usec);
        reconcile_after(h, SECOND);
}

HOST_TEST(instances_come_and_go) {
        Process another = { .id = { 9, 1 }, .exe = strdup("/another") };

        irq_note_owners(NULL); /* not started yet */
        start(h);
        note_owners(h, SECOND);
        note_owners(h, 3 * SECOND); /* nothing has changed */
        place(h, "0");
        note_owners(h, SECOND);
        assert_mask(h, 42, "2-3");
        h->policy.place.share = SHARE_SHARED;
        note_owners(h, SECOND);
        (void)rooms_add(&h->m, &h->policy, &another, NULL);
        note_owners(h, 3 * SECOND); /* it has no place yet */
        host_queue(&h->m.host, HOST_WORK_PLAN);
        place_refresh(&h->m.placing);
        note_owners(h, SECOND);
        registry_remove_process(&h->m.registry, h->instance, 0);
        note_owners(h, SECOND);
}

/* DHCP may set the default route after the start of the daemon. A route that goes again moves
 * nothing. */
HOST_TEST(card_of_a_late_route) {
        h->m.host.policies.n_irqs = 0;
        h->m.host.policies.host.reserve.kind = RESERVE_NIC;
        start(h);
        assert_int_equal(until_next(), 3 * SECOND);
        assert_false(host_take(&h->m.host, HOST_WORK_CARDS));
        fake_write(&h->tree, "proc/net/route",
                   "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\n");
        reconcile_after(h, 3 * SECOND);
        assert_true(host_take(&h->m.host, HOST_WORK_CARDS));
        host_read_devices(&h->m.host);
        fake_write(&h->tree, "proc/net/route", "");
        reconcile_after(h, 3 * SECOND);
        assert_int_equal(until_next(), 30 * SECOND);
        assert_false(host_take(&h->m.host, HOST_WORK_CARDS));
        device_list_done(&h->m.host.devices);
}

/* As of a virtual machine: its files are not read for ever. */
HOST_TEST(card_without_a_node) {
        h->m.host.policies.n_irqs = 0;
        h->m.host.policies.host.reserve.kind = RESERVE_NIC;
        start(h);
        fake_write(&h->tree, "proc/net/route",
                   "none0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\n");
        for (unsigned i = 0; i < 20; i++) {
                assert_int_equal(until_next(), 3 * SECOND);
                reconcile_after(h, 3 * SECOND);
        }
        assert_int_equal(until_next(), 30 * SECOND);
        assert_false(host_take(&h->m.host, HOST_WORK_CARDS));
}

/* udev reports a queue; the driver sets a mask after that. */
HOST_TEST(event) {
        start(h);
        assert_int_equal(until_next(), 3 * SECOND);
        world.uevents->handler(world.uevents->userdata);
        assert_int_equal(until_next(), 30 * MSEC);
        reconcile_after(h, 30 * MSEC);
        assert_int_equal(until_next(), 120 * MSEC);
        for (unsigned i = 0; i < 4; i++)
                reconcile_after(h, until_next());
        assert_int_equal(until_next(), 3 * SECOND);
}

HOST_TEST(link_event) {
        start(h);
        assert_int_equal(send(world.link_peer, "x", 1, 0), 1);
        while (sd_event_run(h->m.host.event, 0) > 0)
                ;
        assert_int_equal(until_next(), 30 * MSEC);
}

/* The slow periodic comparison finds what has changed. */
HOST_TEST(no_events) {
        world.error = -ENOSYS;
        start(h);
        assert_int_equal(until_next(), 3 * SECOND);
        assert_steered(h);
}
