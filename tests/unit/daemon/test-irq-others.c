/* Looks at interrupts: the kernel, drivers and others set masks as well, and an interrupt may not
 * follow its own. */
#include "irq-host.h"

#include "capture.h"

/* --- the kernel's own --- */

HOST_TEST(managed) {
        assert_int_equal(fchmodat(h->tree.fd, "proc/irq/101/smp_affinity_list", 0444, 0), 0);
        start(h);
        for (unsigned i = 0; i < 5; i++)
                reconcile_after(h, 100 * SECOND);
        assert_mask(h, 101, "3");
        assert_int_equal(vectors(h, IRQ_STATE_MANAGED), 1);
        assert_int_equal(vectors(h, IRQ_STATE_STEERED), 2);
        assert_int_equal(vectors(h, IRQ_STATE_FAILED), 0);
        assert_int_equal(published(h).n_writes, 4);
}

/* --- others --- */

HOST_TEST(contested) {
        start(h);
        for (unsigned i = 1; i <= 3; i++) {
                write_mask(h, 100, "2\n");
                reconcile_after(h, 3 * SECOND);
                assert_mask(h, 100, "0");
                assert_int_equal(published(h).n_repairs, i);
        }
        write_mask(h, 100, "1\n");
        reconcile_after(h, 3 * SECOND);
        assert_mask(h, 100, "1");
        assert_int_equal(vectors(h, IRQ_STATE_CONTESTED), 1);
        assert_int_equal(published(h).n_repairs, 3);
        /* It is left to whoever has set it at the end, too. */
        (void)irq_stop(h->interrupts, true);
        assert_mask(h, 100, "1");
        assert_mask(h, 101, "3");
        assert_false(has_record(h));
}

/* `ethtool -L`: the driver sets its masks again, twice. */
HOST_TEST(driver_begins_anew) {
        start(h);
        fake_remove(&h->tree, "sys/devices/" ETH0 "/queues/rx-1");
        fake_remove(&h->tree, "sys/devices/" ETH0 "/queues/tx-1");
        for (unsigned i = 0; i < 5; i++) {
                write_mask(h, 100, "2\n");
                write_mask(h, 101, "3\n");
                reconcile_after(h, 300 * MSEC);
                assert_steered(h);
        }
        assert_int_equal(published(h).n_repairs, 0);
        assert_int_equal(vectors(h, IRQ_STATE_CONTESTED), 0);
        /* Once the device is quiet, a changed mask is another program's doing. */
        reconcile_after(h, 3 * SECOND);
        write_mask(h, 100, "2\n");
        reconcile_after(h, 3 * SECOND);
        assert_int_equal(published(h).n_repairs, 1);
}

/* virtio_net sets them each time, and may do so before the CPU is known to be gone. */
HOST_TEST(cpus_go_and_come) {
        Node *node = &h->nodes[1];
        const CpuSet all = node->cpus;

        start(h);
        for (unsigned i = 0; i < 6; i++) {
                write_mask(h, 100, "2\n");
                reconcile_after(h, 3 * SECOND);
                node->cpus = i % 2 ? all : cpu_set("2");
                reconcile_after(h, 3 * SECOND);
                write_mask(h, 100, "2\n");
                reconcile_after(h, SECOND);
                assert_steered(h);
        }
        assert_int_equal(vectors(h, IRQ_STATE_CONTESTED), 0);
        assert_int_equal(published(h).n_repairs, 1); /* before a CPU was ever seen to go */
}

HOST_TEST(link_goes_down) {
        start(h);
        reconcile_after(h, 10 * SECOND);
        fake_device_file(&h->tree, ETH0, "operstate", "down\n");
        write_mask(h, 100, "2\n");
        reconcile_after(h, 3 * SECOND);
        assert_steered(h);
        assert_int_equal(published(h).n_repairs, 0);
}

/* As kernels up to 6.11 refuse a mask of a vector of their own. */
static int refuse_101(const SettingKey *key, _unused_ const char **text) {
        return key->kind == SETTING_VECTOR && key->number == 101 ? -EIO : 0;
}

/* Gone and back: what is known of the former one's vectors says nothing of the new one's. */
HOST_TEST(device_goes_and_comes) {
        uint64_t writes;

        world.answer = refuse_101;
        start(h);
        assert_int_equal(vectors(h, IRQ_STATE_MANAGED), 1);
        reconcile_after(h, SECOND); /* the others are spread without it */
        writes = published(h).n_writes;
        reconcile_after(h, SECOND);
        assert_int_equal(published(h).n_writes, writes);
        fake_remove(&h->tree, "sys/devices/pci0000:00/" PCI);
        fake_remove(&h->tree, "sys/class/net/eth0");
        fake_remove(&h->tree, "sys/bus/pci/devices/" PCI);
        reconcile_after(h, SECOND);
        assert_int_equal(published(h).n_devices, 0);
        card(h);
        world.answer = NULL;
        reconcile_after(h, SECOND);
        assert_steered(h);
        assert_int_equal(vectors(h, IRQ_STATE_STEERED), 3);
        assert_int_equal(published(h).n_repairs, 0);
}

/* A card whose interface another namespace has looks like one that was just plugged in. */
static void assert_namespace_logged(TestHost *h, bool told) {
        Capture c;

        CAPTURE_STDERR(&c, reconcile_after(h, SECOND));
        assert_int_equal(strstr(c.text, "it is in another network namespace") != NULL, told);
}

TEST(no_interface_is_told_later) {
        for (unsigned comes = 0; comes < 2; comes++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                start(&h);
                h.m.host.journal.max_priority = LOG_INFO;
                fake_remove(&h.tree, "sys/class/net/eth0");
                fake_remove(&h.tree, "sys/devices/" ETH0);
                assert_namespace_logged(&h, false);
                assert_string_equal(published(&h).reason, irq_reason_to_id(IRQ_REASON_OTHER_NETNS));
                if (comes)
                        card(&h);
                assert_namespace_logged(&h, !comes);
                assert_namespace_logged(&h, false);
        }
}

/* What is logged when it is reconciled. */
static void log_of_reconcile(TestHost *h, uint64_t usec, Capture *c) {
        CAPTURE_STDERR(c, reconcile_after(h, usec));
}

/* irqbalance sets the masks of interrupts, and nothing else. */
HOST_TEST(culprits) {
        Capture c;

        h->m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        fake_process(&h->tree, 31, 1, "/usr/sbin/irqbalance", "/x", "0-3");
        start(h);
        h->m.host.journal.max_priority = LOG_INFO;
        fake_write(&h->tree, "proc/sys/kernel/numa_balancing", "1\n");
        log_of_reconcile(h, SECOND, &c);
        assert_contains(c.text, "something else changed kernel.numa_balancing to 1 (");
        assert_null(strstr(c.text, "irqbalance"));
        fake_device_file(&h->tree, ETH0, "queues/tx-0/xps_cpus", "0000000f\n");
        log_of_reconcile(h, SECOND, &c);
        assert_contains(c.text, "xps_cpus of queue 0 to 0000000f");
        assert_null(strstr(c.text, "irqbalance"));
        write_mask(h, 100, "2\n");
        log_of_reconcile(h, SECOND, &c);
        assert_contains(c.text, "interrupt 100 (ice-eth0-TxRx-0) to 2");
        assert_contains(c.text, "irqbalance");
}

/* An irqbalance without a socket is named once, when it is not only just starting. */
TEST(mute_irqbalance) {
        for (unsigned ignored = 0; ignored < 2; ignored++) {
                _cleanup_host_ TestHost h;
                Capture c;

                host_init(&h);
                h.irq.irqbalance = ignored ? IRQBALANCE_IGNORE : IRQBALANCE_COOPERATE;
                h.m.host.journal.max_priority = LOG_WARNING;
                fake_process(&h.tree, 31, 1, "/usr/sbin/irqbalance", "/x", "0-3");
                capture_begin(&c, STDERR_FILENO);
                start(&h);
                reconcile_after(&h, 59 * SECOND);
                capture_end(&c);
                assert_null(strstr(c.text, "has no socket"));
                log_of_reconcile(&h, SECOND, &c);
                assert_int_equal(strstr(c.text, "(process 31) has no socket") != NULL, !ignored);
                log_of_reconcile(&h, 60 * SECOND, &c);
                assert_string_equal(c.text, "");
        }
}

/* A search reads a link of each process of the host: on a host that has run without irqbalance, one
 * in ten minutes. */
HOST_TEST(irqbalance_is_searched_for_rarely) {
        Capture c;

        h->irq.irqbalance = IRQBALANCE_COOPERATE;
        h->m.host.journal.max_priority = LOG_WARNING;
        start(h);
        for (unsigned i = 0; i < 4; i++)
                reconcile_after(h, 60 * SECOND);
        fake_process(&h->tree, 31, 1, "/usr/sbin/irqbalance", "/x", "0-3");
        log_of_reconcile(h, 60 * SECOND, &c);
        log_of_reconcile(h, 539 * SECOND, &c);
        assert_string_equal(c.text, "");
        log_of_reconcile(h, SECOND, &c); /* found, and it may be only just starting */
        assert_string_equal(c.text, "");
        log_of_reconcile(h, 60 * SECOND, &c);
        assert_contains(c.text, "(process 31) has no socket");
}

/* A write that meets a device on its way out is no failure. */
static int refuse_gone(_unused_ const SettingKey *key, _unused_ const char **text) {
        return -ENOENT;
}

HOST_TEST(gone_meanwhile) {
        Capture c;

        world.answer = refuse_gone;
        h->m.host.journal.max_priority = LOG_WARNING;
        CAPTURE_STDERR(&c, start(h));
        assert_string_equal(c.text, "");
        assert_int_equal(vectors(h, IRQ_STATE_FAILED), 3);
}

/* --- verification --- */

/* The mask is set, but the interrupt still fires where it did. */
HOST_TEST(does_not_follow) {
        start(h);
        for (unsigned i = 0; i < 2; i++) { /* quiet so far: the mask was new, then nothing fired */
                reconcile_after(h, 3 * SECOND);
                assert_int_equal(vectors(h, IRQ_STATE_FAILED), 0);
        }
        write_effective(h, 101, "1\n"); /* the second queue's has followed */
        for (unsigned i = 1; i <= 3; i++) {
                assert_int_equal(vectors(h, IRQ_STATE_FAILED), 0);
                counters(h, 0, 10 * i);
                reconcile_after(h, 3 * SECOND);
        }
        assert_int_equal(vectors(h, IRQ_STATE_FAILED), 1);
        assert_int_equal(vectors(h, IRQ_STATE_STEERED), 2);
        write_effective(h, 100, "0\n");
        reconcile_after(h, 3 * SECOND);
        assert_int_equal(vectors(h, IRQ_STATE_FAILED), 0);
}

/* A mask that is put back is a new one. */
HOST_TEST(follows_anew) {
        start(h);
        reconcile_after(h, 3 * SECOND);
        for (unsigned i = 1; i <= 3; i++) {
                counters(h, 0, 10 * i);
                reconcile_after(h, 3 * SECOND);
        }
        assert_int_equal(vectors(h, IRQ_STATE_FAILED), 2);
        write_mask(h, 100, "2\n");
        reconcile_after(h, 3 * SECOND);
        assert_int_equal(vectors(h, IRQ_STATE_FAILED), 1);
}
