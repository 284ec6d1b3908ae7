/* Interrupts come back to where they were, whatever has happened since: no policy names the device
 * any more, a card has another name, nothing can be read, a call fails, or the daemon ends in the
 * middle of it. */
#include <sys/resource.h>

#include "irq-host.h"

#include "capture.h"

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
                assert_int_equal(published(&h).undo_settings, 5);
        }
}

static int refuse_200(const SettingKey *key, _unused_ const char **text) {
        return key->kind == SETTING_VECTOR && key->number == 200 ? -EINVAL : 0;
}

static int show_another_of_200(const SettingKey *key, const char **text) {
        if (key->kind == SETTING_VECTOR && key->number == 200)
                *text = "1";
        return 0;
}

/* It is not among the devices any more, and remembered all the same. */
TEST(address_goes_and_the_kernel_refuses) {
        static int (*const answers[])(const SettingKey *, const char **) = { refuse_200,
                                                                             show_another_of_200 };

        for (size_t k = 0; k < ELEMENTSOF(answers); k++) {
                _cleanup_host_ TestHost h;
                uint64_t writes;
                Capture c;

                steer_disk(&h);
                world.answer = answers[k];
                h.m.host.journal.max_priority = LOG_WARNING;
                word_list_done(&h.irq.pci);
                writes = published(&h).n_writes;
                CAPTURE_STDERR(&c, reconcile_after(&h, SECOND));
                assert_contains(c.text, "interrupt 200 cannot be set");
                for (unsigned i = 0; i < 3; i++)
                        reconcile_after(&h, SECOND);
                /* The next after five seconds. */
                assert_int_equal(published(&h).n_writes, writes + 1);
                world.answer = NULL;
                reconcile_after(&h, 10 * SECOND);
                assert_mask(&h, 200, "2-3");
                assert_int_equal(published(&h).undo_settings, 5);
        }
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
        assert_int_equal(published(&h).undo_settings, 5);
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
                assert_int_equal(published(&h).n_repairs, 0);
                assert_int_equal(has_record(&h), matched);
                (void)irq_stop(h.interrupts, true);
                assert_file(&h, QUEUES "tx-0/xps_cpus", "00000000");
                assert_file(&h, QUEUES "tx-1/xps_cpus", "00000000");
                assert_mask(&h, 100, "2");
                assert_false(has_record(&h));
        }
}

static const TestHost *harmed;

static void rename_now(void) {
        rename_card(harmed, "eth0", "lan0");
}

/* While interrupts are read: the list of devices has the former name. */
HOST_TEST(renamed_meanwhile) {
        start(h);
        h->m.host.policies.n_irqs = 0;
        harmed = h;
        world.on_read = rename_now;
        reconcile_after(h, SECOND);
        assert_null(world.on_read);
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
        assert_int_equal(requests_add(&h->m.host.requests, "*", true), 0);
        assert_false(irq_is_asked_back(h->interrupts, &h->interrupts->last));
        assert_int_equal(irq_n_out_of_reach(h->interrupts), 2);
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

/* A card that has come since, of the same name: what it had itself is what it gets back. */
HOST_TEST(another_card_of_that_name) {
        start(h);
        fake_remove(&h->tree, "sys/devices/pci0000:00/" PCI);
        fake_remove(&h->tree, "sys/class/net/eth0");
        fake_remove(&h->tree, "sys/bus/pci/devices/" PCI);
        card(h);
        fake_device_file(&h->tree, ETH0, "ifindex", "4\n");
        fake_device_file(&h->tree, ETH0, "queues/tx-0/xps_cpus", "0000000f\n");
        reconcile_after(h, SECOND);
        assert_steered(h);
        (void)irq_stop(h->interrupts, true);
        assert_file(h, "sys/devices/" ETH0 "/queues/tx-0/xps_cpus", "0000000f");
        assert_file(h, "sys/devices/" ETH0 "/queues/tx-1/xps_cpus", "00000000");
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
        assert_int_equal(published(h).n_writes, 5);
        assert_int_equal(published(h).undo_settings, 5);
        reconcile_after(h, 3 * SECOND);
        assert_steered(h);
        (void)irq_stop(h->interrupts, true);
        assert_untouched(h);
}

/* --- the end of the daemon --- */

/* Another mask than was written shows, so that it counts as failed and is tried again later. */
static int show_another(const SettingKey *key, const char **text) {
        if (key->kind == SETTING_XPS && strcmp(*text, "00000000") != 0)
                *text = "00000008";
        return 0;
}

/* There is no later. */
HOST_TEST(end_waits_for_no_pause) {
        world.answer = show_another;
        start(h);
        assert_file(h, "sys/devices/" ETH0 "/queues/tx-0/xps_cpus", "00000008");
        (void)irq_stop(h->interrupts, true);
        assert_untouched(h);
        assert_false(has_record(h));
}

/* A unit of ours sets the sysctl: the loop goes on meanwhile, but not for ever. */
TEST(end_waits_in_the_loop) {
        for (unsigned in_time = 0; in_time < 2; in_time++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                h.m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
                start(&h);
                world.answer = refuse_numa_balancing;
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
        n = published(h).undo_settings;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        none = limit;
        none.rlim_cur = 0;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        (void)irq_stop(h->interrupts, true);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(published(h).undo_settings, n);
        (void)irq_stop(h->interrupts, true);
        assert_untouched(h);
}

/* The next daemon finds it all as it is to be, and what differs from then on is others' doing. */
HOST_TEST(taken_over) {
        start(h);
        h->interrupts = irq_free(h->interrupts);
        start(h);
        reconcile_after(h, SECOND);
        assert_int_equal(published(h).n_writes, 0);
        write_mask(h, 100, "2\n");
        reconcile_after(h, SECOND);
        assert_int_equal(published(h).n_repairs, 1);
        assert_steered(h);
        (void)irq_stop(h->interrupts, true);
        assert_untouched(h);
        assert_false(has_record(h));
}

/* --- each call fails, or the daemon dies there --- */

/* What the next daemon would know, if this one ended now: of all that is not as it was, how it was.
 */
static void assert_recorded(void) {
        static const struct {
                SettingKey key;
                const char *before;
        } settings[] = {
                { { SETTING_VECTOR, PCI, 42 }, "0-3" },
                { { SETTING_VECTOR, PCI, 100 }, "2" },
                { { SETTING_VECTOR, PCI, 101 }, "3" },
                { { SETTING_XPS, "eth0", 0, 3 }, "00000000" },
                { { SETTING_XPS, "eth0", 1, 3 }, "00000000" },
                { { SETTING_RPS, "eth0", 0, 3 }, "00000000" },
                { { SETTING_RPS, "eth0", 1, 3 }, "00000000" },
                { { SETTING_NUMA_BALANCING, "", 0 }, "1" },
        };
        _cleanup_(undo_done) Undo read;
        char now[SETTING_TEXT_MAX];

        undo_init(&read, &harmed->tree.sysroot);
        assert_int_equal(undo_open(&read, harmed->tree.fd), 0);
        assert_int_equal(undo_load(&read, no_bad_file, NULL), 0);
        for (size_t i = 0; i < ELEMENTSOF(settings); i++) {
                const UndoSetting *entry = undo_record_find_setting(&read.host, &settings[i].key);

                assert_int_equal(
                        __real_SETTING_FILES.read(&harmed->tree.sysroot, &settings[i].key, now), 0);
                if (strcmp(now, settings[i].before) == 0)
                        continue;
                assert_non_null(entry);
                assert_string_equal(entry->before, settings[i].before);
        }
}

/* A life of the daemon, and the next one, for which nothing is wanted. Returns how many calls the
 * first one has made. */
static unsigned live_twice(unsigned harm_at, int error) {
        _cleanup_host_ TestHost h;
        unsigned n;

        host_init(&h);
        harmed = &h;
        world.on_written = assert_recorded;
        world.harm_at = harm_at;
        world.harm_error = error;
        h.m.host.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        h.irq.rps = RPS_ON;
        start(&h);
        reconcile_after(&h, 3 * SECOND);
        if (harm_at == 0) {
                assert_steered(&h);
                assert_int_equal(published(&h).undo_settings, 8);
        }
        if (!world.dead)
                (void)irq_stop(h.interrupts, true);
        n = world.n_calls;
        h.interrupts = irq_free(h.interrupts);
        assert_recorded();
        world.harm_at = 0;
        world.dead = false;
        h.m.host.policies.host.numa_balancing = NUMA_BALANCING_LEAVE;
        h.m.host.policies.n_irqs = 0;
        start(&h);
        assert_untouched(&h);
        assert_file(&h, "sys/devices/" ETH0 "/queues/rx-0/rps_cpus", "00000000");
        assert_false(has_record(&h));
        return n;
}

TEST(each_call_fails) {
        static const int errors[] = { 0, -EPERM, -EIO, -ENOSPC, -EINVAL, -ENOMEM };
        const unsigned n = live_twice(0, 0);

        assert_true(n > 40); /* eight settings and their record: written, compared, written back */
        for (size_t e = 0; e < ELEMENTSOF(errors); e++)
                for (unsigned at = 1; at <= n; at++)
                        (void)live_twice(at, errors[e]);
}
