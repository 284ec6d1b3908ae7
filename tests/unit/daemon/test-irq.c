/* Looks at interrupts: what they put on, what they give back, and what they tell. */
#include "irq-host.h"

#include "capture.h"

/* --- putting on and giving back --- */

HOST_TEST(steers_then_is_quiet) {
        uint64_t writes;

        start(h);
        assert_steered(h);
        assert_true(has_record(h));
        writes = published(h).n_writes;
        assert_int_equal(writes, 5); /* three vectors, two queues */
        for (unsigned i = 0; i < 20; i++)
                reconcile_after(h, 3 * SECOND);
        assert_int_equal(published(h).n_writes, writes);
        assert_int_equal(published(h).n_repairs, 0);
        assert_int_equal(vectors(h, IRQ_STATE_STEERED), 3);
        (void)irq_stop(h->interrupts, true);
        assert_untouched(h);
        assert_false(has_record(h));
}

TEST(changes_nothing) {
        for (unsigned i = 0; i < 3; i++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                h.m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
                h.m.host.policies.mode = i == 0 ? ENFORCEMENT_OBSERVE : ENFORCEMENT_ENFORCE;
                h.args.dry_run = i == 1;
                h.m.host.sysroot.live = i != 2;
                start(&h);
                reconcile_after(&h, 3 * SECOND);
                assert_untouched(&h);
                assert_int_equal(published(&h).n_writes, 0);
                assert_false(has_record(&h));
                assert_int_equal(vectors(&h, IRQ_STATE_LEFT), 3); /* it is logged all the same */
        }
}

/* Those in force stay, and are carried out; where there are none, as at the start, nothing is known
 * to be unwanted. */
HOST_TEST(broken_policies) {
        start(h);
        h->m.host.policies_known = false;
        write_mask(h, 100, "2\n");
        reconcile_after(h, SECOND);
        assert_steered(h);
        h->interrupts = irq_free(h->interrupts);
        h->m.host.policies.n_irqs = 0;
        world.sent = true;
        start(h);
        reconcile_after(h, SECOND);
        assert_steered(h);
        assert_true(world.sent);
        h->m.host.policies_known = true;
        reconcile_after(h, SECOND);
        assert_untouched(h);
        assert_false(world.sent);
}

/* Without a folder for the record nothing is changed. */
HOST_TEST(no_record) {
        undo_done(&h->m.undo.records);
        undo_init(&h->m.undo.records, &h->m.host.sysroot);
        start(h);
        assert_untouched(h);
}

HOST_TEST(policy_goes) {
        start(h);
        assert_steered(h);
        h->m.host.policies.n_irqs = 0;
        reconcile_after(h, SECOND);
        assert_untouched(h);
        assert_false(has_record(h));
}

/* Others may set a mask that nobody wants, also one that was never written, for it was right. */
HOST_TEST(changed_while_unwanted) {
        write_mask(h, 100, "0\n");
        start(h);
        assert_steered(h);
        h->m.host.policies.n_irqs = 0;
        reconcile_after(h, SECOND);
        write_mask(h, 100, "2\n");
        reconcile_after(h, SECOND);
        h->m.host.policies.n_irqs = 1;
        reconcile_after(h, SECOND);
        assert_steered(h);
        assert_int_equal(published(h).n_repairs, 0);
}

HOST_TEST(released_by_name) {
        h->m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        h->irq.irqbalance = IRQBALANCE_BAN;
        start(h);
        assert_file(h, "proc/sys/kernel/numa_balancing", "0");
        assert_int_equal(world.n_banned, 3);
        assert_int_equal(requests_add(&h->m.host.requests, "eth0", true), 0);
        reconcile_after(h, SECOND);
        assert_mask(h, 100, "2");
        assert_file(h, "sys/devices/" ETH0 "/queues/tx-0/xps_cpus", "00000000");
        assert_string_equal(published(h).reason, irq_reason_to_id(IRQ_REASON_RELEASED));
        assert_true(world.sent);
        assert_int_equal(world.n_banned, 0);
        assert_file(h, "proc/sys/kernel/numa_balancing", "0");
        assert_int_equal(requests_add(&h->m.host.requests, "host", true), 0);
        reconcile_after(h, SECOND);
        assert_untouched(h);
        assert_false(has_record(h) || world.sent);
        requests_done(&h->m.host.requests);
        reconcile_after(h, SECOND);
        assert_steered(h);
}

TEST(numa_balancing) {
        static const struct {
                NumaBalancing wanted;
                const char *present, *expected;
        } cases[] = {
                { NUMA_BALANCING_LEAVE, "1\n", "1" }, { NUMA_BALANCING_OFF, "1\n", "0" },
                { NUMA_BALANCING_OFF, "2\n", "0" },   { NUMA_BALANCING_ON, "0\n", "1" },
                { NUMA_BALANCING_ON, "2\n", "2" },    { NUMA_BALANCING_OFF, "0\n", "0" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                h.m.host.policies.n_irqs = 0;
                h.m.host.policies.host.numa_balancing = cases[i].wanted;
                fake_write(&h.tree, "proc/sys/kernel/numa_balancing", cases[i].present);
                start(&h);
                assert_file(&h, "proc/sys/kernel/numa_balancing", cases[i].expected);
                (void)irq_stop(h.interrupts, true);
                assert_file(&h, "proc/sys/kernel/numa_balancing", fmt("%.1s", cases[i].present));
        }
}

static void start_without_right(TestHost *h) {
        world.answer = refuse_numa_balancing;
        h->m.host.policies.n_irqs = 0;
        start(h);
}

/* A unit of ours sets it, and has done it by a later look. */
HOST_TEST(numa_balancing_by_unit) {
        start_without_right(h);
        h->m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        reconcile_after(h, SECOND);
        assert_string_equal(world.unit, "tidbnumad-numa-balancing@0.service");
        assert_true(has_record(h));
        reconcile_after(h, SECOND); /* it is at it */
        assert_int_equal(world.n_started, 1);
        fake_write(&h->tree, "proc/sys/kernel/numa_balancing", "0\n");
        for (unsigned i = 0; i < 5; i++)
                reconcile_after(h, 100 * SECOND);
        assert_int_equal(world.n_started, 1);
        h->m.host.policies.host.numa_balancing = NUMA_BALANCING_LEAVE;
        reconcile_after(h, SECOND);
        assert_string_equal(world.unit, "tidbnumad-numa-balancing@1.service");
        assert_true(has_record(h)); /* as long as the value is not restored */
        fake_write(&h->tree, "proc/sys/kernel/numa_balancing", "1\n");
        reconcile_after(h, SECOND);
        assert_false(has_record(h));
        assert_int_equal(world.n_started, 2);
}

/* It is unwanted again before its unit has come to it: as long as that may be, the record stays. */
TEST(numa_balancing_unwanted_at_once) {
        for (unsigned comes = 0; comes < 2; comes++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                start_without_right(&h);
                h.m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
                reconcile_after(&h, SECOND);
                h.m.host.policies.host.numa_balancing = NUMA_BALANCING_LEAVE;
                reconcile_after(&h, SECOND);
                assert_true(has_record(&h));
                assert_int_equal(world.n_started, 1);
                if (comes) {
                        fake_write(&h.tree, "proc/sys/kernel/numa_balancing", "0\n");
                        reconcile_after(&h, SECOND);
                        assert_string_equal(world.unit, "tidbnumad-numa-balancing@1.service");
                        assert_true(has_record(&h));
                        fake_write(&h.tree, "proc/sys/kernel/numa_balancing", "1\n");
                }
                reconcile_after(&h, comes ? SECOND : 5 * SECOND);
                assert_false(has_record(&h));
        }
}

/* The unit is started, and nothing comes of it. */
HOST_TEST(numa_balancing_unit_fails) {
        start_without_right(h);
        h->m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        h->m.host.journal.max_priority = LOG_WARNING;
        for (unsigned i = 1; i <= 4; i++) {
                Capture c;

                CAPTURE_STDERR(&c, reconcile_after(h, 100 * SECOND));
                assert_int_equal(world.n_started, i);
                assert_int_equal(strstr(c.text, "is not set, although its unit was started") !=
                                         NULL,
                                 i == 3);
        }
}

/* Nor a bus. */
HOST_TEST(numa_balancing_by_nobody) {
        Capture c;

        start_without_right(h);
        world.error = -ENOTCONN;
        h->m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        h->m.host.journal.max_priority = LOG_WARNING;
        CAPTURE_STDERR(&c, reconcile_after(h, SECOND));
        assert_int_equal(world.n_started, 0);
        assert_contains(c.text, "kernel.numa_balancing cannot be set");
        assert_false(has_record(h));
        assert_file(h, "proc/sys/kernel/numa_balancing", "1");
}

/* --- what is logged --- */

HOST_TEST(landed) {
        IrqInfo snapshot = { 0 };

        counters(h, 1000, 1000); /* before us */
        start(h);
        counters(h, 1005, 1007);
        reconcile_after(h, SECOND);
        assert_int_equal(irq_report_fill(h->interrupts, &snapshot), 0);
        assert_true(snapshot.known);
        assert_int_equal(snapshot.n_landed, 1);
        assert_string_equal(snapshot.landed[0].device, "eth0");
        assert_string_equal(snapshot.landed[0].instance, "tikv:10");
        assert_int_equal(snapshot.landed[0].count, 14); /* of both queues, on CPU 2 */
        assert_int_equal(snapshot.n_devices, 1);
        assert_string_equal(snapshot.devices[0].name, "eth0");
        assert_string_equal(snapshot.devices[0].reason_id, "away");
        assert_ids(snapshot.devices[0].cpus, "0-1");
        assert_int_equal(snapshot.n_writes, 5);
        assert_int_equal(snapshot.undo_settings, 5);
        free((void *)snapshot.devices);
        free((void *)snapshot.landed);
        /* It is renamed, or ends: nothing is reported under its former name. */
        rooms_set_port(h->instance, 20160);
        assert_int_equal(registry_rename(&h->m.registry, h->instance), 0);
        assert_int_equal(irq_report_fill(h->interrupts, &snapshot), 0);
        assert_int_equal(snapshot.n_landed, 0);
        free((void *)snapshot.devices);
        free((void *)snapshot.landed);
}

TEST(nothing_to_tell) {
        IrqInfo snapshot = { 0 };

        assert_int_equal(irq_report_fill(NULL, &snapshot), 0);
        assert_false(snapshot.known);
}
