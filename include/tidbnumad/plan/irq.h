/* Plans the CPUs of interrupts. Pure.
 *
 * `reserved`: the CPUs of the reserved nodes and the reserved CPUs. `local`: those of the device's
 * node. `away`: all that no instance owns, the nearest to the device first. A list: there. `auto`:
 * reserved where a reserved node has CPUs that no instance owns, else local likewise, else away;
 * and by R11 below 100 Gbit/s irqbalance keeps the distribution where it runs and is sent the plan
 * (`cooperate`). Of the first three and auto, CPUs that an instance owns, and those isolated from
 * the scheduler, are taken only where there are no others: then those of shared instances, and
 * without such all (of `away` and auto those nearest to the device). A list is used as it is.
 *
 * Receive queue i and transmit queue i of a device are on one CPU. Of the CPUs that serve a
 * device the queue gets that with the fewest queues so far, of equal ones the nearest, then the
 * first thread of a core, then the lowest; devices take turns, queue by queue. Vectors that are
 * no queue's may fire on all CPUs that serve the device. */
#pragma once

#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/topology.h"

/* R11: from this speed on the daemon places each queue. */
#define IRQ_PLACE_SPEED_MBPS 100000u

/* An instance that is placed, as the owner of CPUs. */
typedef struct IrqOwner {
        const char *name;
        CpuSet cpus; /* online CPUs of its nodes that it runs on */
        bool shared; /* its policy has `share: shared` */
} IrqOwner;

typedef struct IrqPlanInput {
        const Topology *topology;
        const IrqHost *host;
        const IrqPolicy *policies; /* the entries of `irq`, in file order */
        size_t n_policies;
        NodeSet reserved;
        CpuSet reserved_cpus; /* of nodes that are not reserved, see placement_reserved_cpus() */
        const IrqOwner *owners;
        size_t n_owners;
} IrqPlanInput;

/* 0 or -ENOMEM. The plan borrows devices and policies. */
int irq_plan_build(const IrqPlanInput *input, IrqPlan *ret);

/* The entry that counts for a device, or NULL. A card matches `net` by its own name and by that of
 * its bond, each device `pci` by its address. */
const IrqPolicy *irq_policy_find(const IrqPolicy *policies, size_t n_policies,
                                 const IrqDevice *device);
