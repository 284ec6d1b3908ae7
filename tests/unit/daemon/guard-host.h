/* The daemon on a machine of four nodes whose meminfo the test writes, and a backend that only
 * notes; for tests of the full-node guard. Time is the test's too. */
#pragma once

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "capture.h"
#include "rooms.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/plan/guard.h"

#define SEC(n) ((uint64_t)(n)*1000000)
#define MIB(n) ((uint64_t)(n) << 20)

enum { NODES = 4 };

/* What the backend was asked for last, and how it answers. */
static struct {
        unsigned n_widened, n_set;
        NodeSet widened, set;
        NodeSet forbidden;
        int error;
} seen;

static inline int fake_widen(Backend *backend, const BackendTarget *target, const NodeSet *mems) {
        (void)backend;
        (void)target;
        if (id_set_intersects(mems, &seen.forbidden))
                return -ENODEV;
        if (seen.error < 0)
                return seen.error;
        seen.n_widened++;
        seen.widened = *mems;
        return 0;
}

static inline int fake_set(Backend *backend, const BackendTarget *target, const NodeSet *set,
                           BackendCall *call) {
        (void)backend;
        (void)target;
        (void)call;
        seen.n_set++;
        seen.set = *set;
        return 1;
}

static inline int fake_note(Backend *backend, const BackendTarget *target, BackendNote *note,
                            BackendCall *call) {
        (void)backend;
        (void)target;
        (void)call;
        note->record->cpus.noted = note->record->mems.noted = true;
        return 1;
}

static const BackendOps fake_ops = {
        .name = "fake",
        .kind = BACKEND_CGROUP1,
        .set_mems = fake_set,
        .note = fake_note,
        .widen_mems = fake_widen,
};

typedef struct TestHost {
        FakeTree tree;
        Args args;
        Node nodes[NODES];
        uint16_t distances[NODES * NODES];
        uint64_t watermarks[NODES];
        PolicyCounters counters[1];
        Policy policy;
        Rooms rooms;
} TestHost;

static inline void set_memory(TestHost *h, unsigned node, unsigned free_mib,
                              unsigned inactive_mib) {
        rooms_set_memory(&h->tree, node, free_mib, inactive_mib);
}

static inline void host_init(TestHost *h) {
        Rooms *m = &h->rooms;

        memset(&seen, 0, sizeof(seen));
        *h = (TestHost){ .policy = { .name = (char *)"ours" } };
        fake_init(&h->tree);
        for (uint32_t i = 0; i < NODES; i++) {
                h->nodes[i] = (Node){ .id = i, .memory_bytes = MIB(1000) };
                id_set_add(&h->nodes[i].cpus, i);
                for (uint32_t k = 0; k < NODES; k++)
                        h->distances[i * NODES + k] = (uint16_t)(10 + 2 * (i > k ? i - k : k - i));
                set_memory(h, i, 800, 0);
        }
        *m = (Rooms){
                .host.args = &h->args,
                .host.sysroot = h->tree.sysroot,
                .host.topology = { .nodes = h->nodes, .n_nodes = NODES, .distances = h->distances },
                .host.high_watermark_bytes = h->watermarks,
                .binding.policy_counters = h->counters,
                .host.journal = { .max_priority = LOG_INFO },
                .host.backend = { .ops = &fake_ops }
        };
        rooms_wire(m);
        m->host.sysroot.live = true;
        assert_int_equal(undo_open(&m->undo.records, h->tree.fd), 0);
        assert_int_equal(sd_event_new(&m->host.event), 0);
        assert_int_equal(guard_start(&m->binding), 0);
        assert_non_null(m->binding.guard);
}

static inline void host_done(TestHost *h) {
        Rooms *m = &h->rooms;

        rooms_free_instances(m);
        guard_stop(&m->binding);
        undo_done(&m->undo.records);
        sd_event_unref(m->host.event);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

/* An instance that is bound to these nodes, as observed. */
static inline Instance *add(TestHost *h, pid_t pid, const char *nodes) {
        Process process = { .id = { pid, 100 }, .exe = strdup("/x") };
        Instance *i = rooms_add(&h->rooms, &h->policy, &process, NULL);

        i->binding.placement = (Placement){ .nodes = node_set(nodes),
                                            .memory = MEMORY_BIND,
                                            .rate_bytes_per_sec = MIB(30),
                                            .reason = "" };
        i->binding.observed = (Binding){ .cpuset = true, .mems = node_set(nodes), .alone = true };
        i->binding.due_usec = INSTANCE_NEVER;
        guard_note(&h->rooms.binding, i);
        return i;
}

/* As it is observed next: the kernel has applied what was asked for. */
static inline void observe_applied(TestHost *h, Instance *i) {
        i->binding.observed.mems = i->binding.placement.nodes;
        id_set_union(&i->binding.observed.mems, &i->binding.guard.extra);
        i->binding.due_usec = INSTANCE_NEVER;
        guard_note(&h->rooms.binding, i);
}

static const BackendOps systemd_ops = {
        .name = "fake",
        .kind = BACKEND_SYSTEMD,
        .set_mems = fake_set,
        .note = fake_note,
        .widen_mems = fake_widen,
};
