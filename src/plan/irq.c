/* The plan of interrupts: which entry counts for a device, which CPUs serve it, which queue gets
 * which of them, what is sent to irqbalance. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/plan/irq.h"

/* The machine's online CPUs by their users. */
typedef struct IrqCpus {
        CpuSet online;
        CpuSet owned;     /* by any instance */
        CpuSet exclusive; /* of them, by one that is not shared */
        CpuSet isolated;  /* from the scheduler: isolcpus=, nohz_full= */
        CpuSet free;      /* neither owned nor isolated */
} IrqCpus;

typedef struct IrqPool {
        IrqSteer steer; /* resolved */
        IrqReason reason;
        CpuSet cpus; /* empty where `reason` does not steer */
} IrqPool;

static IrqPool pool_left(IrqReason reason) {
        return (IrqPool){ .steer = STEER_LEAVE, .reason = reason };
}

/* All of `wanted` are owned or isolated: those of shared instances first. */
static IrqPool pool_owned(const IrqCpus *cpus, IrqSteer steer, const CpuSet *wanted) {
        const CpuSet usual = id_set_minus(wanted, &cpus->isolated);
        const CpuSet shared = id_set_minus(&usual, &cpus->exclusive);

        if (!id_set_is_empty(&shared))
                return (IrqPool){ .steer = steer, .reason = IRQ_REASON_SHARED, .cpus = shared };
        return (IrqPool){ .steer = steer,
                          .reason = IRQ_REASON_OWNED,
                          .cpus = id_set_is_empty(&usual) ? *wanted : usual };
}

/* `none`: what it is without any such CPU. */
static IrqPool pool_within(const IrqCpus *cpus, IrqSteer steer, const CpuSet *wanted,
                           IrqReason reason, IrqReason none) {
        const CpuSet online = id_set_and(wanted, &cpus->online);
        const CpuSet fit = id_set_and(&online, &cpus->free);

        if (id_set_is_empty(&online))
                return pool_left(none);
        if (id_set_is_empty(&fit))
                return pool_owned(cpus, steer, &online);
        return (IrqPool){ .steer = steer, .reason = reason, .cpus = fit };
}

/* To free CPUs anywhere. Without such it is better to stay near than to cross the sockets onto the
 * CPUs of an instance: shared instances of the socket, else the nearest CPUs. */
static IrqPool pool_away(const IrqPlanInput *input, const IrqCpus *cpus, const IrqDevice *device) {
        const Topology *topology = input->topology;
        const Node *own =
                device->node >= 0 ? topology_find(topology, (uint32_t)device->node) : NULL;
        IrqPool pool = pool_within(cpus, STEER_AWAY, &cpus->online, IRQ_REASON_AWAY,
                                   IRQ_REASON_CPUS_ABSENT);
        CpuSet package = own ? (CpuSet){ 0 } : topology_cpus(topology), near = { 0 };
        uint16_t best = UINT16_MAX;

        /* Where its node is not known, none is nearer than another. */
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *at = &topology->nodes[i];
                const uint16_t distance =
                        topology_distance(topology, (uint32_t)device->node, at->id);

                if (own && topology_same_package(own, at))
                        id_set_union(&package, &at->cpus);
                if (id_set_is_empty(&at->cpus) || distance > best)
                        continue;
                if (distance < best)
                        near = (CpuSet){ 0 };
                best = distance;
                id_set_union(&near, &at->cpus);
        }
        if (pool.reason == IRQ_REASON_SHARED)
                pool = pool_owned(cpus, STEER_AWAY, &package);
        if (pool.reason == IRQ_REASON_OWNED)
                pool = pool_owned(cpus, STEER_AWAY, &near);
        return pool;
}

static IrqPool pool_choose(const IrqPlanInput *input, const IrqCpus *cpus, const IrqPolicy *policy,
                           const IrqDevice *device) {
        const Node *node =
                device->node >= 0 ? topology_find(input->topology, (uint32_t)device->node) : NULL;
        const CpuSet local = node ? node->cpus : (CpuSet){ 0 },
                     own = id_set_and(&local, &input->reserved_cpus);
        CpuSet reserved = topology_cpus_of(input->topology, &input->reserved), listed;
        IrqSteer steer;

        /* CPUs that are reserved at the device's own node serve it alone: those at other nodes are
         * reserved for the cards there. Without such ones all that are reserved serve it. */
        id_set_union(&reserved, &input->reserved_cpus);
        if (id_set_intersects(&own, &cpus->free))
                reserved = own;
        if (device->in_other_netns && input->n_policies > 0)
                return pool_left(IRQ_REASON_OTHER_NETNS);
        if (!policy)
                return pool_left(IRQ_REASON_NO_ENTRY);
        steer = policy->steer;
        if (steer == STEER_LEAVE)
                return pool_left(IRQ_REASON_POLICY);
        if (device->bundle)
                return pool_left(IRQ_REASON_BUNDLE);
        if (device->n_vectors == 0)
                return pool_left(IRQ_REASON_NO_VECTORS);
        if (steer == STEER_AUTO) {
                /* R11. A device without a speed of its own, and a card without a link, count as
                 * slow. */
                if (!id_set_intersects(&input->reserved_cpus, &cpus->free) &&
                    input->host->irqbalance.pid > 0 && policy->irqbalance == IRQBALANCE_COOPERATE &&
                    device->speed_mbps < IRQ_PLACE_SPEED_MBPS)
                        return pool_left(IRQ_REASON_IRQBALANCE);
                steer = id_set_intersects(&reserved, &cpus->free) ? STEER_RESERVED
                        : id_set_intersects(&local, &cpus->free)  ? STEER_LOCAL
                                                                  : STEER_AWAY;
        }
        switch (steer) {
        case STEER_RESERVED:
                return pool_within(cpus, STEER_RESERVED, &reserved, IRQ_REASON_RESERVED,
                                   IRQ_REASON_NOTHING_RESERVED);
        case STEER_LOCAL:
                return pool_within(cpus, STEER_LOCAL, &local, IRQ_REASON_LOCAL,
                                   IRQ_REASON_NODE_UNKNOWN);
        case STEER_AWAY:
                return pool_away(input, cpus, device);
        case STEER_CPUS:
                listed = id_set_and(&policy->cpus, &cpus->online);
                if (id_set_is_empty(&listed))
                        return pool_left(IRQ_REASON_CPUS_ABSENT);
                return (IrqPool){ .steer = STEER_CPUS,
                                  .reason = IRQ_REASON_LISTED,
                                  .cpus = listed };
        case STEER_AUTO:
        case STEER_LEAVE:
                break;
        }
        return pool_left(IRQ_REASON_POLICY);
}

/* A CPU of a pool, and what it is sorted by. */
typedef struct SortedCpu {
        uint32_t distance, thread, cpu;
} SortedCpu;

static int compare_cpus(const void *a, const void *b) {
        const SortedCpu *x = a, *y = b;

        if (x->distance != y->distance)
                return x->distance < y->distance ? -1 : 1;
        if (x->thread != y->thread)
                return x->thread < y->thread ? -1 : 1;
        return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* The CPUs of a pool, the best first: by distance from the node (DEVICE_NODE_UNKNOWN: all are
 * equal), first threads of cores before others, then by number. The caller owns the array. 0 or
 * -ENOMEM. */
static int pool_order(const Topology *topology, const CpuSet *pool, int32_t node, uint32_t **ret,
                      size_t *ret_n) {
        const CpuSet firsts = topology_one_per_core(topology, pool);
        const size_t room = id_set_count(pool) + 1;
        _cleanup_free_ SortedCpu *sorted = calloc(room, sizeof(*sorted));
        _cleanup_free_ uint32_t *order = calloc(room, sizeof(*order));
        size_t n = 0;

        if (!sorted || !order)
                return -ENOMEM;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *at = &topology->nodes[i];
                const CpuSet its = id_set_and(&at->cpus, pool);

                ID_SET_FOREACH(cpu, &its)
                sorted[n++] = (SortedCpu){
                        .distance =
                                node < 0 ? 0 : topology_distance(topology, (uint32_t)node, at->id),
                        .thread = !id_set_has(&firsts, (uint32_t)cpu),
                        .cpu = (uint32_t)cpu,
                };
        }
        qsort(sorted, n, sizeof(*sorted), compare_cpus);
        for (size_t i = 0; i < n; i++)
                order[i] = sorted[i].cpu;
        *ret = TAKE_PTR(order);
        *ret_n = n;
        return 0;
}

/* --- which queue gets which CPU: all of these CPUs get the same number of queues --- */

/* The queue of a vector that is steered, or -1. */
static int32_t device_steered_queue(const IrqPlanDevice *device, size_t vector) {
        const IrqVector *v = &device->device->vectors[vector];

        if (device->vectors[vector].decision != IRQ_STEERED || v->queue < 0 ||
            (v->role != IRQ_ROLE_RX && v->role != IRQ_ROLE_TX && v->role != IRQ_ROLE_RXTX))
                return -1;
        return v->queue;
}

/* Devices take turns, so that each gets its share of the near CPUs and first threads. */
static int irq_spread_vectors(IrqPlan *plan) {
        _cleanup_free_ uint32_t *load = calloc(CPU_SET_MAX, sizeof(*load));
        _cleanup_free_ int32_t *last = malloc((plan->n_devices + 1) * sizeof(*last));
        bool any = true;

        if (!load || !last)
                return -ENOMEM;
        for (size_t d = 0; d < plan->n_devices; d++) {
                const IrqPlanDevice *device = &plan->devices[d];
                CpuSet all = { 0 };

                last[d] = -1;
                /* Any CPU that serves the device may have what is no queue's. */
                for (size_t i = 0; i < device->n_order; i++)
                        id_set_add(&all, device->order[i]);
                for (size_t i = 0; i < device->device->n_vectors; i++)
                        if (device->vectors[i].decision == IRQ_STEERED &&
                            device_steered_queue(device, i) < 0)
                                device->vectors[i].cpus = all;
        }
        while (any) {
                any = false;
                for (size_t d = 0; d < plan->n_devices; d++) {
                        IrqPlanDevice *device = &plan->devices[d];
                        int32_t queue = -1; /* the lowest after the last one */
                        uint32_t cpu;

                        for (size_t k = 0; k < device->device->n_vectors; k++) {
                                const int32_t its = device_steered_queue(device, k);

                                if (its > last[d] && (queue < 0 || its < queue))
                                        queue = its;
                        }
                        if (queue < 0 || device->n_order == 0)
                                continue;
                        /* The one with the fewest queues; `order` has the best CPU first. */
                        cpu = device->order[0];
                        for (size_t i = 1; i < device->n_order; i++)
                                if (load[device->order[i]] < load[cpu])
                                        cpu = device->order[i];
                        for (size_t k = 0; k < device->device->n_vectors; k++)
                                if (device_steered_queue(device, k) == queue) {
                                        device->vectors[k].cpus = (CpuSet){ 0 };
                                        id_set_add(&device->vectors[k].cpus, cpu);
                                }
                        load[cpu]++;
                        last[d] = queue;
                        any = true;
                }
        }
        return 0;
}

/* The CPUs of all queues of a kind. A card may have several rounds of queues on one round of
 * vectors, as with traffic classes: queue i is served as queue i modulo that round. Returns whether
 * any is. */
static bool device_find_queue_cpus(const IrqPlanDevice *device, IrqRole role, size_t n, int *cpus) {
        size_t served = 0;

        for (; served < n; served++) {
                cpus[served] = -1; /* none of its vectors is steered */
                for (size_t i = 0; i < device->device->n_vectors && cpus[served] < 0; i++) {
                        const IrqRole its = device->device->vectors[i].role;

                        if (device_steered_queue(device, i) == (int32_t)served &&
                            (its == role || its == IRQ_ROLE_RXTX))
                                cpus[served] = id_set_next(&device->vectors[i].cpus, 0);
                }
                if (cpus[served] < 0)
                        break;
        }
        for (size_t i = served; served > 0 && i < n; i++)
                cpus[i] = cpus[i % served];
        return served > 0;
}

static uint32_t cpu_node(const Topology *topology, uint32_t cpu) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_has(&topology->nodes[i].cpus, cpu))
                        return topology->nodes[i].id;
        return UINT32_MAX;
}

static int device_build_xps(const Topology *topology, IrqPlanDevice *device) {
        const size_t n = device->device->n_tx;
        _cleanup_free_ int *cpus = calloc(n + 1, sizeof(*cpus));
        _cleanup_free_ uint32_t *nodes = calloc(n + 1, sizeof(*nodes));
        _cleanup_free_ uint32_t *senders = calloc(n + 1, sizeof(*senders));
        CpuSet online;

        if (!cpus || !nodes || !senders)
                return -ENOMEM;
        if (!device_find_queue_cpus(device, IRQ_ROLE_TX, n, cpus))
                return 0;
        for (size_t q = 0; q < n; q++)
                nodes[q] = cpu_node(topology, (uint32_t)cpus[q]);
        device->xps = calloc(n, sizeof(*device->xps));
        if (!device->xps)
                return -ENOMEM;
        /* Each CPU sends by one queue: its own, or the nearest that has the fewest senders
         * (Documentation/networking/scaling.rst, XPS). */
        online = topology_cpus(topology);
        ID_SET_FOREACH(cpu, &online) {
                uint32_t node = cpu_node(topology, (uint32_t)cpu);
                uint16_t near = topology_distance(topology, node, nodes[0]);
                size_t best = 0;
                bool own = false;

                for (size_t k = 0; k < n; k++)
                        if (cpus[k] == cpu) {
                                id_set_add(&device->xps[k], (uint32_t)cpu);
                                own = true;
                        }
                for (size_t k = 1; k < n && !own; k++) {
                        uint16_t d = topology_distance(topology, node, nodes[k]);

                        if (d < near || (d == near && senders[k] < senders[best])) {
                                best = k;
                                near = d;
                        }
                }
                if (own)
                        continue;
                id_set_add(&device->xps[best], (uint32_t)cpu);
                senders[best]++;
        }
        return 0;
}

/* Packets of a queue go to the CPUs of its own CPU's node that serve the device (scaling.rst,
 * RPS). */
static int device_build_rps(const Topology *topology, IrqPlanDevice *device) {
        /* The kernel takes these out of rps_cpus by itself (Linux 5.9 and later). */
        const CpuSet withheld = topology_withheld_cpus(topology);
        const size_t n = device->device->n_rx;
        _cleanup_free_ int *cpus = calloc(n + 1, sizeof(*cpus));

        if (!cpus)
                return -ENOMEM;
        if (!device_find_queue_cpus(device, IRQ_ROLE_RX, n, cpus))
                return 0;
        device->rps = calloc(n, sizeof(*device->rps));
        if (!device->rps)
                return -ENOMEM;
        for (size_t q = 0; q < n; q++) {
                const Node *node = topology_find(topology, cpu_node(topology, (uint32_t)cpus[q]));

                for (size_t i = 0; node && i < device->n_order; i++)
                        if (id_set_has(&node->cpus, device->order[i]) &&
                            !id_set_has(&withheld, device->order[i]))
                                id_set_add(&device->rps[q], device->order[i]);
        }
        return 0;
}

/* --- the plan --- */

const IrqPolicy *irq_policy_find(const IrqPolicy *policies, size_t n_policies,
                                 const IrqDevice *device) {
        for (size_t k = 0; k < n_policies; k++) {
                const IrqPolicy *policy = &policies[k];

                for (size_t i = 0; device->pci && i < policy->pci.n_words; i++)
                        if (strcasecmp(policy->pci.words[i], device->pci) == 0)
                                return policy;
                /* In another namespace its name is not known. */
                if (device->kind == DEVICE_NET && !device->in_other_netns &&
                    word_list_names(&policy->net, device->name, device->master))
                        return policy;
                if (device->kind == DEVICE_NVME &&
                    word_list_names(&policy->nvme, device->name, NULL))
                        return policy;
        }
        return NULL;
}

static int compare_irqs(const void *a, const void *b) {
        const uint32_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

/* What is sent to irqbalance. It gets the interrupts that are steered, because it would replace
 * their masks in its next round. Managed interrupts, which irqbalance cannot move either, would
 * only fill the list, which is short in old versions of irqbalance. */
static int plan_build_balance(const IrqCpus *cpus, IrqPlan *plan) {
        const CpuSet usual = id_set_minus(&cpus->online, &cpus->isolated);
        IrqPlanBalance *balance = &plan->irqbalance;
        size_t allocated = 0;

        for (size_t i = 0; i < plan->n_devices; i++) {
                const IrqPlanDevice *device = &plan->devices[i];

                /* Is anything done for it, by us or by irqbalance? */
                if ((!irq_reason_steers(device->reason) &&
                     device->reason != IRQ_REASON_IRQBALANCE) ||
                    device->policy->irqbalance == IRQBALANCE_IGNORE)
                        continue;
                balance->sent = true;
                for (size_t k = 0; k < device->device->n_vectors; k++) {
                        if (device->vectors[k].decision != IRQ_STEERED)
                                continue;
                        if (ARRAY_RESERVE(balance->banned_irqs, allocated,
                                          balance->n_banned_irqs + 1) < 0)
                                return -ENOMEM;
                        balance->banned_irqs[balance->n_banned_irqs++] = device->vectors[k].irq;
                }
        }
        /* irqbalance needs at least one CPU: if none is left, the CPUs of shared instances are
         * allowed first, then all. It ignores isolated CPUs by itself. */
        if (balance->sent && !id_set_is_subset(&usual, &cpus->owned))
                balance->banned_cpus = cpus->owned;
        else if (balance->sent && !id_set_is_subset(&usual, &cpus->exclusive))
                balance->banned_cpus = cpus->exclusive;
        if (balance->n_banned_irqs > 1)
                qsort(balance->banned_irqs, balance->n_banned_irqs, sizeof(uint32_t), compare_irqs);
        return 0;
}

int irq_plan_build(const IrqPlanInput *input, IrqPlan *ret) {
        IrqCpus cpus = { .online = topology_cpus(input->topology),
                         .isolated = topology_withheld_cpus(input->topology) };
        _cleanup_irq_plan_ IrqPlan plan = {
                .devices = calloc(input->host->n_devices + 1, sizeof(*plan.devices)),
        };

        if (!plan.devices)
                return -ENOMEM;
        plan.n_devices = input->host->n_devices;
        for (size_t i = 0; i < input->n_owners; i++) {
                id_set_union(&cpus.owned, &input->owners[i].cpus);
                if (!input->owners[i].shared)
                        id_set_union(&cpus.exclusive, &input->owners[i].cpus);
        }
        id_set_intersect(&cpus.owned, &cpus.online);
        id_set_intersect(&cpus.exclusive, &cpus.online);
        id_set_intersect(&cpus.isolated, &cpus.online);
        cpus.free = id_set_minus(&cpus.online, &cpus.owned);
        id_set_subtract(&cpus.free, &cpus.isolated);
        for (size_t i = 0; i < plan.n_devices; i++) {
                const IrqDevice *of = &input->host->devices[i];
                const IrqPolicy *policy = irq_policy_find(input->policies, input->n_policies, of);
                const IrqPool pool = pool_choose(input, &cpus, policy, of);
                const bool steers = irq_reason_steers(pool.reason);
                IrqPlanDevice *device = &plan.devices[i];

                device->device = of;
                device->policy = policy;
                device->steer = pool.steer;
                device->reason = pool.reason;
                device->vectors = calloc(of->n_vectors + 1, sizeof(*device->vectors));
                if (!device->vectors ||
                    (steers && pool_order(input->topology, &pool.cpus, of->node, &device->order,
                                          &device->n_order) < 0))
                        return -ENOMEM;
                for (size_t k = 0; k < of->n_vectors; k++) {
                        const IrqManaged managed = of->vectors[k].managed;

                        device->vectors[k].irq = of->vectors[k].irq;
                        if (managed == IRQ_MANAGED_YES || managed == IRQ_MANAGED_LIKELY)
                                device->vectors[k].decision = IRQ_MANAGED;
                        else
                                device->vectors[k].decision = steers ? IRQ_STEERED : IRQ_LEFT;
                }
        }
        if (irq_spread_vectors(&plan) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < plan.n_devices; i++) {
                IrqPlanDevice *device = &plan.devices[i];
                const IrqPolicy *policy = device->policy;

                if (!irq_reason_steers(device->reason))
                        continue;
                /* The kernel has no mask for a single transmit queue. */
                if (policy->xps && device->device->n_tx > 1 &&
                    device_build_xps(input->topology, device) < 0)
                        return -ENOMEM;
                /* Automatically only where no instance has the CPUs: else it would spread the work
                 * over instances. */
                if ((policy->rps == RPS_ON ||
                     (policy->rps == RPS_AUTO && device->device->n_rx < device->n_order &&
                      device->reason != IRQ_REASON_SHARED && device->reason != IRQ_REASON_OWNED)) &&
                    device_build_rps(input->topology, device) < 0)
                        return -ENOMEM;
        }
        if (plan_build_balance(&cpus, &plan) < 0)
                return -ENOMEM;
        *ret = TAKE_STRUCT(plan);
        return 0;
}
