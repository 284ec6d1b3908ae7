/* Where interrupts are to go, and why. Plain data; plan/irq.h makes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/policy.h"

/* What is done with a vector. */
typedef enum IrqDecision {
        IRQ_LEFT,    /* left alone, for the device's `reason` */
        IRQ_MANAGED, /* the kernel chose its CPUs, and refuses others: left alone */
        IRQ_STEERED, /* `cpus` is wanted */
} IrqDecision;

const char *irq_decision_to_string(IrqDecision decision); /* "steered" */

/* Why a device's vectors go where they go, or stay. */
typedef enum IrqReason {
        /* Steered: */
        IRQ_REASON_RESERVED, /* a node is reserved, and has CPUs that no instance owns */
        IRQ_REASON_LOCAL,    /* the device's node has CPUs that no instance owns */
        IRQ_REASON_AWAY,     /* to what no instance owns, the nearest first */
        IRQ_REASON_LISTED,   /* the policy lists the CPUs */
        IRQ_REASON_SHARED,   /* no other CPU is available: to CPUs of shared instances */
        IRQ_REASON_OWNED,    /* no other CPU is available: to CPUs of exclusive instances */
        /* Left alone: */
        IRQ_REASON_NO_ENTRY,         /* no entry of `irq` matches the device */
        IRQ_REASON_POLICY,           /* steer: leave */
        IRQ_REASON_RELEASED,         /* its release was requested */
        IRQ_REASON_IRQBALANCE,       /* R11: irqbalance keeps the distribution */
        IRQ_REASON_OTHER_NETNS,      /* the card is in another network namespace */
        IRQ_REASON_BUNDLE,           /* a bond: its members are steered */
        IRQ_REASON_NO_VECTORS,       /* there is nothing to steer */
        IRQ_REASON_NOTHING_RESERVED, /* steer: reserved, and no node is, or none with CPUs */
        IRQ_REASON_NODE_UNKNOWN,     /* steer: local, and its node is not known, or has no CPUs */
        IRQ_REASON_CPUS_ABSENT,      /* none of the listed CPUs is online */
        N_IRQ_REASONS,
} IrqReason;

const char *irq_reason_to_id(IrqReason reason);     /* "other-netns" */
const char *irq_reason_to_string(IrqReason reason); /* a sentence */
const char *irq_reason_to_rule(IrqReason reason);   /* "R11"; "" for none */
bool irq_reason_steers(IrqReason reason);

typedef struct IrqPlanVector {
        uint32_t irq;
        IrqDecision decision;
        CpuSet cpus; /* IRQ_STEERED: the mask wanted; never empty then */
} IrqPlanVector;

/* One for each device, in the same order; vectors and queues likewise. */
typedef struct IrqPlanDevice {
        const IrqDevice *device; /* borrowed */
        const IrqPolicy *policy; /* the entry that counts; NULL: none; borrowed */
        IrqSteer steer;          /* resolved: RESERVED, LOCAL, AWAY, CPUS or LEAVE, never AUTO */
        IrqReason reason;
        uint32_t *order; /* the CPUs that serve it, the best first: for "no free vector here, the
                          * next"; owned; only where it is steered */
        size_t n_order;
        IrqPlanVector *vectors; /* device->n_vectors; owned */
        CpuSet *xps;            /* device->n_tx masks; NULL: left alone; owned */
        CpuSet *rps;            /* device->n_rx masks; NULL: left alone; owned */
} IrqPlanDevice;

/* What is sent to irqbalance when it runs. */
typedef struct IrqPlanBalance {
        bool sent;             /* false: nothing, it is ignored or nothing is steered */
        CpuSet banned_cpus;    /* CPUs that irqbalance must not use; empty: none */
        uint32_t *banned_irqs; /* ascending; owned */
        size_t n_banned_irqs;
} IrqPlanBalance;

typedef struct IrqPlan {
        IrqPlanDevice *devices; /* owned */
        size_t n_devices;
        IrqPlanBalance irqbalance;
} IrqPlan;

void irq_plan_done(IrqPlan *plan);
#define _cleanup_irq_plan_ _cleanup_(irq_plan_done)
