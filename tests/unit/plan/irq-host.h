/* Machines with cards and instances, for tests of interrupt plans. To be included after cmocka.h.
 *
 * CPUs are numbered as x86 does it: first threads node by node, then their siblings. */
#pragma once

#include "../../support/id-sets.h"
#include "tidbnumad/plan/irq.h"

enum { IRQ_TEST_DEVICES = 8, IRQ_TEST_OWNERS = 8, IRQ_TEST_POLICIES = 4, IRQ_TEST_NODES = 8 };

typedef struct IrqScene {
        Node nodes[IRQ_TEST_NODES];
        uint16_t distances[IRQ_TEST_NODES * IRQ_TEST_NODES];
        uint16_t core[CPU_SET_MAX];
        Topology topology;
        IrqDevice devices[IRQ_TEST_DEVICES];
        IrqHost host;
        IrqPolicy policies[IRQ_TEST_POLICIES];
        IrqOwner owners[IRQ_TEST_OWNERS];
        IrqPlanInput input;
        IrqPlan plan;
        uint32_t next_irq;
} IrqScene;

/* 10 in the node, 12 within each half of the nodes, 32 between them. */
static inline void scene_init(IrqScene *s, uint32_t n_nodes, uint32_t cores, uint32_t threads) {
        const uint32_t half = n_nodes > 1 ? n_nodes / 2 : 1;

        *s = (IrqScene){ .next_irq = 100 };
        for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++)
                s->core[cpu] = (uint16_t)(cpu % (n_nodes * cores));
        for (uint32_t n = 0; n < n_nodes; n++) {
                s->nodes[n] = (Node){ .id = n, .package = n / half, .memory_bytes = 1 << 30 };
                for (uint32_t c = 0; c < cores; c++)
                        for (uint32_t t = 0; t < threads; t++)
                                id_set_add(&s->nodes[n].cpus, t * n_nodes * cores + n * cores + c);
                for (uint32_t m = 0; m < n_nodes; m++)
                        s->distances[n * n_nodes + m] = n == m                 ? 10
                                                        : n / half == m / half ? 12
                                                                               : 32;
        }
        s->topology = (Topology){
                .nodes = s->nodes, .n_nodes = n_nodes, .distances = s->distances, .core = s->core
        };
        s->host.devices = s->devices;
        s->input = (IrqPlanInput){ .topology = &s->topology,
                                   .host = &s->host,
                                   .policies = s->policies,
                                   .owners = s->owners };
}

static inline void scene_done(IrqScene *s) {
        irq_plan_done(&s->plan);
        for (size_t i = 0; i < s->host.n_devices; i++)
                irq_device_done(&s->devices[i]);
        for (size_t i = 0; i < s->input.n_policies; i++)
                irq_policy_done(&s->policies[i]);
}
#define _cleanup_scene_ _cleanup_(scene_done)

#define IRQ_SCENE_TEST(test, n_nodes, cores, threads)                                              \
        TEST_AFTER(test, IrqScene, s, scene_init(s, n_nodes, cores, threads), scene_done)

static inline IrqDevice *scene_device(IrqScene *s, DeviceKind kind, const char *name, int node) {
        IrqDevice *device = &s->devices[s->host.n_devices++];

        assert_true(s->host.n_devices <= IRQ_TEST_DEVICES);
        *device = (IrqDevice){ .kind = kind, .name = strdup(name), .node = node };
        return device;
}

static inline IrqVector *scene_vector(IrqScene *s, IrqDevice *device, IrqRole role, int queue) {
        device->vectors = reallocarray(device->vectors, device->n_vectors + 1, sizeof(IrqVector));
        assert_non_null(device->vectors);
        device->vectors[device->n_vectors] =
                (IrqVector){ .irq = s->next_irq++, .role = role, .queue = queue };
        return &device->vectors[device->n_vectors++];
}

/* A card with so many combined queues, and a vector for its link. */
static inline IrqDevice *scene_card(IrqScene *s, const char *name, int node, size_t queues) {
        IrqDevice *device = scene_device(s, DEVICE_NET, name, node);

        (void)scene_vector(s, device, IRQ_ROLE_OTHER, -1);
        for (size_t q = 0; q < queues; q++)
                (void)scene_vector(s, device, IRQ_ROLE_RXTX, (int)q);
        device->n_rx = device->n_tx = queues;
        return device;
}

static inline IrqPolicy *scene_policy(IrqScene *s, const char *net, IrqSteer steer) {
        IrqPolicy *policy = &s->policies[s->input.n_policies++];

        assert_true(s->input.n_policies <= IRQ_TEST_POLICIES);
        *policy = (IrqPolicy){ .steer = steer, .xps = true };
        if (net)
                assert_int_equal(word_list_add(&policy->net, net), 0);
        return policy;
}

static inline void scene_owner(IrqScene *s, const char *cpus, bool shared) {
        assert_true(s->input.n_owners < IRQ_TEST_OWNERS);
        s->owners[s->input.n_owners++] =
                (IrqOwner){ .name = "x", .cpus = cpu_set(cpus), .shared = shared };
}

/* Again, if need be. */
static inline void scene_plan(IrqScene *s) {
        irq_plan_done(&s->plan);
        assert_int_equal(irq_plan_build(&s->input, &s->plan), 0);
        assert_int_equal(s->plan.n_devices, s->host.n_devices);
}

/* The CPUs of all queues of a device, in the order of its vectors: "0 1 8". */
static inline void assert_queues(const IrqScene *s, size_t device, const char *expected) {
        const IrqPlanDevice *d = &s->plan.devices[device];
        char text[1024] = "";

        for (size_t i = 0; i < d->device->n_vectors; i++) {
                if (d->device->vectors[i].queue < 0)
                        continue;
                assert_int_equal(d->vectors[i].decision, IRQ_STEERED);
                assert_int_equal(id_set_count(&d->vectors[i].cpus), 1);
                (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d",
                               *text ? " " : "", id_set_next(&d->vectors[i].cpus, 0));
        }
        assert_string_equal(text, expected);
}

/* Which CPUs serve it: what its vector without queue may use. */
static inline void assert_serves(const IrqScene *s, size_t device, IrqReason reason,
                                 const char *cpus) {
        const IrqPlanDevice *d = &s->plan.devices[device];
        CpuSet order = { 0 };

        assert_string_equal(irq_reason_to_id(d->reason), irq_reason_to_id(reason));
        for (size_t i = 0; i < d->n_order; i++)
                id_set_add(&order, d->order[i]);
        assert_int_equal(id_set_count(&order), d->n_order);
        assert_ids(order, cpus);
}
