/* The audit of a host: the rules that the host meets, and remedies for the others. Plain data;
 * plan/audit.h judges, the text and JSON are publish's. The rules are described in tidbnumad(7). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"

typedef enum AuditRule {
        AUDIT_CPUSET,        /* the cpuset controller, without which memory cannot be bound */
        AUDIT_NODE_EXCEEDED, /* R10: strict binding whose need exceeds the nodes */
        AUDIT_SERVER_SIZES,  /* A2, A9: what the servers on a node take by themselves */
        AUDIT_HUGE_POOL,     /* R10: the same for reserved huge pages */
        AUDIT_HIDDEN_NODES,  /* R9 */
        AUDIT_NODE_SIZES,    /* R8 */
        AUDIT_TOPOLOGY,      /* what cannot be trusted about the machine */
        AUDIT_DEVICE_NODE,   /* devices whose node the firmware does not report */
        AUDIT_NIC_NODE,      /* R2, R6 */
        AUDIT_SOFTIRQ,       /* R2 */
        AUDIT_IRQ,           /* R2: interrupts on CPUs of instances, and no policy for them */
        AUDIT_RESERVED_CPUS, /* R2: an instance may run on the CPUs kept for interrupts */
        AUDIT_IRQBALANCE,    /* R11 */
        AUDIT_STORAGE_NODE,  /* R4 */
        AUDIT_SHARED_DISK,   /* A8 */
        AUDIT_BOUND_BY_HAND,
        AUDIT_START,          /* units that cannot be started bound */
        AUDIT_GOMAXPROCS,     /* A1 */
        AUDIT_KEPT_POOLS,     /* A4: threads for the CPUs that it had before it was bound */
        AUDIT_LABELS,         /* A13 */
        AUDIT_LOST_CPUS,      /* offline or isolated CPUs of an instance's nodes */
        AUDIT_NUMA_BALANCING, /* R7 */
        AUDIT_ZONE_RECLAIM,
        AUDIT_MIN_FREE,
        AUDIT_HUGE_PAGES,
        AUDIT_SWAP,
        AUDIT_GOVERNOR,
        AUDIT_KERNEL, /* what an older kernel lacks */
        N_AUDIT_RULES,
} AuditRule;

const char *audit_rule_to_id(AuditRule rule);   /* "numa-balancing" */
const char *audit_rule_to_rule(AuditRule rule); /* "R7", see tidbnumad(7); "" for none */

typedef enum AuditState {
        AUDIT_UNKNOWN, /* the facts could not be read, or the rule does not apply to this host */
        AUDIT_OK,
        AUDIT_WARNING,
        AUDIT_FAILURE,
        N_AUDIT_STATES,
} AuditState;

const char *audit_state_to_string(AuditState state); /* "warning" */

typedef struct AuditFinding {
        AuditRule rule;
        AuditState state; /* AUDIT_WARNING or AUDIT_FAILURE */
        char *found;      /* what was read; owned, as the others */
        char *where;      /* the file or key that it was read from */
        char *remedy;     /* a command if there is one, else an instruction */
} AuditFinding;

typedef struct AuditReport {
        AuditState states[N_AUDIT_RULES]; /* the worst of each rule */
        AuditFinding *findings;           /* failures first, then by rule; owned */
        size_t n_findings, allocated;
        int error; /* 0, or -ENOMEM: a finding is missing */
} AuditReport;

void audit_report_done(AuditReport *report);
#define _cleanup_audit_report_ _cleanup_(audit_report_done)

/* The rule was judged, and holds so far. */
void audit_report_hold(AuditReport *report, AuditRule rule);

/* Takes over the strings, also on failure; a NULL among them is -ENOMEM. */
int audit_report_add(AuditReport *report, AuditFinding *finding);

/* The worst of all rules. */
AuditState audit_report_worst(const AuditReport *report);

/* Settings of the host that the audit judges. Plain data. */

#define HOST_FACT_UNKNOWN (-1)

typedef struct HostFacts {
        int numa_balancing;    /* kernel.numa_balancing; HOST_FACT_UNKNOWN, as the others */
        int demotion;          /* /sys/kernel/mm/numa/demotion_enabled: 0 or 1 */
        int zone_reclaim_mode; /* vm.zone_reclaim_mode */
        int swappiness;        /* vm.swappiness */
        int min_free_kib;      /* vm.min_free_kbytes */
        bool swap_known;
        uint64_t swap_used_bytes;
        char huge_pages[16]; /* "always", "madvise", "never"; "": not known */
        char governor[32];   /* of the first CPU whose governor is not `performance`; "": none is */
        uint32_t governor_cpu;
        bool governor_known;
        bool cpuset_known, cpuset; /* can the cpuset controller be used? */
        char cpuset_closed[128]; /* where it is mounted, when we cannot write to it; "": nowhere */
        bool irqbalance_known, irqbalance; /* does it run? */
        bool kernel_known, pidfds;         /* pidfd_open(2); of this machine alone */
        bool numa_stat_known, numa_stat;   /* memory.numa_stat of services, on cgroup v2 */
        uint32_t n_packages;               /* sockets by /sys/devices/system/cpu; 0: not known */
} HostFacts;
