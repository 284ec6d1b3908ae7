/* Which CPUs serve a device, and in which order. */
#include <errno.h>
#include <stdlib.h>

#include "tidbnumad/plan/irq-parts.h"

IrqCpus irq_cpus_divide(const IrqPlanInput *input) {
        IrqCpus cpus = { .online = topology_cpus(input->topology) };

        for (size_t i = 0; i < input->n_owners; i++) {
                id_set_union(&cpus.owned, &input->owners[i].cpus);
                if (!input->owners[i].shared)
                        id_set_union(&cpus.exclusive, &input->owners[i].cpus);
        }
        cpus.isolated = topology_withheld_cpus(input->topology);
        id_set_intersect(&cpus.owned, &cpus.online);
        id_set_intersect(&cpus.exclusive, &cpus.online);
        id_set_intersect(&cpus.isolated, &cpus.online);
        cpus.free = cpus.online;
        id_set_subtract(&cpus.free, &cpus.owned);
        id_set_subtract(&cpus.free, &cpus.isolated);
        return cpus;
}

/* `of`, or its substitute when that is empty. */
static CpuSet or_else(CpuSet of, const CpuSet *otherwise) {
        return id_set_is_empty(&of) ? *otherwise : of;
}

static IrqPool left(IrqReason reason) {
        return (IrqPool){ .steer = STEER_LEAVE, .reason = reason };
}

/* All of `wanted` are owned or isolated: those of shared instances first. */
static IrqPool nowhere(const IrqCpus *cpus, IrqSteer steer, const CpuSet *wanted) {
        const CpuSet usual = id_set_minus(wanted, &cpus->isolated);
        const CpuSet shared = id_set_minus(&usual, &cpus->exclusive);

        if (!id_set_is_empty(&shared))
                return (IrqPool){ .steer = steer, .reason = IRQ_REASON_SHARED, .cpus = shared };
        return (IrqPool){ .steer = steer,
                          .reason = IRQ_REASON_OWNED,
                          .cpus = or_else(usual, wanted) };
}

/* `none`: what it is without any such CPU. */
static IrqPool within(const IrqCpus *cpus, IrqSteer steer, const CpuSet *wanted, IrqReason reason,
                      IrqReason none) {
        const CpuSet online = id_set_and(wanted, &cpus->online);
        const CpuSet fit = id_set_and(&online, &cpus->free);

        if (id_set_is_empty(&online))
                return left(none);
        if (id_set_is_empty(&fit))
                return nowhere(cpus, steer, &online);
        return (IrqPool){ .steer = steer, .reason = reason, .cpus = fit };
}

static CpuSet cpus_of_node(const Topology *topology, int32_t node) {
        NodeSet nodes = { 0 };

        if (node >= 0 && node < (int32_t)NODE_SET_MAX)
                id_set_add(&nodes, (uint32_t)node);
        return topology_cpus_of(topology, &nodes);
}

/* The CPUs of the nodes that are nearest to the device and have some; all where its node is not
 * known, for then none is nearer than another. */
static CpuSet nearest(const Topology *topology, int32_t node) {
        uint16_t best = UINT16_MAX;
        CpuSet cpus = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *at = &topology->nodes[i];
                uint16_t distance = topology_distance(topology, (uint32_t)node, at->id);

                if (id_set_is_empty(&at->cpus) || distance > best)
                        continue;
                if (distance < best)
                        cpus = (CpuSet){ 0 };
                best = distance;
                id_set_union(&cpus, &at->cpus);
        }
        return cpus;
}

static CpuSet cpus_of_package(const Topology *topology, int32_t node) {
        const Node *at = node >= 0 ? topology_find(topology, (uint32_t)node) : NULL;
        CpuSet cpus = { 0 };

        for (size_t i = 0; at && i < topology->n_nodes; i++)
                if (topology_same_package(at, &topology->nodes[i]))
                        id_set_union(&cpus, &topology->nodes[i].cpus);
        return at ? cpus : topology_cpus(topology);
}

/* To free CPUs anywhere. Without such it is better to stay near than to cross the sockets onto the
 * CPUs of an instance: shared instances of the socket, else the nearest CPUs. */
static IrqPool away(const IrqPlanInput *input, const IrqCpus *cpus, const IrqDevice *device) {
        IrqPool pool =
                within(cpus, STEER_AWAY, &cpus->online, IRQ_REASON_AWAY, IRQ_REASON_CPUS_ABSENT);

        if (pool.reason == IRQ_REASON_SHARED) {
                const CpuSet package = cpus_of_package(input->topology, device->node);

                pool = nowhere(cpus, STEER_AWAY, &package);
        }
        if (pool.reason == IRQ_REASON_OWNED) {
                const CpuSet near = nearest(input->topology, device->node);

                pool = nowhere(cpus, STEER_AWAY, &near);
        }
        return pool;
}

/* CPUs that are reserved at the device's own node serve it alone: those at other nodes are reserved
 * for the cards there. Without such ones all that are reserved serve it. */
static CpuSet reserved_for(const IrqPlanInput *input, const IrqCpus *cpus,
                           const IrqDevice *device) {
        const CpuSet local = cpus_of_node(input->topology, device->node);
        const CpuSet own = id_set_and(&local, &input->reserved_cpus);
        CpuSet all = topology_cpus_of(input->topology, &input->reserved);

        id_set_union(&all, &input->reserved_cpus);
        return id_set_intersects(&own, &cpus->free) ? own : all;
}

/* R11. A device without a speed of its own, and a card without a link, count as slow. */
static bool is_irqbalances(const IrqPlanInput *input, const IrqPolicy *policy,
                           const IrqDevice *device) {
        return input->host->irqbalance.pid > 0 && policy->irqbalance == IRQBALANCE_COOPERATE &&
               device->speed_mbps < IRQ_PLACE_SPEED_MBPS;
}

static IrqPool choose_auto(const IrqPlanInput *input, const IrqCpus *cpus, const IrqPolicy *policy,
                           const IrqDevice *device) {
        const CpuSet reserved = reserved_for(input, cpus, device);
        const CpuSet local = cpus_of_node(input->topology, device->node);

        if (!id_set_intersects(&input->reserved_cpus, &cpus->free) &&
            is_irqbalances(input, policy, device))
                return left(IRQ_REASON_IRQBALANCE);
        if (id_set_intersects(&reserved, &cpus->free))
                return within(cpus, STEER_RESERVED, &reserved, IRQ_REASON_RESERVED,
                              IRQ_REASON_NOTHING_RESERVED);
        if (id_set_intersects(&local, &cpus->free))
                return within(cpus, STEER_LOCAL, &local, IRQ_REASON_LOCAL, IRQ_REASON_NODE_UNKNOWN);
        return away(input, cpus, device);
}

static IrqPool choose_listed(const IrqCpus *cpus, const IrqPolicy *policy) {
        const CpuSet listed = id_set_and(&policy->cpus, &cpus->online);

        if (id_set_is_empty(&listed))
                return left(IRQ_REASON_CPUS_ABSENT);
        return (IrqPool){ .steer = STEER_CPUS, .reason = IRQ_REASON_LISTED, .cpus = listed };
}

static IrqPool choose_by_policy(const IrqPlanInput *input, const IrqCpus *cpus,
                                const IrqPolicy *policy, const IrqDevice *device) {
        const CpuSet reserved = reserved_for(input, cpus, device);
        const CpuSet local = cpus_of_node(input->topology, device->node);

        switch (policy->steer) {
        case STEER_AUTO:
                return choose_auto(input, cpus, policy, device);
        case STEER_RESERVED:
                return within(cpus, STEER_RESERVED, &reserved, IRQ_REASON_RESERVED,
                              IRQ_REASON_NOTHING_RESERVED);
        case STEER_LOCAL:
                return within(cpus, STEER_LOCAL, &local, IRQ_REASON_LOCAL, IRQ_REASON_NODE_UNKNOWN);
        case STEER_AWAY:
                return away(input, cpus, device);
        case STEER_CPUS:
                return choose_listed(cpus, policy);
        case STEER_LEAVE:
                break;
        }
        return left(IRQ_REASON_POLICY);
}

IrqPool irq_pool_choose(const IrqPlanInput *input, const IrqCpus *cpus, const IrqPolicy *policy,
                        const IrqDevice *device) {
        if (device->in_other_netns && input->n_policies > 0)
                return left(IRQ_REASON_OTHER_NETNS);
        if (!policy)
                return left(IRQ_REASON_NO_ENTRY);
        if (policy->steer == STEER_LEAVE)
                return left(IRQ_REASON_POLICY);
        if (device->bundle)
                return left(IRQ_REASON_BUNDLE);
        if (device->n_vectors == 0)
                return left(IRQ_REASON_NO_VECTORS);
        return choose_by_policy(input, cpus, policy, device);
}

/* A CPU of a pool, and what it is sorted by. */
typedef struct Ranked {
        uint32_t distance, thread, cpu;
} Ranked;

static int compare(const void *a, const void *b) {
        const Ranked *x = a, *y = b;

        if (x->distance != y->distance)
                return x->distance < y->distance ? -1 : 1;
        if (x->thread != y->thread)
                return x->thread < y->thread ? -1 : 1;
        return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static size_t rank_all(const Topology *topology, const CpuSet *pool, int32_t node, Ranked *ranked) {
        size_t n = 0;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *at = &topology->nodes[i];
                const CpuSet its = id_set_and(&at->cpus, pool);

                ID_SET_FOREACH(cpu, &its)
                ranked[n++] = (Ranked){
                        .distance =
                                node < 0 ? 0 : topology_distance(topology, (uint32_t)node, at->id),
                        .thread = !id_set_has(&at->first_threads, (uint32_t)cpu),
                        .cpu = (uint32_t)cpu,
                };
        }
        qsort(ranked, n, sizeof(*ranked), compare);
        return n;
}

int irq_pool_order(const Topology *topology, const CpuSet *pool, int32_t node, uint32_t **ret,
                   size_t *ret_n) {
        const size_t room = id_set_count(pool) + 1;
        _cleanup_free_ Ranked *ranked = calloc(room, sizeof(*ranked));
        _cleanup_free_ uint32_t *order = calloc(room, sizeof(*order));
        size_t n;

        if (!ranked || !order)
                return -ENOMEM;
        n = rank_all(topology, pool, node, ranked);
        for (size_t i = 0; i < n; i++)
                order[i] = ranked[i].cpu;
        *ret = TAKE_PTR(order);
        *ret_n = n;
        return 0;
}
