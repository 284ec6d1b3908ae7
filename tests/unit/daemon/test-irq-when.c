/* Looks at interrupts: when the next one is. */
#include "irq-host.h"

HOST_TEST(slow_looks) {
        start(h);
        assert_int_equal(h->interrupts->due_usec, world.now + 3 * SECOND);
        h->m.host.policies.n_irqs = 0; /* nothing wanted, nothing to be given back */
        reconcile_after(h, SECOND);
        reconcile_after(h, SECOND);
        assert_int_equal(h->interrupts->due_usec, world.now + 30 * SECOND);
}

HOST_TEST(instances_come_and_go) {
        irq_note_owners(NULL); /* not started yet */
        start(h);
        irq_note_owners(h->interrupts);
        reconcile_after(h, SECOND);
        irq_note_owners(h->interrupts); /* nothing has changed */
        assert_int_equal(h->interrupts->due_usec, world.now + 3 * SECOND);
        h->instance.planned.placement.nodes = node_set("0");
        h->instance.planned.placement.cpus = cpu_set("0-1");
        irq_note_owners(h->interrupts);
        assert_int_equal(h->interrupts->due_usec, world.now + SECOND);
        reconcile_after(h, SECOND);
        assert_mask(h, 42, "2-3");
}

static uint64_t timer_of(const TestHost *h) {
        uint64_t usec;

        assert_int_equal(sd_event_source_get_time(h->interrupts->timer, &usec), 0);
        return usec;
}

static void start_live(TestHost *h) {
        h->args.once = false;
        assert_int_equal(sd_event_new(&h->m.host.event), 0);
        start(h);
}

/* udev reports a queue; the driver sets a mask after that. */
HOST_TEST(event) {
        start_live(h);
        assert_int_equal(timer_of(h), world.now + 3 * SECOND);
        world.uevents->handler(world.uevents->userdata);
        assert_int_equal(timer_of(h), world.now + 30 * MSEC);
        reconcile_after(h, 30 * MSEC);
        assert_int_equal(timer_of(h), world.now + 120 * MSEC);
        for (unsigned i = 0; i < 4; i++)
                reconcile_after(h, timer_of(h) - world.now);
        assert_int_equal(timer_of(h), world.now + 3 * SECOND);
}

HOST_TEST(link_event) {
        start_live(h);
        assert_int_equal(send(world.link_peer, "x", 1, 0), 1);
        while (sd_event_run(h->m.host.event, 0) > 0)
                ;
        assert_int_equal(timer_of(h), world.now + 30 * MSEC);
}

/* The slow periodic comparison finds what has changed. */
HOST_TEST(no_events) {
        world.error = -ENOSYS;
        start_live(h);
        assert_int_equal(timer_of(h), world.now + 3 * SECOND);
        assert_steered(h);
}
