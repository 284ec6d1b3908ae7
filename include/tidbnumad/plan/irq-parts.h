/* The parts of the plan of interrupts, for plan/irq.c: which CPUs serve a device (irq-pool.c), and
 * which queue gets which of them (irq-spread.c). */
#pragma once

#include "tidbnumad/plan/irq.h"

/* The machine's online CPUs by their users. */
typedef struct IrqCpus {
        CpuSet online;
        CpuSet owned;     /* by any instance */
        CpuSet exclusive; /* of them, by one that is not shared */
        CpuSet isolated;  /* from the scheduler: isolcpus=, nohz_full= */
        CpuSet free;      /* neither owned nor isolated */
} IrqCpus;

IrqCpus irq_cpus_divide(const IrqPlanInput *input);

typedef struct IrqPool {
        IrqSteer steer; /* resolved */
        IrqReason reason;
        CpuSet cpus; /* empty where `reason` does not steer */
} IrqPool;

IrqPool irq_pool_choose(const IrqPlanInput *input, const IrqCpus *cpus, const IrqPolicy *policy,
                        const IrqDevice *device);

/* Its CPUs, the best first: by distance from the node (DEVICE_NODE_UNKNOWN: all are equal), first
 * threads of cores before others, then by number. The caller owns the array. 0 or -ENOMEM. */
int irq_pool_order(const Topology *topology, const CpuSet *pool, int32_t node, uint32_t **ret,
                   size_t *ret_n);

/* Fills the masks of the vectors of all devices that are steered, whose `order` and `vectors` are
 * there. 0 or -ENOMEM. */
int irq_spread_vectors(IrqPlan *plan);

/* Fills `xps` and `rps` where the device's policy wants them. 0 or -ENOMEM. */
int irq_spread_queues(const Topology *topology, IrqPlanDevice *device);
