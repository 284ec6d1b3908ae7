#include <errno.h>
#include <stdlib.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/model/audit.h"

static const struct {
        const char *id, *rule;
} names[N_AUDIT_RULES] = {
        [AUDIT_CPUSET] = { "cpuset", "" },
        [AUDIT_NODE_EXCEEDED] = { "node-exceeded", "R10" },
        [AUDIT_SERVER_SIZES] = { "server-sizes", "A9" },
        [AUDIT_HUGE_POOL] = { "huge-pool", "R10" },
        [AUDIT_HIDDEN_NODES] = { "hidden-nodes", "R9" },
        [AUDIT_NODE_SIZES] = { "node-sizes", "R8" },
        [AUDIT_TOPOLOGY] = { "topology", "" },
        [AUDIT_DEVICE_NODE] = { "device-node", "" },
        [AUDIT_NIC_NODE] = { "nic-node", "R2" },
        [AUDIT_SOFTIRQ] = { "softirq", "R2" },
        [AUDIT_IRQ] = { "irq", "R2" },
        [AUDIT_RESERVED_CPUS] = { "reserved-cpus", "R2" },
        [AUDIT_IRQBALANCE] = { "irqbalance", "R11" },
        [AUDIT_STORAGE_NODE] = { "storage-node", "R4" },
        [AUDIT_SHARED_DISK] = { "shared-disk", "A8" },
        [AUDIT_BOUND_BY_HAND] = { "bound-by-hand", "" },
        [AUDIT_START] = { "start", "" },
        [AUDIT_GOMAXPROCS] = { "gomaxprocs", "A1" },
        [AUDIT_KEPT_POOLS] = { "kept-pools", "A4" },
        [AUDIT_LABELS] = { "labels", "A13" },
        [AUDIT_LOST_CPUS] = { "lost-cpus", "" },
        [AUDIT_NUMA_BALANCING] = { "numa-balancing", "R7" },
        [AUDIT_ZONE_RECLAIM] = { "zone-reclaim", "" },
        [AUDIT_MIN_FREE] = { "min-free", "" },
        [AUDIT_HUGE_PAGES] = { "huge-pages", "" },
        [AUDIT_SWAP] = { "swap", "" },
        [AUDIT_GOVERNOR] = { "governor", "" },
        [AUDIT_KERNEL] = { "kernel", "" },
};

const char *audit_rule_to_id(AuditRule rule) {
        return names[rule].id;
}

const char *audit_rule_to_rule(AuditRule rule) {
        return names[rule].rule;
}

static const char *const audit_state_strings[N_AUDIT_STATES] = {
        [AUDIT_UNKNOWN] = "unknown",
        [AUDIT_OK] = "ok",
        [AUDIT_WARNING] = "warning",
        [AUDIT_FAILURE] = "failure",
};
DEFINE_STRING_TABLE(audit_state_to_string, AuditState, audit_state_strings)

static void finding_done(AuditFinding *finding) {
        free(finding->found);
        free(finding->where);
        free(finding->remedy);
        *finding = (AuditFinding){ 0 };
}

void audit_report_done(AuditReport *report) {
        for (size_t i = 0; i < report->n_findings; i++)
                finding_done(&report->findings[i]);
        free(report->findings);
        *report = (AuditReport){ 0 };
}

static void report_raise(AuditReport *report, AuditRule rule, AuditState state) {
        if (report->states[rule] < state)
                report->states[rule] = state;
}

void audit_report_hold(AuditReport *report, AuditRule rule) {
        report_raise(report, rule, AUDIT_OK);
}

int audit_report_add(AuditReport *report, AuditFinding *finding) {
        size_t at = report->n_findings;
        int r = finding->found && finding->where && finding->remedy ? 0 : -ENOMEM;

        for (; at > 0; at--) {
                const AuditFinding *before = &report->findings[at - 1];

                if (before->state > finding->state ||
                    (before->state == finding->state && before->rule <= finding->rule))
                        break;
        }
        if (r >= 0)
                r = ARRAY_INSERT(report->findings, report->n_findings, report->allocated, at,
                                 finding);
        if (r < 0) {
                finding_done(finding);
                report->error = r;
                return r;
        }
        report_raise(report, finding->rule, finding->state);
        *finding = (AuditFinding){ 0 };
        return 0;
}

AuditState audit_report_worst(const AuditReport *report) {
        AuditState worst = AUDIT_UNKNOWN;

        for (unsigned i = 0; i < N_AUDIT_RULES; i++)
                if (report->states[i] > worst)
                        worst = report->states[i];
        return worst;
}
