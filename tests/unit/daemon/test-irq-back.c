/* Interrupts come back to where they were, whatever has happened since: no policy names the device
 * any more, a card has another name, nothing can be read,
 * or the daemon ends in the middle of it. */
#include <sys/resource.h>

#include "irq-host.h"

#define DISK "0000:00:05.0"

/* --- a device that only its address names --- */

static void disk(const TestHost *h) {
        fake_device_file(&h->tree, "pci0000:00/" DISK, "class", "0x010700\n");
        fake_device_file(&h->tree, "pci0000:00/" DISK, "numa_node", "1\n");
        fake_device_file(&h->tree, "pci0000:00/" DISK, "msi_irqs/200", "msix\n");
        fake_link(&h->tree, "sys/bus/pci/devices/" DISK, "../../../devices/pci0000:00/" DISK);
        write_mask(h, 200, "2-3\n");
        write_effective(h, 200, "2\n");
}

static void steer_disk(TestHost *h) {
        host_init(h);
        disk(h);
        assert_int_equal(word_list_add(&h->irq.pci, DISK), 0);
        start(h);
        assert_steered(h);
        assert_mask(h, 200, "0-1");
}

TEST(address_goes_from_policy) {
        for (unsigned restarted = 0; restarted < 2; restarted++) {
                _cleanup_host_ TestHost h;

                steer_disk(&h);
                if (restarted)
                        h.interrupts = irq_free(h.interrupts);
                word_list_done(&h.irq.pci);
                if (restarted)
                        start(&h);
                else
                        reconcile_after(&h, SECOND);
                assert_steered(&h);
                assert_mask(&h, 200, "2-3");
                assert_int_equal(h.m.undo.records.host.n_settings, 5);
        }
}

static int write_but_200(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        return key->kind == SETTING_VECTOR && key->number == 200
                       ? -EINVAL
                       : SETTING_FILES.write(sysroot, key, text);
}

/* It is not among the devices any more, and remembered all the same. */
TEST(address_goes_and_the_kernel_refuses) {
        static const SettingKey key = { SETTING_VECTOR, DISK, 200 };
        SettingOps ops = SETTING_FILES;
        _cleanup_host_ TestHost h;
        uint64_t writes;

        steer_disk(&h);
        ops.write = write_but_200;
        h.interrupts->ops = &ops;
        word_list_done(&h.irq.pci);
        writes = h.interrupts->n_writes;
        for (unsigned i = 0; i < 4; i++)
                reconcile_after(&h, SECOND);
        assert_int_equal(h.interrupts->n_writes, writes + 1); /* the next after five seconds */
        assert_true(irq_setting_find(h.interrupts, &key)->logged);
        h.interrupts->ops = &SETTING_FILES;
        reconcile_after(&h, 10 * SECOND);
        assert_mask(&h, 200, "2-3");
        assert_int_equal(h.m.undo.records.host.n_settings, 5);
}

/* The number is another device's by now: it keeps its mask. */
TEST(address_is_gone) {
        _cleanup_host_ TestHost h;

        steer_disk(&h);
        fake_remove(&h.tree, "sys/devices/pci0000:00/" DISK "/msi_irqs/200");
        write_mask(&h, 200, "1\n");
        word_list_done(&h.irq.pci);
        reconcile_after(&h, SECOND);
        assert_mask(&h, 200, "1");
        assert_int_equal(h.m.undo.records.host.n_settings, 5);
}

/* --- another name --- */

static void rename_card(const TestHost *h, const char *from, const char *to) {
        assert_int_equal(renameat(h->tree.fd, fmt("sys/devices/pci0000:00/" PCI "/net/%s", from),
                                  h->tree.fd, fmt("sys/devices/pci0000:00/" PCI "/net/%s", to)),
                         0);
        fake_remove(&h->tree, fmt("sys/class/net/%s", from));
        fake_link(&h->tree, fmt("sys/class/net/%s", to),
                  fmt("../../devices/pci0000:00/" PCI "/net/%s", to));
}

#define QUEUES "sys/devices/pci0000:00/" PCI "/net/lan0/queues/"

/* As udev does it a moment after the card has come; a policy may know it by both names. */
TEST(renamed) {
        for (unsigned matched = 0; matched < 2; matched++) {
                _cleanup_host_ TestHost h;
                char mask[64];

                host_init(&h);
                start(&h);
                assert_true(path_read(h.tree.fd, mask, sizeof(mask),
                                      "sys/devices/" ETH0 "/queues/tx-0/xps_cpus") > 0);
                assert_string_not_equal(mask, "00000000");
                rename_card(&h, "eth0", "lan0");
                if (matched)
                        assert_int_equal(word_list_add(&h.irq.net, "lan*"), 0);
                reconcile_after(&h, SECOND);
                assert_file(&h, QUEUES "tx-0/xps_cpus", matched ? mask : "00000000");
                assert_int_equal(h.interrupts->n_repairs, 0);
                assert_int_equal(has_record(&h), matched);
                (void)irq_stop(h.interrupts, true);
                assert_file(&h, QUEUES "tx-0/xps_cpus", "00000000");
                assert_file(&h, QUEUES "tx-1/xps_cpus", "00000000");
                assert_mask(&h, 100, "2");
                assert_false(has_record(&h));
        }
}

/* While interrupts are read: the list of devices has the former name. */
HOST_TEST(renamed_meanwhile) {
        const IrqDesiredList none = { 0 };

        start(h);
        rename_card(h, "eth0", "lan0");
        irq_give_back(h->interrupts, &h->interrupts->last, &none, false);
        assert_file(h, QUEUES "tx-0/xps_cpus", "00000000");
        assert_file(h, QUEUES "tx-1/xps_cpus", "00000000");
        assert_false(has_record(h));
}

/* In another network namespace, its queues are out of reach; its interrupts are not. What it had
 * before is kept until it comes back. */
HOST_TEST(in_another_namespace) {
        fake_link(&h->tree, "sys/devices/pci0000:00/" PCI "/driver",
                  "../../../bus/pci/drivers/ice");
        start(h);
        assert_mask(h, 100, "0");
        assert_int_equal(
                renameat(h->tree.fd, "sys/devices/pci0000:00/" PCI "/net", h->tree.fd, "away"), 0);
        fake_remove(&h->tree, "sys/class/net/eth0");
        reconcile_after(h, SECOND);
        assert_mask(h, 100, "2");
        word_list_done(&h->irq.net);
        reconcile_after(h, SECOND);
        assert_true(has_record(h));
        assert_int_equal(
                renameat(h->tree.fd, "away", h->tree.fd, "sys/devices/pci0000:00/" PCI "/net"), 0);
        fake_link(&h->tree, "sys/class/net/eth0", "../../devices/" ETH0);
        reconcile_after(h, SECOND);
        assert_file(h, "sys/devices/" ETH0 "/queues/tx-0/xps_cpus", "00000000");
        assert_file(h, "sys/devices/" ETH0 "/queues/tx-1/xps_cpus", "00000000");
        assert_false(has_record(h));
}

/* Another interface has its name now, and is left alone. */
HOST_TEST(name_is_taken) {
        start(h);
        rename_card(h, "eth0", "lan0");
        fake_write(&h->tree, "sys/class/net/eth0/ifindex", "9\n");
        fake_write(&h->tree, "sys/class/net/eth0/queues/tx-0/xps_cpus", "0000000f\n");
        h->interrupts = irq_free(h->interrupts);
        start(h);
        (void)irq_stop(h->interrupts, true);
        assert_file(h, QUEUES "tx-0/xps_cpus", "00000000");
        assert_file(h, QUEUES "tx-1/xps_cpus", "00000000");
        assert_file(h, "sys/class/net/eth0/queues/tx-0/xps_cpus", "0000000f");
        assert_false(has_record(h));
}

/* --- nothing can be read --- */

/* As if there were no device at all: that is no reason to forget what is to be given back. */
HOST_TEST(no_descriptor) {
        struct rlimit before, none;

        start(h);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        for (unsigned i = 0; i < 3; i++)
                reconcile_after(h, 3 * SECOND);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(h->interrupts->load_failed);
        assert_int_equal(h->interrupts->n_writes, 5);
        assert_int_equal(h->m.undo.records.host.n_settings, 5);
        reconcile_after(h, 3 * SECOND);
        assert_false(h->interrupts->load_failed);
        assert_steered(h);
        (void)irq_stop(h->interrupts, true);
        assert_untouched(h);
}

/* --- the end of the daemon --- */

/* Another mask than was written shows, so that it counts as failed and is tried again later. */
static int write_another(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        return SETTING_FILES.write(
                sysroot, key,
                key->kind == SETTING_XPS && strcmp(text, "00000000") != 0 ? "00000008" : text);
}

/* There is no later. */
HOST_TEST(end_waits_for_no_pause) {
        SettingOps ops = SETTING_FILES;

        h->m.host.policies.n_irqs = 0;
        start(h);
        ops.write = write_another;
        h->interrupts->ops = &ops;
        h->m.host.policies.n_irqs = 1;
        reconcile_after(h, SECOND);
        assert_file(h, "sys/devices/" ETH0 "/queues/tx-0/xps_cpus", "00000008");
        (void)irq_stop(h->interrupts, true);
        assert_untouched(h);
        assert_false(has_record(h));
}

static int write_without_right(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        return key->kind == SETTING_NUMA_BALANCING ? -EPERM
                                                   : SETTING_FILES.write(sysroot, key, text);
}

/* A unit of ours sets the sysctl: the loop goes on meanwhile, but not for ever. */
TEST(end_waits_in_the_loop) {
        for (unsigned in_time = 0; in_time < 2; in_time++) {
                SettingOps ops = SETTING_FILES;
                _cleanup_host_ TestHost h;

                host_init(&h);
                assert_int_equal(sd_event_new(&h.m.host.event), 0);
                h.m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
                start(&h);
                ops.write = write_without_right;
                h.interrupts->ops = &ops;
                assert_true(irq_stop(h.interrupts, true));
                assert_string_equal(world.unit, "tidbnumad-numa-balancing@1.service");
                assert_mask(&h, 100, "2");
                h.m.host.stopping = true;
                reconcile_after(&h, 100 * MSEC);
                assert_true(irq_is_stopping(h.interrupts));
                assert_false(host_take(&h.m.host, HOST_WORK_EXIT));
                assert_int_equal(world.n_started, 1);
                if (in_time)
                        fake_write(&h.tree, "proc/sys/kernel/numa_balancing", "1\n");
                reconcile_after(&h, in_time ? 100 * MSEC : 2 * SECOND);
                assert_false(irq_is_stopping(h.interrupts));
                assert_true(host_take(&h.m.host, HOST_WORK_EXIT));
                assert_int_equal(has_record(&h), !in_time);
        }
}

/* What is kept is no reason to wait. */
HOST_TEST(end_keeps) {
        start(h);
        assert_false(irq_stop(h->interrupts, false));
        assert_steered(h);
        assert_true(has_record(h));
}

/* The policies in force want it; newer ones on disk are broken. */
HOST_TEST(end_with_broken_policies) {
        start(h);
        h->m.host.policies_known = false;
        reconcile_after(h, SECOND);
        assert_steered(h);
        (void)irq_stop(h->interrupts, true);
        assert_untouched(h);
        assert_false(has_record(h));
}

/* Devices that cannot be read are not gone. */
HOST_TEST(end_without_devices) {
        struct rlimit limit, none;
        size_t n;

        h->m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        start(h);
        reconcile_after(h, SECOND);
        n = h->m.undo.records.host.n_settings;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        none = limit;
        none.rlim_cur = 0;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        (void)irq_stop(h->interrupts, true);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(h->m.undo.records.host.n_settings, n);
        (void)irq_stop(h->interrupts, true);
        assert_untouched(h);
}
