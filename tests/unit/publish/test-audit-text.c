/* The audit as people and programs get it. */

#include "../../support/test.h"

#include "../../support/json-check.h"

#include "tidbnumad/publish/audit-text.h"

static int add(AuditReport *report, AuditRule rule, AuditState state, const char *found,
               const char *remedy) {
        AuditFinding f = { .rule = rule,
                           .state = state,
                           .found = found ? strdup(found) : NULL,
                           .where = strdup("/proc/x"),
                           .remedy = strdup(remedy) };

        return audit_report_add(report, &f);
}

TEST(text) {
        _cleanup_audit_report_ AuditReport report = { 0 };
        _cleanup_text_ Text text = { 0 };

        audit_report_hold(&report, AUDIT_SWAP);
        assert_int_equal(add(&report, AUDIT_SHARED_DISK, AUDIT_WARNING, "a and b", "a disk"), 0);
        assert_int_equal(add(&report, AUDIT_SHARED_DISK, AUDIT_WARNING, "a and\x1b c", "a disk"),
                         0);
        assert_int_equal(add(&report, AUDIT_CPUSET, AUDIT_FAILURE, "none", "boot"), 0);
        for (AuditRule rule = AUDIT_NODE_EXCEEDED; rule < N_AUDIT_RULES; rule++)
                if (rule != AUDIT_GOVERNOR)
                        audit_report_hold(&report, rule);
        audit_render_text(&report, 0, false, &text);
        assert_int_equal(text.error, 0);
        assert_non_null(strstr(text.data, "RESULT   RULE              FOUND\n"
                                          "failure  cpuset            none (/proc/x)\n"
                                          "warning  shared-disk (A8)  a and b (/proc/x); a "
                                          "and\\x1b c (/proc/x)\n"
                                          "\n"
                                          "What to do:\n"
                                          "  cpuset: boot\n"
                                          "  shared-disk: a disk\n"
                                          "\n"
                                          "In order: node-exceeded, "));
        assert_non_null(strstr(text.data, "Not known, or nothing to judge: governor\n"));
}

/* A rule has one row, however many findings. */
TEST(many_findings) {
        _cleanup_audit_report_ AuditReport report = { 0 };
        _cleanup_text_ Text text = { 0 };

        for (unsigned i = 0; i < 6; i++)
                assert_int_equal(add(&report, AUDIT_SWAP, AUDIT_WARNING, "one", "r"), 0);
        audit_render_text(&report, 0, false, &text);
        assert_non_null(strstr(text.data, "\nwarning  swap  one (/proc/x); one (/proc/x); one "
                                          "(/proc/x); one (/proc/x); and 2 more, see --json\n"));
}

TEST(no_memory_for_a_finding) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        assert_int_equal(add(&report, AUDIT_SWAP, AUDIT_WARNING, NULL, "x"), -ENOMEM);
        assert_int_equal(report.n_findings, 0);
        assert_int_equal(report.states[AUDIT_SWAP], AUDIT_UNKNOWN);
}

TEST(json) {
        _cleanup_audit_report_ AuditReport report = { 0 };
        const json_t *finding, *rule;
        json_t *json;

        assert_int_equal(add(&report, AUDIT_NUMA_BALANCING, AUDIT_WARNING, "is 1", "sysctl"), 0);
        json = JSON_WRITTEN(j, audit_json(j, &report));
        assert_string_equal(json_string_value(json_object_get(json, "result")), "warning");
        finding = json_array_get(json_object_get(json, "findings"), 0);
        assert_string_equal(json_string_value(json_object_get(finding, "rule")), "numa-balancing");
        assert_string_equal(json_string_value(json_object_get(finding, "severity")), "warning");
        assert_string_equal(json_string_value(json_object_get(finding, "where")), "/proc/x");
        assert_string_equal(json_string_value(json_object_get(finding, "remedy")), "sysctl");
        assert_int_equal(json_array_size(json_object_get(json, "rules")), N_AUDIT_RULES);
        rule = json_array_get(json_object_get(json, "rules"), AUDIT_NUMA_BALANCING);
        assert_string_equal(json_string_value(json_object_get(rule, "rule")), "R7");
        assert_string_equal(json_string_value(json_object_get(rule, "state")), "warning");
        json_decref(json);
}
