/* A machine of NODES nodes, and a daemon for SERVICES services with a policy each. The includer has
 * these and CPUS_A_NODE, and adds the backend. */
#pragma once

#include "published.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define SEC(n) ((uint64_t)(n)*1000000)

typedef struct TestHost {
        Args args;
        Node nodes[NODES];
        uint16_t distances[NODES * NODES];
        uint64_t watermarks[NODES], left[NODES];
        PolicyInfo counters[SERVICES + 1];
        uint64_t rate_bytes_per_sec; /* of the mover, by each policy */
        MigrateMode migrate;
        Policy policies[SERVICES];
        Rooms rooms;
} TestHost;

static inline void no_bad_file(const char *name, int error, _unused_ void *userdata) {
        fail_msg("%s: %d", name, error);
}

/* What an earlier daemon has recorded in the tree counts. */
static inline void rooms_start(TestHost *h, const FakeTree *tree) {
        Rooms *m = &h->rooms;

        *m = (Rooms){
                .host.args = &h->args,
                .host.sysroot = tree->sysroot,
                .host.topology = { .nodes = h->nodes, .n_nodes = NODES, .distances = h->distances },
                .host.high_watermark_bytes = h->watermarks,
                .host.policies = { .mode = ENFORCEMENT_ENFORCE, .policies = h->policies },
                .host.policies_known = true,
                .host.ready = true,
                .host.runtime_fd = tree->fd,
                .host.journal = { .max_priority = LOG_WARNING },
                .placing.left_bytes = h->left,
                .host.policy_counters = h->counters
        };
        rooms_wire(m);
        m->host.sysroot.live = true;
        assert_int_equal(sd_event_new(&m->host.event), 0);
        assert_int_equal(undo_open(&m->undo.records, tree->fd), 0);
        assert_int_equal(undo_load(&m->undo.records, no_bad_file, NULL), 0);
        assert_int_equal(guard_start(&m->binding), 0);
}

/* What it has bound stays so. */
static inline void rooms_stop(TestHost *h) {
        Rooms *m = &h->rooms;

        rooms_free_instances(m);
        sampling_done(&m->sampling);
        guard_stop(&m->binding);
        undo_release_done(&m->undo);
        undo_done(&m->undo.records);
        requests_done(&m->host.requests);
        sd_event_unref(m->host.event);
}

/* The further apart their numbers are, the further are the nodes. 800 MiB of each are free. */
static inline void machine_init(TestHost *h, const FakeTree *tree) {
        *h = (TestHost){ .args = { .runtime_dir = "/test" }, .rate_bytes_per_sec = MIB(30) };
        for (uint32_t i = 0; i < NODES; i++) {
                h->nodes[i] = (Node){ .id = i, .package = i, .memory_bytes = MIB(1000) };
                for (uint32_t cpu = 0; cpu < CPUS_A_NODE; cpu++)
                        id_set_add(&h->nodes[i].cpus, CPUS_A_NODE * i + cpu);
                for (uint32_t k = 0; k < NODES; k++)
                        h->distances[i * NODES + k] = (uint16_t)(10 + 2 * (i > k ? i - k : k - i));
                rooms_set_memory(tree, i, 800, 0);
        }
}

/* The daemon learns of the process of a service, whose policy gives it these nodes. Takes over
 * `process`, which needs no start time. */
static inline Instance *rooms_notice(TestHost *h, Process *process, const char *nodes,
                                     MemoryMode memory, uint64_t now_usec) {
        Rooms *m = &h->rooms;
        const size_t index = m->host.policies.n_policies++;
        ProcHandle handle = PROC_HANDLE_NONE;
        Sysroot read_only = m->host.sysroot;
        Instance *i;

        assert_true(index < SERVICES);
        read_only.live = false; /* it is not of this host */
        h->policies[index] = (Policy){ .name = (char *)"ours",
                                       .max_instances = 1,
                                       .place = { .count = 1, .nodes = node_set(nodes) },
                                       .rate_bytes_per_sec = h->rate_bytes_per_sec,
                                       .migrate = h->migrate,
                                       .memory = memory };
        assert_int_equal(proc_open(&read_only, process->id.pid, &handle), 0);
        process->id.start_ticks = handle.start_ticks;
        i = rooms_add(m, &h->policies[index], process, &handle);
        i->policy_index = index;
        undo_adopt(&m->undo, i);
        binding_work(&m->binding, i, instance_take(i, WORK_DISPATCHED), now_usec);
        return i;
}
