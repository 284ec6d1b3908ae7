/* Interrupts of the machine's devices, as they are at one moment. Plain data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"

/* What a vector of a device is for, by the name of its handler. */
typedef enum IrqRole {
        IRQ_ROLE_OTHER, /* link changes, events of the firmware, mailboxes: no queue's */
        IRQ_ROLE_RX,    /* of receive queue `queue` */
        IRQ_ROLE_TX,    /* of transmit queue `queue` */
        IRQ_ROLE_RXTX,  /* of both; of a disk: of I/O queue `queue` */
        IRQ_ROLE_ADMIN, /* the admin queue of an NVMe controller */
        N_IRQ_ROLES,
} IrqRole;

const char *irq_role_to_string(IrqRole role); /* "rxtx" */

/* Has the kernel chosen the vector's CPUs, so that it refuses others? Since Linux 6.12 the vector's
 * file is read-only then; before, only a write that fails with EIO shows it. */
typedef enum IrqManaged {
        IRQ_MANAGED_UNKNOWN,
        IRQ_MANAGED_NO,     /* a write was taken */
        IRQ_MANAGED_LIKELY, /* by its driver: I/O queues of NVMe always are */
        IRQ_MANAGED_YES,
} IrqManaged;

typedef struct IrqVector {
        uint32_t irq;
        char *name; /* of its handler: "eth0-TxRx-3"; NULL: it has no handler; owned */
        IrqRole role;
        int32_t queue;    /* counted from 0; -1: none */
        bool mask_known;  /* the two masks could be read */
        CpuSet requested; /* smp_affinity_list */
        bool effective_known;
        CpuSet effective; /* effective_affinity_list: where it fires */
        IrqManaged managed;
        const uint32_t *counts; /* by index of IrqHost.cpus; the kernel counts modulo 2^32. NULL:
                                 * not in /proc/interrupts; borrowed from IrqHost */
} IrqVector;

/* The mask of a transmit queue (xps_cpus) or receive queue (rps_cpus) of a network card. */
typedef struct IrqQueue {
        bool mask_known; /* false: not there, as xps_cpus of a card with one queue */
        CpuSet cpus;
} IrqQueue;

typedef enum IrqLink {
        IRQ_LINK_UNKNOWN,
        IRQ_LINK_UP,
        IRQ_LINK_DOWN,
} IrqLink;

/* A network card, an NVMe controller, or what a policy names by its PCI address: that is its name
 * then. */
typedef struct IrqDevice {
        union { /* the fields are its own, and together they are `device` */
                struct Device;
                Device device;
        };
        char *physfn; /* of a virtual function: the card's PCI address; NULL: it is none; owned */
        uint32_t ifindex; /* of a network card; 0: not known */
        IrqLink link;
        bool bundle;         /* a bond or team: its members have the vectors */
        bool in_other_netns; /* a network card seen by its PCI device only */
        IrqVector *vectors;  /* ascending by irq; owned */
        size_t n_vectors;
        IrqQueue *rx, *tx; /* by number of the queue; owned */
        size_t n_rx, n_tx;
} IrqDevice;

void irq_device_done(IrqDevice *device);

/* State and settings of irqbalance(1). Values that could not be read are 0. */
typedef struct IrqbalanceFacts {
        pid_t pid;           /* 0: it does not run, or nothing is known of it */
        bool settings_known; /* it has reported what follows */
        uint32_t sleep_seconds;
        CpuSet banned_cpus;
        uint32_t *banned_irqs; /* owned */
        size_t n_banned_irqs;
} IrqbalanceFacts;

void irqbalance_facts_done(IrqbalanceFacts *facts);

typedef struct IrqHost {
        IrqDevice *devices; /* network cards, NVMe, others; each kind ascending by name; owned */
        size_t n_devices, allocated;
        uint32_t *cpus; /* the columns of the counters: CPUs that were online; owned */
        size_t n_cpus;
        uint32_t *counts; /* of all vectors that have some: n_cpus each; owned */
        IrqbalanceFacts irqbalance;
} IrqHost;

void irq_host_done(IrqHost *host);
#define _cleanup_irq_host_ _cleanup_(irq_host_done)

/* The device of that kind and name, or NULL. */
const IrqDevice *irq_host_find(const IrqHost *host, DeviceKind kind, const char *name);
const IrqDevice *irq_host_find_interface(const IrqHost *host, uint32_t ifindex);

/* The vector of that number, or NULL. */
const IrqVector *irq_device_vector(const IrqDevice *device, uint32_t irq);

/* Interrupts of the vector so far on these CPUs, modulo 2^32. */
uint32_t irq_vector_count(const IrqHost *host, const IrqVector *vector, const CpuSet *cpus);

/* Interrupts of a vector between two readings. 0 if one of the readings has no counters; if the set
 * of online CPUs has changed, because a CPU's count may be missing with its column; and if the
 * counter is lower than before: an interrupt number that is used again starts at 0. */
uint32_t irq_vector_growth(const IrqHost *before, const IrqVector *old, const IrqHost *now,
                           const IrqVector *vector, const CpuSet *cpus);

/* Values of the kernel that belong to no process: masks of interrupts and of network queues, and
 * settings of the whole host. Plain data. */

typedef enum SettingKind {
        SETTING_VECTOR,         /* /proc/irq/N/smp_affinity_list */
        SETTING_XPS,            /* xps_cpus of a transmit queue */
        SETTING_RPS,            /* rps_cpus of a receive queue */
        SETTING_NUMA_BALANCING, /* the sysctl kernel.numa_balancing */
        N_SETTING_KINDS,
} SettingKind;

const char *setting_kind_to_string(SettingKind kind); /* "vector" */

/* -EINVAL: there is no such kind. */
int setting_kind_from_string(const char *word, SettingKind *ret);

/* Which of them. */
typedef struct SettingKey {
        SettingKind kind;
        const char *device; /* of a vector its PCI address, or its name where it has none; of a
                             * queue the last known name of the interface; "" of the host's own;
                             * borrowed */
        uint32_t number;    /* of the interrupt or the queue; else 0 */
        uint32_t ifindex;   /* of a queue its interface; else 0 */
} SettingKey;

/* Is it a mask of a network queue? */
bool setting_is_queue(SettingKind kind);

/* Queues are compared by interface index: an interface can be renamed. */
bool setting_key_equal(const SettingKey *a, const SettingKey *b);

/* What is wanted there. */
typedef struct SettingValue {
        CpuSet cpus;
        uint32_t number;
} SettingValue;

bool setting_value_equal(const SettingValue *a, const SettingValue *b);

/* Where interrupts are to go, and why. Plain data; plan/irq.h makes it. */

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
