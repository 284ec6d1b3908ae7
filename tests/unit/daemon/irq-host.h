/* A host in a fake /proc and /sys, for tests that reconcile its interrupts: a card with two queues,
 * and an instance on its node. Time, events and systemd are the test's, and so is how the kernel
 * answers to each setting. */
#pragma once

#include <sys/socket.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "../world/fake-devices.h"
#include "rooms.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/devices.h"

#define MSEC UINT64_C(1000)
#define SECOND (1000 * MSEC)
#define PCI "0000:00:03.0"
#define ETH0 "pci0000:00/" PCI "/net/eth0"

/* --- the clock, and the sources of events --- */

static struct {
        uint64_t now;
        Uevents *uevents;
        int link_peer, error;
        char unit[64]; /* that was started last */
        unsigned n_started;
        bool sent;
        size_t n_banned;
        uint64_t timer_usec; /* when the daemon looks again by itself */

        /* May replace the text that is written; negative errno: it is refused. NULL: all is
         * written as it is. */
        int (*answer)(const SettingKey *key, const char **text);
        void (*on_read)(void); /* before the next read of a setting, once */
        void (*on_written)(void);
        unsigned n_calls, harm_at; /* the call that is harmed; 0: none */
        int harm_error;            /* 0: the daemon dies there */
        bool dead;
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

int __real_event_source_arm(sd_event_source *source, uint64_t usec);
int __wrap_event_source_arm(sd_event_source *source, uint64_t usec);
int __wrap_event_source_arm(sd_event_source *source, uint64_t usec) {
        world.timer_usec = usec;
        return __real_event_source_arm(source, usec);
}

/* --- the kernel's settings, and the folder of records --- */

extern const SettingOps __real_SETTING_FILES, __wrap_SETTING_FILES;

/* 0: the call is made. */
static inline int harm(void) {
        if (world.dead)
                return -ESHUTDOWN;
        if (++world.n_calls != world.harm_at)
                return 0;
        world.dead = world.harm_error == 0;
        return world.dead ? -ESHUTDOWN : world.harm_error;
}

static inline int kernel_read(const Sysroot *sysroot, const SettingKey *key,
                              char buffer[static SETTING_TEXT_MAX]) {
        void (*on_read)(void) = world.on_read;
        const int r = harm();

        world.on_read = NULL;
        if (on_read)
                on_read();
        return r < 0 ? r : __real_SETTING_FILES.read(sysroot, key, buffer);
}

static inline int kernel_write(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        int r = harm();

        if (r >= 0 && world.answer)
                r = world.answer(key, &text);
        if (r >= 0)
                r = __real_SETTING_FILES.write(sysroot, key, text);
        if (world.on_written)
                world.on_written();
        return r;
}

const SettingOps __wrap_SETTING_FILES = { kernel_read, kernel_write };

int __real_atomic_file_write(int dir_fd, const char *name, const char *data, size_t size,
                             mode_t mode);
int __wrap_atomic_file_write(int dir_fd, const char *name, const char *data, size_t size,
                             mode_t mode);
int __wrap_atomic_file_write(int dir_fd, const char *name, const char *data, size_t size,
                             mode_t mode) {
        const int r = harm();

        return r < 0 ? r : __real_atomic_file_write(dir_fd, name, data, size, mode);
}

/* The sysctl wants a capability that the daemon does not have. */
static inline int refuse_numa_balancing(const SettingKey *key, _unused_ const char **text) {
        return key->kind == SETTING_NUMA_BALANCING ? -EPERM : 0;
}

/* --- systemd, and what irqbalance would be sent --- */

int __wrap_backend_systemd_ensure_bus(Backend *backend);
int __wrap_bus_units_start(sd_bus *bus, const char *unit);

int __wrap_backend_systemd_ensure_bus(Backend *backend) {
        (void)backend;
        return world.error;
}

int __wrap_bus_units_start(sd_bus *bus, const char *unit) {
        (void)bus;
        (void)snprintf(world.unit, sizeof(world.unit), "%s", unit);
        world.n_started++;
        return 0;
}

/* This host's own is none of the test's. */
int __wrap_irqbalance_find(const Sysroot *sysroot, const char *folder, pid_t *ret_pid);

int __wrap_irqbalance_find(_unused_ const Sysroot *sysroot, _unused_ const char *folder,
                           _unused_ pid_t *ret_pid) {
        return -ENOENT;
}

void __wrap_irq_balance_send(Interrupts *irq, const IrqPlanBalance *wanted);

void __wrap_irq_balance_send(Interrupts *irq, const IrqPlanBalance *wanted) {
        (void)irq;
        world.sent = wanted->sent;
        world.n_banned = wanted->n_banned_irqs;
}

/* --- the host: two nodes with two CPUs each, and a card with two queues on the second --- */

typedef struct TestHost {
        FakeTree tree;
        Args args;
        Rooms m;
        Node nodes[2];
        uint16_t distances[4];
        IrqPolicy irq;
        Interrupts *interrupts;
        Policy policy;
        Instance *instance;
} TestHost;

static inline void write_mask(const TestHost *h, unsigned irq, const char *text) {
        fake_write(&h->tree, fmt("proc/irq/%u/smp_affinity_list", irq), text);
}

static inline void write_effective(const TestHost *h, unsigned irq, const char *text) {
        fake_write(&h->tree, fmt("proc/irq/%u/effective_affinity_list", irq), text);
}

static inline void vector(const TestHost *h, unsigned irq, const char *mask) {
        fake_write(&h->tree, fmt("sys/devices/pci0000:00/" PCI "/msi_irqs/%u", irq), "msix\n");
        write_mask(h, irq, mask);
        write_effective(h, irq, mask);
}

static inline void queue(const TestHost *h, unsigned number) {
        fake_device_file(&h->tree, ETH0, fmt("queues/tx-%u/xps_cpus", number), "00000000\n");
        fake_device_file(&h->tree, ETH0, fmt("queues/rx-%u/rps_cpus", number), "00000000\n");
}

/* How often the two queues' interrupts came to CPU 1 and CPU 2. */
static inline void counters(const TestHost *h, unsigned on_1, unsigned on_2) {
        char text[512];

        (void)snprintf(text, sizeof(text),
                       "     CPU0 CPU1 CPU2 CPU3\n"
                       " 42:  0  0  0  0  c 1-edge      ice-eth0-misc\n"
                       "100:  0  %u  %u  0  c 1-edge      ice-eth0-TxRx-0\n"
                       "101:  0  %u  %u  0  c 1-edge      ice-eth0-TxRx-1\n",
                       on_1, on_2, on_1, on_2);
        fake_write(&h->tree, "proc/interrupts", text);
}

static inline void card(const TestHost *h) {
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

static inline void machine(TestHost *h) {
        static const char *const cpus[] = { "0-1", "2-3" };

        for (uint32_t i = 0; i < 2; i++)
                h->nodes[i] = (Node){
                        .id = i, .package = i, .memory_bytes = 1 << 30, .cpus = cpu_set(cpus[i])
                };
        memcpy(h->distances, (uint16_t[]){ 10, 20, 20, 10 }, sizeof(h->distances));
        h->m.host.topology =
                (Topology){ .nodes = h->nodes, .n_nodes = 2, .distances = h->distances };
        fake_write(&h->tree, "proc/irq/default_smp_affinity", "0000000f\n");
        fake_write(&h->tree, "proc/sys/kernel/numa_balancing", "1\n");
}

/* The instance owns this node from now on. */
static inline void place(TestHost *h, const char *node) {
        h->policy.place = (Place){ .nodes = node_set(node) };
        host_queue(&h->m.host, HOST_WORK_PLAN);
        place_refresh(&h->m.placing);
}

/* The instance owns the card's node; `steer: away` sends the card to the other one. */
static inline void host_init(TestHost *h) {
        Process process = { .id = { 10, 1 }, .exe = strdup("/tikv") };

        memset(&world, 0, sizeof(world));
        world.now = 1000000000 * SECOND; /* the real one is far from it, so that no timer fires */
        world.link_peer = -EBADF;
        *h = (TestHost){ .args = { .runtime_dir = (char *)"/run" },
                         .irq = { .steer = STEER_AWAY, .irqbalance = IRQBALANCE_IGNORE },
                         .policy = { .name = (char *)"p" } };
        fake_init(&h->tree);
        h->m = (Rooms){ .host.args = &h->args,
                        .host.sysroot = h->tree.sysroot,
                        .host.journal = { .max_priority = -1 },
                        .host.policies_known = true,
                        .host.policies = { .mode = ENFORCEMENT_ENFORCE,
                                           .policies = &h->policy,
                                           .n_policies = 1,
                                           .irqs = &h->irq,
                                           .n_irqs = 1 } };
        rooms_wire(&h->m);
        h->m.host.sysroot.live = true;
        assert_int_equal(word_list_add(&h->irq.net, "eth*"), 0);
        h->irq.xps = true;
        h->instance = rooms_add(&h->m, &h->policy, &process, NULL);
        machine(h);
        place(h, "1");
        card(h);
        undo_init(&h->m.undo.records, &h->tree.sysroot);
        assert_int_equal(undo_open(&h->m.undo.records, h->tree.fd), 0);
        assert_int_equal(sd_event_new(&h->m.host.event), 0);
}

static inline void no_bad_file(const char *name, int error, void *userdata) {
        (void)error;
        (void)userdata;
        fail_msg("%s", name);
}

/* With what the records in the folder, where there is one, show of an earlier run. */
static inline void start(TestHost *h) {
        Undo *records = &h->m.undo.records;

        if (records->dir_fd >= 0) {
                undo_done(records);
                undo_init(records, &h->tree.sysroot);
                assert_int_equal(undo_open(records, h->tree.fd), 0);
                assert_int_equal(undo_load(records, no_bad_file, NULL), 0);
        }
        closep(&world.link_peer);
        assert_int_equal(
                irq_start(&h->m.host, &h->m.registry, &h->m.placing, &h->m.undo, &h->interrupts),
                0);
}

static inline void host_done(TestHost *h) {
        h->interrupts = irq_free(h->interrupts);
        rooms_free_instances(&h->m);
        sd_event_unref(h->m.host.event);
        undo_done(&h->m.undo.records);
        irq_policy_done(&h->irq);
        requests_done(&h->m.host.requests);
        closep(&world.link_peer);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

static inline void reconcile_after(TestHost *h, uint64_t usec) {
        world.now += usec;
        irq_reconcile(h->interrupts);
}

/* --- what is there then --- */

static inline void assert_file(const TestHost *h, const char *name, const char *expected) {
        char text[256];

        assert_true(path_read(h->tree.fd, text, sizeof(text), "%s", name) >= 0);
        assert_string_equal(text, expected);
}

static inline void assert_mask(const TestHost *h, unsigned irq, const char *expected) {
        assert_file(h, fmt("proc/irq/%u/smp_affinity_list", irq), expected);
}

static inline void assert_steered(const TestHost *h) {
        assert_mask(h, 42, "0-1");
        assert_mask(h, 100, "0");
        assert_mask(h, 101, "1");
        assert_file(h, "proc/irq/default_smp_affinity", "0000000f");
}

static inline void assert_untouched(const TestHost *h) {
        assert_mask(h, 42, "0-3");
        assert_mask(h, 100, "2");
        assert_mask(h, 101, "3");
        assert_file(h, "sys/devices/" ETH0 "/queues/tx-0/xps_cpus", "00000000");
        assert_file(h, "proc/irq/default_smp_affinity", "0000000f");
        assert_file(h, "proc/sys/kernel/numa_balancing", "1");
}

static inline bool has_record(const TestHost *h) {
        return faccessat(h->tree.fd, "undo/" UNDO_HOST_FILE, F_OK, 0) == 0;
}

/* As it is published; of the one device. */
typedef struct Published {
        size_t n_devices;
        uint64_t vectors[N_IRQ_STATES];
        char reason[32];
        uint64_t n_writes, n_repairs, undo_settings;
} Published;

static inline Published published(const TestHost *h) {
        Published p = { 0 };
        IrqInfo info;

        assert_int_equal(irq_report_fill(h->interrupts, &info), 0);
        p = (Published){ .n_devices = info.n_devices,
                         .n_writes = info.n_writes,
                         .n_repairs = info.n_repairs,
                         .undo_settings = info.undo_settings };
        if (info.n_devices > 0) {
                memcpy(p.vectors, info.devices[0].vectors, sizeof(p.vectors));
                (void)snprintf(p.reason, sizeof(p.reason), "%s", info.devices[0].reason_id);
        }
        free((void *)info.devices);
        free((void *)info.landed);
        return p;
}

static inline uint64_t vectors(const TestHost *h, IrqState state) {
        const Published p = published(h);

        assert_int_equal(p.n_devices, 1);
        return p.vectors[state];
}
