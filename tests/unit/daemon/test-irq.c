/* Looks at interrupts of a host in a fake /proc and /sys: what they write there, what they leave
 * alone, what they give back, what they tell, and when the next one is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "../observe/fake-devices.h"
#include "tidbnumad/daemon/irq-apply.h"
#include "tidbnumad/daemon/irq-report.h"
#include "tidbnumad/daemon/irq.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/link-events.h"

#define MSEC UINT64_C(1000)
#define SECOND (1000 * MSEC)
#define PCI "0000:00:03.0"
#define ETH0 "pci0000:00/" PCI "/net/eth0"

/* --- the clock, and who tells of events --- */

static struct {
        uint64_t now;
        Uevents *uevents;
        int link_peer, error;
        char unit[64]; /* that was started last */
        unsigned n_started;
        bool told;
        size_t n_banned;
} world;

uint64_t __wrap_clock_monotonic_usec(void);
int __wrap_uevents_open(Uevents *uevents, sd_event *event, const char *const *subsystems,
                        UeventsHandler handler, void *userdata);
int __wrap_link_events_open(int *ret_fd);

uint64_t __wrap_clock_monotonic_usec(void) {
        return world.now;
}

int __wrap_uevents_open(Uevents *uevents, sd_event *event, const char *const *subsystems,
                        UeventsHandler handler, void *userdata) {
        (void)event;
        (void)subsystems;
        if (world.error < 0)
                return world.error;
        *uevents = (Uevents){ .handler = handler, .userdata = userdata };
        world.uevents = uevents;
        return 0;
}

int __wrap_link_events_open(int *ret_fd) {
        int fds[2];

        if (world.error < 0)
                return world.error;
        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds), 0);
        *ret_fd = fds[0];
        world.link_peer = fds[1];
        return 0;
}

/* --- systemd, and a kernel that refuses the sysctl --- */

int __wrap_backend_systemd_ensure_bus(Backend *backend);
int __wrap_bus_start(sd_bus *bus, const char *unit);
int __wrap_sd_bus_flush(sd_bus *bus);

int __wrap_backend_systemd_ensure_bus(Backend *backend) {
        (void)backend;
        return world.error;
}

int __wrap_bus_start(sd_bus *bus, const char *unit) {
        (void)bus;
        (void)snprintf(world.unit, sizeof(world.unit), "%s", unit);
        world.n_started++;
        return 0;
}

int __wrap_sd_bus_flush(sd_bus *bus) {
        (void)bus;
        return 0;
}

/* As kernels up to 6.11 refuse a mask of a vector of their own. */
static int write_but_101(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        return key->kind == SETTING_VECTOR && key->number == 101
                       ? -EIO
                       : SETTING_FILES.write(sysroot, key, text);
}

/* What irqbalance would be told. */
void __wrap_irq_balance_tell(Manager *manager, const IrqPlanBalance *wanted);

void __wrap_irq_balance_tell(Manager *manager, const IrqPlanBalance *wanted) {
        (void)manager;
        world.told = wanted->told;
        world.n_banned = wanted->n_banned_irqs;
}

static int write_without_right(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        return key->kind == SETTING_NUMA_BALANCING ? -EPERM
                                                   : SETTING_FILES.write(sysroot, key, text);
}

/* --- the host: two nodes with two CPUs each, and a card with two queues on the second --- */

typedef struct Host {
        FakeTree tree;
        Args args;
        Manager m;
        Node nodes[2];
        uint16_t distances[4];
        IrqPolicy irq;
        Policy policy;
        Instance instance;
        Instance *pointer;
} Host;

static void write_mask(const Host *h, unsigned irq, const char *text) {
        char path[64];

        (void)snprintf(path, sizeof(path), "proc/irq/%u/smp_affinity_list", irq);
        fake_write(&h->tree, path, text);
}

static void write_effective(const Host *h, unsigned irq, const char *text) {
        char path[64];

        (void)snprintf(path, sizeof(path), "proc/irq/%u/effective_affinity_list", irq);
        fake_write(&h->tree, path, text);
}

static void vector(const Host *h, unsigned irq, const char *mask) {
        char path[128];

        (void)snprintf(path, sizeof(path), "sys/devices/pci0000:00/" PCI "/msi_irqs/%u", irq);
        fake_write(&h->tree, path, "msix\n");
        write_mask(h, irq, mask);
        write_effective(h, irq, mask);
}

static void queue(const Host *h, unsigned number) {
        char name[64];

        (void)snprintf(name, sizeof(name), "queues/tx-%u/xps_cpus", number);
        fake_device_file(&h->tree, ETH0, name, "00000000\n");
        (void)snprintf(name, sizeof(name), "queues/rx-%u/rps_cpus", number);
        fake_device_file(&h->tree, ETH0, name, "00000000\n");
}

/* How often the two queues' interrupts came to CPU 1 and CPU 2. */
static void counters(const Host *h, unsigned on_1, unsigned on_2) {
        char text[512];

        (void)snprintf(text, sizeof(text),
                       "     CPU0 CPU1 CPU2 CPU3\n"
                       " 42:  0  0  0  0  c 1-edge      ice-eth0-misc\n"
                       "100:  0  %u  %u  0  c 1-edge      ice-eth0-TxRx-0\n"
                       "101:  0  %u  %u  0  c 1-edge      ice-eth0-TxRx-1\n",
                       on_1, on_2, on_1, on_2);
        fake_write(&h->tree, "proc/interrupts", text);
}

static void card(const Host *h) {
        fake_card(&h->tree, "eth0", PCI, "1\n");
        fake_device_file(&h->tree, "pci0000:00/" PCI, "class", "0x020000\n");
        fake_link(&h->tree, "sys/bus/pci/devices/" PCI, "../../../devices/pci0000:00/" PCI);
        fake_device_file(&h->tree, ETH0, "speed", "100000\n");
        fake_device_file(&h->tree, ETH0, "operstate", "up\n");
        fake_device_file(&h->tree, ETH0, "ifindex", "3\n");
        queue(h, 0);
        queue(h, 1);
        vector(h, 42, "0-3\n");
        vector(h, 100, "2\n");
        vector(h, 101, "3\n");
        counters(h, 0, 0);
}

static void machine(Host *h) {
        static const char *const cpus[] = { "0-1", "2-3" };

        for (uint32_t i = 0; i < 2; i++)
                h->nodes[i] = (Node){ .id = i,
                                      .package = i,
                                      .memory_bytes = 1 << 30,
                                      .cpus = ids(cpus[i]),
                                      .first_threads = ids(cpus[i]) };
        memcpy(h->distances, (uint16_t[]){ 10, 20, 20, 10 }, sizeof(h->distances));
        h->m.topology = (Topology){ .nodes = h->nodes, .n_nodes = 2, .distances = h->distances };
        fake_write(&h->tree, "proc/irq/default_smp_affinity", "0000000f\n");
        fake_write(&h->tree, "proc/sys/kernel/numa_balancing", "1\n");
        fake_write(&h->tree, "proc/sys/kernel/random/boot_id",
                   "0a1b2c3d-0001-4000-8000-00000000000f\n");
}

/* The instance owns the card's node; `steer: away` sends the card to the other one. */
static void host_init(Host *h) {
        memset(&world, 0, sizeof(world));
        world.now = 1000000000 * SECOND; /* the real one is far from it, so that no timer fires */
        world.link_peer = -EBADF;
        *h = (Host){ .args = { .runtime_dir = (char *)"/run", .once = true },
                     .irq = { .steer = STEER_AWAY, .irqbalance = IRQBALANCE_IGNORE },
                     .policy = { .name = (char *)"p" } };
        fake_init(&h->tree);
        h->m = (Manager){ .args = &h->args,
                          .sysroot = h->tree.sysroot,
                          .journal = { .max_priority = -1 },
                          .policy_load_success = true,
                          .instances = &h->pointer,
                          .n_instances = 1,
                          .policies = {
                                  .mode = ENFORCEMENT_ENFORCE, .irqs = &h->irq, .n_irqs = 1 } };
        h->m.sysroot.live = true;
        assert_int_equal(word_list_add(&h->irq.net, "eth*"), 0);
        h->irq.xps = true;
        h->pointer = &h->instance;
        h->instance = (Instance){ .manager = &h->m, .name = (char *)"tikv", .policy = &h->policy };
        h->instance.planned.known = true;
        h->instance.planned.placement.nodes = ids("1");
        h->instance.planned.placement.cpus = ids("2-3");
        machine(h);
        card(h);
        undo_init(&h->m.undo, &h->tree.sysroot);
        assert_int_equal(undo_open(&h->m.undo, h->tree.fd), 0);
}

static void start(Host *h) {
        assert_int_equal(irq_start(&h->m), 0);
        h->m.irq->balance.folder = "/nonexistent";
}

static void host_done(Host *h) {
        irq_done(&h->m);
        sd_event_unref(h->m.event);
        undo_done(&h->m.undo);
        irq_policy_done(&h->irq);
        word_list_done(&h->m.policies.release);
        closep(&world.link_peer);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

static void look_after(Host *h, uint64_t usec) {
        world.now += usec;
        irq_look(&h->m);
}

/* --- what is there then --- */

static void assert_file(const Host *h, const char *name, const char *expected) {
        char text[256];

        assert_true(read_file_at(h->tree.fd, name, text, sizeof(text)) >= 0);
        assert_string_equal(text, expected);
}

static void assert_mask(const Host *h, unsigned irq, const char *expected) {
        char path[64];

        (void)snprintf(path, sizeof(path), "proc/irq/%u/smp_affinity_list", irq);
        assert_file(h, path, expected);
}

static void assert_steered(const Host *h) {
        assert_mask(h, 42, "0-1");
        assert_mask(h, 100, "0");
        assert_mask(h, 101, "1");
        assert_file(h, "proc/irq/default_smp_affinity", "00000003");
}

static void assert_untouched(const Host *h) {
        assert_mask(h, 42, "0-3");
        assert_mask(h, 100, "2");
        assert_mask(h, 101, "3");
        assert_file(h, "sys/devices/" ETH0 "/queues/tx-0/xps_cpus", "00000000");
        assert_file(h, "proc/irq/default_smp_affinity", "0000000f");
        assert_file(h, "proc/sys/kernel/numa_balancing", "1");
}

static bool has_record(const Host *h) {
        return faccessat(h->tree.fd, "undo/" UNDO_HOST_FILE, F_OK, 0) == 0;
}

static uint64_t vectors(const Host *h, IrqState state) {
        assert_int_equal(h->m.irq->n_devices, 1);
        return h->m.irq->devices[0].vectors[state];
}

/* --- putting on and giving back --- */

static void test_steers_then_is_quiet(void **state) {
        _cleanup_host_ Host h;
        uint64_t writes;

        (void)state;
        host_init(&h);
        start(&h);
        assert_steered(&h);
        assert_true(has_record(&h));
        writes = h.m.irq->n_writes;
        assert_int_equal(writes, 6); /* three vectors, two queues, the default */
        for (unsigned i = 0; i < 20; i++)
                look_after(&h, 3 * SECOND);
        assert_int_equal(h.m.irq->n_writes, writes);
        assert_int_equal(h.m.irq->n_repairs, 0);
        assert_int_equal(vectors(&h, IRQ_STATE_STEERED), 3);
        irq_give_all_back(&h.m);
        assert_untouched(&h);
        assert_false(has_record(&h));
}

static void test_changes_nothing(void **state) {
        (void)state;
        for (unsigned i = 0; i < 4; i++) {
                _cleanup_host_ Host h;

                host_init(&h);
                h.m.policies.host.numa_balancing = NUMA_BALANCING_OFF;
                h.m.policies.mode = i == 0 ? ENFORCEMENT_OBSERVE : ENFORCEMENT_ENFORCE;
                h.args.dry_run = i == 1;
                h.m.policy_load_success = i != 2;
                h.m.sysroot.live = i != 3;
                start(&h);
                look_after(&h, 3 * SECOND);
                assert_untouched(&h);
                assert_int_equal(h.m.irq->n_writes, 0);
                assert_false(has_record(&h));
                assert_int_equal(vectors(&h, IRQ_STATE_LEFT), 3); /* it is told all the same */
        }
}

/* Without a folder for the record nothing is changed. */
static void test_no_record(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        undo_done(&h.m.undo);
        undo_init(&h.m.undo, &h.m.sysroot);
        start(&h);
        assert_untouched(&h);
}

static void test_policy_goes(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        start(&h);
        assert_steered(&h);
        h.m.policies.n_irqs = 0;
        look_after(&h, SECOND);
        assert_untouched(&h);
        assert_false(has_record(&h));
}

static void test_released_by_name(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.m.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        h.irq.irqbalance = IRQBALANCE_BAN;
        start(&h);
        assert_file(&h, "proc/sys/kernel/numa_balancing", "0");
        assert_int_equal(world.n_banned, 3);
        assert_int_equal(word_list_add(&h.m.policies.release, "eth0"), 0);
        look_after(&h, SECOND);
        assert_mask(&h, 100, "2");
        assert_file(&h, "sys/devices/" ETH0 "/queues/tx-0/xps_cpus", "00000000");
        assert_file(&h, "proc/irq/default_smp_affinity", "00000003"); /* the host's */
        assert_int_equal(h.m.irq->devices[0].reason, IRQ_REASON_RELEASED);
        assert_true(world.told);
        assert_int_equal(world.n_banned, 0);
        assert_file(&h, "proc/sys/kernel/numa_balancing", "0");
        assert_int_equal(word_list_add(&h.m.policies.release, "host"), 0);
        look_after(&h, SECOND);
        assert_untouched(&h);
        assert_false(has_record(&h) || world.told);
        word_list_done(&h.m.policies.release);
        look_after(&h, SECOND);
        assert_steered(&h);
}

static void test_numa_balancing(void **state) {
        static const struct {
                NumaBalancing wanted;
                const char *stands, *expected;
        } cases[] = {
                { NUMA_BALANCING_LEAVE, "1\n", "1" }, { NUMA_BALANCING_OFF, "1\n", "0" },
                { NUMA_BALANCING_OFF, "2\n", "0" },   { NUMA_BALANCING_ON, "0\n", "1" },
                { NUMA_BALANCING_ON, "2\n", "2" },    { NUMA_BALANCING_OFF, "0\n", "0" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ Host h;
                char before[8];

                host_init(&h);
                h.m.policies.n_irqs = 0;
                h.m.policies.host.numa_balancing = cases[i].wanted;
                fake_write(&h.tree, "proc/sys/kernel/numa_balancing", cases[i].stands);
                start(&h);
                assert_file(&h, "proc/sys/kernel/numa_balancing", cases[i].expected);
                irq_give_all_back(&h.m);
                (void)snprintf(before, sizeof(before), "%.1s", cases[i].stands);
                assert_file(&h, "proc/sys/kernel/numa_balancing", before);
        }
}

/* The sysctl wants a capability that the daemon does not have: a unit of ours sets it, and has done
 * it by a later look. */
static void test_numa_balancing_by_unit(void **state) {
        SettingOps ops = SETTING_FILES;
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.m.policies.n_irqs = 0;
        start(&h);
        ops.write = write_without_right;
        h.m.irq->ops = &ops;
        h.m.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        look_after(&h, SECOND);
        assert_string_equal(world.unit, "tidbnumad-numa-balancing@0.service");
        assert_true(has_record(&h));
        look_after(&h, SECOND); /* it is at it */
        assert_int_equal(world.n_started, 1);
        fake_write(&h.tree, "proc/sys/kernel/numa_balancing", "0\n");
        for (unsigned i = 0; i < 5; i++)
                look_after(&h, 100 * SECOND);
        assert_int_equal(world.n_started, 1);
        h.m.policies.host.numa_balancing = NUMA_BALANCING_LEAVE;
        look_after(&h, SECOND);
        assert_string_equal(world.unit, "tidbnumad-numa-balancing@1.service");
        assert_true(has_record(&h)); /* as long as it does not stand */
        fake_write(&h.tree, "proc/sys/kernel/numa_balancing", "1\n");
        look_after(&h, SECOND);
        assert_false(has_record(&h));
        assert_int_equal(world.n_started, 2);
}

/* Nor a bus. */
static void test_numa_balancing_by_nobody(void **state) {
        static const SettingKey key = { SETTING_NUMA_BALANCING, "", 0 };
        SettingOps ops = SETTING_FILES;
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.m.policies.n_irqs = 0;
        start(&h);
        ops.write = write_without_right;
        h.m.irq->ops = &ops;
        world.error = -ENOTCONN;
        h.m.policies.host.numa_balancing = NUMA_BALANCING_OFF;
        look_after(&h, SECOND);
        assert_int_equal(world.n_started, 0);
        assert_true(irq_setting_find(h.m.irq, &key)->told);
        assert_false(has_record(&h));
        assert_file(&h, "proc/sys/kernel/numa_balancing", "1");
}

/* --- the kernel's own --- */

static void test_managed(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        assert_int_equal(fchmodat(h.tree.fd, "proc/irq/101/smp_affinity_list", 0444, 0), 0);
        start(&h);
        for (unsigned i = 0; i < 5; i++)
                look_after(&h, 100 * SECOND);
        assert_mask(&h, 101, "3");
        assert_int_equal(vectors(&h, IRQ_STATE_MANAGED), 1);
        assert_int_equal(vectors(&h, IRQ_STATE_STEERED), 2);
        assert_int_equal(vectors(&h, IRQ_STATE_FAILED), 0);
        assert_int_equal(h.m.irq->n_writes, 5);
}

/* --- others --- */

static void test_contested(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        start(&h);
        for (unsigned i = 1; i <= 3; i++) {
                write_mask(&h, 100, "2\n");
                look_after(&h, 3 * SECOND);
                assert_mask(&h, 100, "0");
                assert_int_equal(h.m.irq->n_repairs, i);
        }
        write_mask(&h, 100, "2\n");
        look_after(&h, 3 * SECOND);
        assert_mask(&h, 100, "2");
        assert_int_equal(vectors(&h, IRQ_STATE_CONTESTED), 1);
        assert_int_equal(h.m.irq->n_repairs, 3);
}

/* `ethtool -L`: the driver sets its masks anew, and again a moment later. */
static void test_driver_begins_anew(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        start(&h);
        fake_remove(&h.tree, "sys/devices/" ETH0 "/queues/rx-1");
        fake_remove(&h.tree, "sys/devices/" ETH0 "/queues/tx-1");
        for (unsigned i = 0; i < 5; i++) {
                write_mask(&h, 100, "2\n");
                write_mask(&h, 101, "3\n");
                look_after(&h, 300 * MSEC);
                assert_steered(&h);
        }
        assert_int_equal(h.m.irq->n_repairs, 0);
        assert_int_equal(vectors(&h, IRQ_STATE_CONTESTED), 0);
        /* Once it has come to rest, who changes a mask is somebody else. */
        look_after(&h, 3 * SECOND);
        write_mask(&h, 100, "2\n");
        look_after(&h, 3 * SECOND);
        assert_int_equal(h.m.irq->n_repairs, 1);
}

static void test_link_goes_down(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        start(&h);
        look_after(&h, 10 * SECOND);
        fake_device_file(&h.tree, ETH0, "operstate", "down\n");
        write_mask(&h, 100, "2\n");
        look_after(&h, 3 * SECOND);
        assert_steered(&h);
        assert_int_equal(h.m.irq->n_repairs, 0);
}

/* Gone and back: what is known of the former one's vectors says nothing of the new one's. */
static void test_device_goes_and_comes(void **state) {
        static const SettingKey key = { SETTING_VECTOR, PCI, 101 };
        SettingOps ops = SETTING_FILES;
        _cleanup_host_ Host h;
        uint64_t writes;

        (void)state;
        host_init(&h);
        h.m.policies.n_irqs = 0;
        start(&h);
        ops.write = write_but_101;
        h.m.irq->ops = &ops;
        h.m.policies.n_irqs = 1;
        look_after(&h, SECOND);
        assert_int_equal(vectors(&h, IRQ_STATE_MANAGED), 1);
        look_after(&h, SECOND); /* the others are spread without it */
        writes = h.m.irq->n_writes;
        look_after(&h, SECOND);
        assert_int_equal(h.m.irq->n_writes, writes);
        fake_remove(&h.tree, "sys/devices/pci0000:00/" PCI);
        fake_remove(&h.tree, "sys/class/net/eth0");
        fake_remove(&h.tree, "sys/bus/pci/devices/" PCI);
        look_after(&h, SECOND);
        assert_int_equal(h.m.irq->n_devices, 0);
        assert_null(irq_setting_find(h.m.irq, &key));
        card(&h);
        h.m.irq->ops = &SETTING_FILES;
        look_after(&h, SECOND);
        assert_steered(&h);
        assert_int_equal(vectors(&h, IRQ_STATE_STEERED), 3);
        assert_int_equal(h.m.irq->n_repairs, 0);
}

/* --- verification --- */

/* The mask stands, and the interrupt goes on where it was. */
static void test_does_not_follow(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        start(&h);
        for (unsigned i = 0; i < 2; i++) { /* quiet so far: the mask was new, then nothing fired */
                look_after(&h, 3 * SECOND);
                assert_int_equal(vectors(&h, IRQ_STATE_FAILED), 0);
        }
        write_effective(&h, 101, "1\n"); /* the second queue's has followed */
        for (unsigned i = 1; i <= 3; i++) {
                assert_int_equal(vectors(&h, IRQ_STATE_FAILED), 0);
                counters(&h, 0, 10 * i);
                look_after(&h, 3 * SECOND);
        }
        assert_int_equal(vectors(&h, IRQ_STATE_FAILED), 1);
        assert_int_equal(vectors(&h, IRQ_STATE_STEERED), 2);
        write_effective(&h, 100, "0\n");
        look_after(&h, 3 * SECOND);
        assert_int_equal(vectors(&h, IRQ_STATE_FAILED), 0);
}

/* A mask that is put back is a new one. */
static void test_follows_anew(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        start(&h);
        look_after(&h, 3 * SECOND);
        for (unsigned i = 1; i <= 3; i++) {
                counters(&h, 0, 10 * i);
                look_after(&h, 3 * SECOND);
        }
        assert_int_equal(vectors(&h, IRQ_STATE_FAILED), 2);
        write_mask(&h, 100, "2\n");
        look_after(&h, 3 * SECOND);
        assert_int_equal(vectors(&h, IRQ_STATE_FAILED), 1);
}

/* --- what is told --- */

static void test_landed(void **state) {
        IrqDeviceSnapshot *devices = NULL;
        IrqLandedSnapshot *landed = NULL;
        IrqSnapshot snapshot = { 0 };
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        counters(&h, 1000, 1000); /* before us */
        start(&h);
        counters(&h, 1005, 1007);
        look_after(&h, SECOND);
        assert_int_equal(irq_report_fill(h.m.irq, &snapshot, &devices, &landed), 0);
        assert_true(snapshot.known);
        assert_int_equal(snapshot.n_landed, 1);
        assert_string_equal(landed[0].device, "eth0");
        assert_string_equal(landed[0].instance, "tikv");
        assert_int_equal(landed[0].count, 14); /* of both queues, on CPU 2 */
        assert_int_equal(snapshot.n_devices, 1);
        assert_string_equal(devices[0].name, "eth0");
        assert_string_equal(devices[0].reason_id, "away");
        assert_ids(*devices[0].cpus, "0-1");
        assert_int_equal(snapshot.n_writes, 6);
        assert_int_equal(snapshot.undo_settings, 6);
        free(devices);
        free(landed);
        irq_report_forget(h.m.irq, "tidb");
        assert_int_equal(h.m.irq->n_landed, 1);
        irq_report_forget(h.m.irq, "tikv");
        assert_int_equal(h.m.irq->n_landed, 0);
        irq_report_forget(NULL, "tikv");
}

static void test_nothing_to_tell(void **state) {
        IrqDeviceSnapshot *devices = NULL;
        IrqLandedSnapshot *landed = NULL;
        IrqSnapshot snapshot = { 0 };

        (void)state;
        assert_int_equal(irq_report_fill(NULL, &snapshot, &devices, &landed), 0);
        assert_false(snapshot.known);
}

/* --- when --- */

static void test_slow_looks(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        start(&h);
        assert_int_equal(h.m.irq->due_usec, world.now + 3 * SECOND);
        h.m.policies.n_irqs = 0; /* nothing wanted, nothing to be given back */
        look_after(&h, SECOND);
        look_after(&h, SECOND);
        assert_int_equal(h.m.irq->due_usec, world.now + 10 * SECOND);
}

static void test_instances_come_and_go(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        irq_note_owners(&(Manager){ 0 }); /* not started yet */
        host_init(&h);
        start(&h);
        irq_note_owners(&h.m);
        look_after(&h, SECOND);
        irq_note_owners(&h.m); /* nothing has changed */
        assert_int_equal(h.m.irq->due_usec, world.now + 3 * SECOND);
        h.instance.planned.placement.nodes = ids("0");
        h.instance.planned.placement.cpus = ids("0-1");
        irq_note_owners(&h.m);
        assert_int_equal(h.m.irq->due_usec, world.now + SECOND);
        look_after(&h, SECOND);
        assert_mask(&h, 42, "2-3");
}

static uint64_t timer_of(const Host *h) {
        uint64_t usec;

        assert_int_equal(sd_event_source_get_time(h->m.irq->timer, &usec), 0);
        return usec;
}

static void start_live(Host *h) {
        h->args.once = false;
        assert_int_equal(sd_event_new(&h->m.event), 0);
        start(h);
}

/* udev tells of a queue; the driver sets a mask after that. */
static void test_event(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        start_live(&h);
        assert_int_equal(timer_of(&h), world.now + 3 * SECOND);
        world.uevents->handler(world.uevents->userdata);
        assert_int_equal(timer_of(&h), world.now + 30 * MSEC);
        look_after(&h, 30 * MSEC);
        assert_int_equal(timer_of(&h), world.now + 120 * MSEC);
        for (unsigned i = 0; i < 4; i++)
                look_after(&h, timer_of(&h) - world.now);
        assert_int_equal(timer_of(&h), world.now + 3 * SECOND);
}

static void test_link_event(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        start_live(&h);
        assert_int_equal(send(world.link_peer, "x", 1, 0), 1);
        while (sd_event_run(h.m.event, 0) > 0)
                ;
        assert_int_equal(timer_of(&h), world.now + 30 * MSEC);
}

/* The slow look finds what has changed. */
static void test_no_events(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        world.error = -ENOSYS;
        start_live(&h);
        assert_int_equal(timer_of(&h), world.now + 3 * SECOND);
        assert_steered(&h);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_steers_then_is_quiet),
                cmocka_unit_test(test_changes_nothing),
                cmocka_unit_test(test_no_record),
                cmocka_unit_test(test_policy_goes),
                cmocka_unit_test(test_released_by_name),
                cmocka_unit_test(test_numa_balancing),
                cmocka_unit_test(test_numa_balancing_by_unit),
                cmocka_unit_test(test_numa_balancing_by_nobody),
                cmocka_unit_test(test_managed),
                cmocka_unit_test(test_contested),
                cmocka_unit_test(test_driver_begins_anew),
                cmocka_unit_test(test_link_goes_down),
                cmocka_unit_test(test_device_goes_and_comes),
                cmocka_unit_test(test_does_not_follow),
                cmocka_unit_test(test_follows_anew),
                cmocka_unit_test(test_landed),
                cmocka_unit_test(test_nothing_to_tell),
                cmocka_unit_test(test_slow_looks),
                cmocka_unit_test(test_instances_come_and_go),
                cmocka_unit_test(test_event),
                cmocka_unit_test(test_link_event),
                cmocka_unit_test(test_no_events),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
