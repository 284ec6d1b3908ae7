/* Assigns queues to the CPUs that serve their device, so that all of these CPUs get the same number
 * of queues. */
#include <errno.h>
#include <stdlib.h>

#include "tidbnumad/plan/irq-parts.h"

static bool has_queue(const IrqVector *vector) {
        return vector->queue >= 0 && (vector->role == IRQ_ROLE_RX || vector->role == IRQ_ROLE_TX ||
                                      vector->role == IRQ_ROLE_RXTX);
}

/* The lowest queue above `above` of which a vector is steered, or -1. */
static int32_t next_queue(const IrqPlanDevice *device, int32_t above) {
        int32_t next = -1;

        for (size_t i = 0; i < device->device->n_vectors; i++) {
                const IrqVector *vector = &device->device->vectors[i];

                if (device->vectors[i].decision == IRQ_STEERED && has_queue(vector) &&
                    vector->queue > above && (next < 0 || vector->queue < next))
                        next = vector->queue;
        }
        return next;
}

/* Chooses the CPU with the fewest queues; `order` has the best CPU first. */
static uint32_t choose_cpu(const IrqPlanDevice *device, const uint32_t *load) {
        uint32_t best = device->order[0];

        for (size_t i = 1; i < device->n_order; i++)
                if (load[device->order[i]] < load[best])
                        best = device->order[i];
        return best;
}

static void put_queue(IrqPlanDevice *device, int32_t queue, uint32_t cpu) {
        for (size_t i = 0; i < device->device->n_vectors; i++)
                if (device->vectors[i].decision == IRQ_STEERED &&
                    has_queue(&device->device->vectors[i]) &&
                    device->device->vectors[i].queue == queue) {
                        device->vectors[i].cpus = (CpuSet){ 0 };
                        id_set_add(&device->vectors[i].cpus, cpu);
                }
}

/* Any CPU that serves the device may have what is no queue's. */
static void put_others(IrqPlanDevice *device) {
        CpuSet all = { 0 };

        for (size_t i = 0; i < device->n_order; i++)
                id_set_add(&all, device->order[i]);
        for (size_t i = 0; i < device->device->n_vectors; i++)
                if (device->vectors[i].decision == IRQ_STEERED &&
                    !has_queue(&device->device->vectors[i]))
                        device->vectors[i].cpus = all;
}

/* Devices take turns, so that each gets its share of the near CPUs and first threads. */
int irq_spread_vectors(IrqPlan *plan) {
        _cleanup_free_ uint32_t *load = calloc(CPU_SET_MAX, sizeof(*load));
        _cleanup_free_ int32_t *last = malloc((plan->n_devices + 1) * sizeof(*last));
        bool any = true;

        if (!load || !last)
                return -ENOMEM;
        for (size_t d = 0; d < plan->n_devices; d++) {
                last[d] = -1;
                put_others(&plan->devices[d]);
        }
        while (any) {
                any = false;
                for (size_t d = 0; d < plan->n_devices; d++) {
                        IrqPlanDevice *device = &plan->devices[d];
                        int32_t queue = device->n_order > 0 ? next_queue(device, last[d]) : -1;
                        uint32_t cpu;

                        if (queue < 0)
                                continue;
                        cpu = choose_cpu(device, load);
                        put_queue(device, queue, cpu);
                        load[cpu]++;
                        last[d] = queue;
                        any = true;
                }
        }
        return 0;
}

/* The CPU of a queue, or -1: none of its vectors is steered. */
static int cpu_of(const IrqPlanDevice *device, size_t queue, IrqRole role) {
        for (size_t i = 0; i < device->device->n_vectors; i++) {
                const IrqVector *vector = &device->device->vectors[i];

                if (device->vectors[i].decision == IRQ_STEERED && has_queue(vector) &&
                    (size_t)vector->queue == queue &&
                    (vector->role == role || vector->role == IRQ_ROLE_RXTX))
                        return id_set_next(&device->vectors[i].cpus, 0);
        }
        return -1;
}

/* The CPUs of all queues of a kind. A card may have several rounds of queues on one round of
 * vectors, as with traffic classes: queue i is served as queue i modulo that round. Returns whether
 * any is. */
static bool find_cpus(const IrqPlanDevice *device, IrqRole role, size_t n, int *cpus) {
        size_t served = 0;

        for (; served < n; served++) {
                cpus[served] = cpu_of(device, served, role);
                if (cpus[served] < 0)
                        break;
        }
        for (size_t i = served; served > 0 && i < n; i++)
                cpus[i] = cpus[i % served];
        return served > 0;
}

static uint32_t node_of(const Topology *topology, uint32_t cpu) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_has(&topology->nodes[i].cpus, cpu))
                        return topology->nodes[i].id;
        return UINT32_MAX;
}

/* Each CPU sends by one queue: its own, or the nearest that has the fewest senders
 * (Documentation/networking/scaling.rst, XPS). */
static void share_out(const Topology *topology, const int *cpus, const uint32_t *nodes, size_t n,
                      uint32_t *senders, CpuSet *xps) {
        const CpuSet online = topology_cpus(topology);

        ID_SET_FOREACH(cpu, &online) {
                uint32_t node = node_of(topology, (uint32_t)cpu);
                uint16_t near = topology_distance(topology, node, nodes[0]);
                size_t best = 0;
                bool own = false;

                for (size_t q = 0; q < n; q++)
                        if (cpus[q] == cpu) {
                                id_set_add(&xps[q], (uint32_t)cpu);
                                own = true;
                        }
                for (size_t q = 1; q < n && !own; q++) {
                        uint16_t d = topology_distance(topology, node, nodes[q]);

                        if (d < near || (d == near && senders[q] < senders[best])) {
                                best = q;
                                near = d;
                        }
                }
                if (own)
                        continue;
                id_set_add(&xps[best], (uint32_t)cpu);
                senders[best]++;
        }
}

static int build_xps(const Topology *topology, IrqPlanDevice *device) {
        const size_t n = device->device->n_tx;
        _cleanup_free_ int *cpus = calloc(n + 1, sizeof(*cpus));
        _cleanup_free_ uint32_t *nodes = calloc(n + 1, sizeof(*nodes));
        _cleanup_free_ uint32_t *senders = calloc(n + 1, sizeof(*senders));

        if (!cpus || !nodes || !senders)
                return -ENOMEM;
        if (!find_cpus(device, IRQ_ROLE_TX, n, cpus))
                return 0;
        for (size_t q = 0; q < n; q++)
                nodes[q] = node_of(topology, (uint32_t)cpus[q]);
        device->xps = calloc(n, sizeof(*device->xps));
        if (!device->xps)
                return -ENOMEM;
        share_out(topology, cpus, nodes, n, senders, device->xps);
        return 0;
}

/* The kernel takes these out of rps_cpus by itself (Linux 5.9 and later). */
static bool is_isolated(const Topology *topology, uint32_t cpu) {
        return id_set_has(&topology->isolated_cpus, cpu) ||
               id_set_has(&topology->nohz_full_cpus, cpu) || id_set_has(&topology->taken_cpus, cpu);
}

/* Packets of a queue go to the CPUs of its own CPU's node that serve the device (scaling.rst,
 * RPS). */
static int build_rps(const Topology *topology, IrqPlanDevice *device) {
        const size_t n = device->device->n_rx;
        _cleanup_free_ int *cpus = calloc(n + 1, sizeof(*cpus));

        if (!cpus)
                return -ENOMEM;
        if (!find_cpus(device, IRQ_ROLE_RX, n, cpus))
                return 0;
        device->rps = calloc(n, sizeof(*device->rps));
        if (!device->rps)
                return -ENOMEM;
        for (size_t q = 0; q < n; q++) {
                const Node *node = topology_find(topology, node_of(topology, (uint32_t)cpus[q]));

                for (size_t i = 0; node && i < device->n_order; i++)
                        if (id_set_has(&node->cpus, device->order[i]) &&
                            !is_isolated(topology, device->order[i]))
                                id_set_add(&device->rps[q], device->order[i]);
        }
        return 0;
}

/* Automatically only where no instance has the CPUs: else it would spread the work over
 * instances. */
static bool wants_rps(const IrqPlanDevice *device) {
        if (device->policy->rps != RPS_AUTO)
                return device->policy->rps == RPS_ON;
        return device->device->n_rx < device->n_order && device->reason != IRQ_REASON_SHARED &&
               device->reason != IRQ_REASON_OWNED;
}

int irq_spread_queues(const Topology *topology, IrqPlanDevice *device) {
        int r = 0;

        if (!irq_reason_steers(device->reason))
                return 0;
        /* The kernel has no mask for a single transmit queue. */
        if (device->policy->xps && device->device->n_tx > 1)
                r = build_xps(topology, device);
        if (r >= 0 && wants_rps(device))
                r = build_rps(topology, device);
        return r;
}
