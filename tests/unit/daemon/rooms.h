/* The rooms below the one that a test is about, wired as the daemon wires them. What a test does
 * not set is empty: no policies, no bus, no timers. */
#pragma once

#include "../../support/fake-tree.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/undo/undoing.h"

typedef struct Rooms {
        Host host;
        Registry registry;
        Sampling sampling;
        Undoing undo;
        Placing placing;
        Units units;
        Binder binding;
} Rooms;

static inline void rooms_wire(Rooms *r) {
        r->undo.host = r->placing.host = r->units.host = r->binding.host = &r->host;
        r->undo.registry = r->placing.registry = r->binding.registry = &r->registry;
        r->units.registry = &r->registry;
        r->binding.drift_fd = -EBADF;
        r->sampling = (Sampling){ .host = &r->host, .registry = &r->registry };
        undo_init(&r->undo.records, &r->host.sysroot);
        registry_init(&r->registry, &r->host, &r->undo.records);
        r->placing.sampling = &r->sampling;
        r->placing.undo = r->units.undo = r->binding.undo = &r->undo;
        r->units.placing = r->binding.placing = &r->placing;
        r->binding.sampling = &r->sampling;
        r->binding.units = &r->units;
}

static inline void rooms_init(Rooms *r) {
        *r = (Rooms){ 0 };
        rooms_wire(r);
}

/* Takes over both; `handle` NULL: none. */
static inline Instance *rooms_add(Rooms *r, const Policy *policy, Process *process,
                                  ProcHandle *handle) {
        ProcHandle none = PROC_HANDLE_NONE;
        Instance *i = NULL;

        none.pid = process->id.pid;
        assert_int_equal(instance_new(process, 0, &i), 0);
        i->policy = policy;
        assert_int_equal(instance_add_process(i, process, handle ? handle : &none), 0);
        assert_int_equal(registry_add(&r->registry, i), 0);
        return i;
}

/* It is found to listen there. */
static inline void rooms_set_port(Instance *i, uint16_t port) {
        i->ports = malloc(sizeof(port));
        assert_non_null(i->ports);
        i->ports[0] = port;
        i->n_ports = 1;
}

/* A node of 1,000 MiB, 20 of them headroom. */
static inline void rooms_set_memory(const FakeTree *tree, unsigned node, unsigned free_mib,
                                    unsigned inactive_mib) {
        fake_write(tree, fmt("sys/devices/system/node/node%u/meminfo", node),
                   fmt("Node %u MemTotal: 1024000 kB\nNode %u MemFree: %u kB\n"
                       "Node %u Active(file): 0 kB\nNode %u Inactive(file): %u kB\n"
                       "Node %u Dirty: 0 kB\nNode %u Writeback: 0 kB\n",
                       node, node, free_mib * 1024, node, node, inactive_mib * 1024, node, node));
}

static inline void rooms_free_instance(Instance *i) {
        if (!i)
                return;
        binding_end(i);
        place_end(i);
        sample_end(i);
        undo_end(i);
        instance_free(i);
}

static inline void rooms_free_instances(Rooms *r) {
        REGISTRY_FOREACH(i, &r->registry)
        rooms_free_instance(i);
        for (Instance *i; (i = registry_take_ended(&r->registry));)
                rooms_free_instance(i);
        registry_done(&r->registry);
}
#define ROOMS_TEST(test) TEST_WITH(test, Rooms, m, rooms_init, rooms_free_instances)
