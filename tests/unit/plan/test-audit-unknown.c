/* What the audit does not know, or has nothing to compare with. */
#include "../../support/test.h"

#include "audit-world.h"

/* Of a machine that is only described nothing is claimed. */
WORLD_TEST(nothing_known) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        w->input = (AuditInput){ .topology = &w->topology,
                                 .devices = &(DeviceList){ 0 },
                                 .policies = &w->set };
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.n_findings, 0);
        for (AuditRule rule = 0; rule < N_AUDIT_RULES; rule++)
                assert_int_equal(report.states[rule],
                                 rule == AUDIT_TOPOLOGY || rule == AUDIT_NODE_SIZES
                                         ? AUDIT_OK
                                         : AUDIT_UNKNOWN);
}

/* Files that a kernel or a user's rights hide. */
WORLD_TEST(settings_that_cannot_be_read) {
        static const AuditRule rules[] = { AUDIT_NUMA_BALANCING, AUDIT_ZONE_RECLAIM,
                                           AUDIT_HUGE_PAGES,     AUDIT_GOVERNOR,
                                           AUDIT_CPUSET,         AUDIT_SOFTIRQ };
        _cleanup_audit_report_ AuditReport report = { 0 };

        w->facts.numa_balancing = w->facts.zone_reclaim_mode = w->facts.swappiness =
                HOST_FACT_UNKNOWN;
        w->facts.huge_pages[0] = '\0';
        w->facts.governor_known = w->facts.cpuset_known = false;
        w->before[0].cpu_known = w->now[1].cpu_known = false;
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.n_findings, 0);
        for (size_t i = 0; i < ELEMENTSOF(rules); i++)
                if (report.states[rules[i]] != AUDIT_UNKNOWN)
                        fail_msg("%s is judged", audit_rule_to_id(rules[i]));
}

WORLD_TEST(a_node_without_memory) {
        _cleanup_audit_report_ AuditReport report = { 0 };
        bool found = false;

        w->nodes[1].memory_bytes = 0;
        assert_int_equal(audit_build(&w->input, &report), 0);
        for (size_t i = 0; i < report.n_findings; i++)
                found |= report.findings[i].rule == AUDIT_NODE_SIZES &&
                         strstr(report.findings[i].found, "node 1 has CPUs and no memory");
        assert_true(found);
}

WORLD_TEST(one_node_has_no_other_to_be_equal_to) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        w->topology.n_nodes = 1;
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.states[AUDIT_NODE_SIZES], AUDIT_UNKNOWN);
}
