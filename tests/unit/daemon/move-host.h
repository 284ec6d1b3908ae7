/* A host with a mover, a clock and a sweep of the kernel that do as the test says. */
#pragma once

#include <math.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "capture.h"
#include "rooms.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/worker/worker.h"

#define MIB(n) ((uint64_t)(n) << 20)

enum { NODES = 4, CLOCK_STEP = 1000 };

typedef struct Sweep {
        pid_t pid;
        uint32_t from, to;
} Sweep;

typedef struct Sweeps {
        unsigned n;
        unsigned n_pulls;
        bool pulled_alone;
        Sweep list[8];
} Sweeps;

static struct {
        uint64_t now;
        unsigned n_walks, n_steps;
        uint64_t pass;             /* of the last step */
        const MoverCounters *last; /* of the instance that made it */
        int answer;                /* to a step */
        uint64_t own, shared, failed;
        Sweeps sweeps;
} fake;

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return fake.now += CLOCK_STEP;
}

int __wrap_worker_move(Workers *workers, const ProcHandle *handle, const WorkerMove *move,
                       const NodeSet *nodes, const CpuSet *cpus, MoverCounters *counters,
                       uint64_t *ret_bytes);
int __wrap_worker_move(Workers *workers, const ProcHandle *handle, const WorkerMove *move,
                       const NodeSet *nodes, const CpuSet *cpus, MoverCounters *counters,
                       uint64_t *ret_bytes) {
        (void)workers;
        (void)handle;
        (void)cpus;
        assert_true(id_set_has(nodes, move->target));
        fake.n_steps++;
        fake.n_walks += move->pass != fake.pass;
        fake.pass = move->pass;
        fake.sweeps.n_pulls++;
        fake.sweeps.pulled_alone = move->alone;
        fake.last = counters;
        counters->moved_bytes += fake.own;
        counters->shared_moved_bytes += fake.shared;
        counters->failed_pages += fake.failed;
        *ret_bytes = fake.own + fake.shared;
        return fake.answer;
}

int __wrap_worker_migrate(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to);
int __wrap_worker_migrate(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to) {
        Sweeps *s = &fake.sweeps;

        (void)workers;
        s->list[s->n++] = (Sweep){ .pid = handle->pid, .from = from, .to = to };
        return 0;
}

static const BackendOps fake_ops = { .name = "fake", .kind = BACKEND_SYSTEMD };

typedef struct TestHost {
        FakeTree tree;
        Args args;
        Node nodes[NODES];
        uint64_t watermarks[NODES];
        Policy policy;
        PolicyCounters counters[1];
        Rooms rooms;
} TestHost;

static inline void host_init(TestHost *h) {
        *h = (TestHost){ .policy = { .name = (char *)"ours" } };
        memset(&fake, 0, sizeof(fake));
        fake.now = 1000000000;
        fake.answer = 1;
        fake_init(&h->tree);
        fake_write(&h->tree, "sys/fs/cgroup/cgroup.controllers", "memory\n");
        for (uint32_t i = 0; i < NODES; i++) {
                h->nodes[i] = (Node){ .id = i, .memory_bytes = MIB(1000) };
                rooms_set_memory(&h->tree, i, 800, 0);
        }
        h->rooms = (Rooms){ .host.args = &h->args,
                            .host.sysroot = h->tree.sysroot,
                            .host.topology = { .nodes = h->nodes, .n_nodes = NODES },
                            .host.high_watermark_bytes = h->watermarks,
                            .binding.policy_counters = h->counters,
                            .host.journal = { .max_priority = LOG_INFO },
                            .host.backend = { .ops = &fake_ops } };
        rooms_wire(&h->rooms);
        if (h->rooms.host.sysroot.cgroup_fd < 0)
                h->rooms.host.sysroot.cgroup_fd =
                        openat(h->tree.fd, "sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(h->rooms.host.sysroot.cgroup_fd >= 0);
}

static inline void host_done(TestHost *h) {
        rooms_free_instances(&h->rooms);
        if (h->tree.sysroot.cgroup_fd < 0)
                closep(&h->rooms.host.sysroot.cgroup_fd);
        fake_done(&h->tree);
}
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

/* To be moved to node 1. */
static inline Instance *add(TestHost *h, pid_t pid) {
        Process process = { .id = { pid, 100 },
                            .exe = strdup("/x"),
                            .unit = strdup("x.service"),
                            .cgroup = strdup("/x.service") };
        Instance *i = rooms_add(&h->rooms, &h->policy, &process, NULL);

        i->binding.placement = (Placement){ .nodes = node_set("1"),
                                            .memory = MEMORY_PREFERRED,
                                            .rate_bytes_per_sec = MIB(64),
                                            .reason = "" };
        i->binding.observed = (Binding){ .alone = true };
        i->binding.due_usec = INSTANCE_NEVER;
        i->binding.outside_bytes = MIB(100);
        i->by_node = calloc(NODES, sizeof(NodeMemory));
        assert_non_null(i->by_node);
        return i;
}

/* As if a pass had just been decided. */
static inline void pass_begin(TestHost *h, Instance *i) {
        (void)binding_enter(&h->rooms.binding, i, EVENT_PULL, fake.now);
        move_begin(&h->rooms.binding, i, fake.now);
}

static inline void wait_for_end(TestHost *h, Instance *i) {
        for (unsigned n = 0; n < 10000 && i->binding.state == INSTANCE_MOVING; n++) {
                move_slice(&h->rooms.binding, i, fake.now);
        }
        assert_int_not_equal(i->binding.state, INSTANCE_MOVING);
}
