/* The audit as text and as JSON. */
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/audit-text.h"
#include "tidbnumad/publish/table.h"

static void append_rules(const AuditReport *report, AuditState state, const char *title,
                         Text *text) {
        bool any = false;

        for (AuditRule rule = 0; rule < N_AUDIT_RULES; rule++) {
                if (report->states[rule] != state)
                        continue;
                text_append(text, any ? ", " : title);
                text_append(text, audit_rule_to_id(rule));
                any = true;
        }
        if (any)
                text_append(text, "\n");
}

/* So many findings of a rule are listed in its row. */
enum { FOUND_LISTED = 4 };

void audit_render_text(const AuditReport *report, unsigned width, bool colors, Text *text) {
        static const char *const headings[] = { "RESULT", "RULE", "FOUND" };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        table.state_column = 0;
        table.colors = colors;
        for (size_t k = 0; k < report->n_findings;) {
                const AuditFinding *first = &report->findings[k];
                const char *rule = audit_rule_to_rule(first->rule);
                _cleanup_text_ Text found = { 0 };
                size_t n = 0;

                for (; k < report->n_findings && report->findings[k].rule == first->rule &&
                       report->findings[k].state == first->state;
                     k++, n++)
                        if (n < FOUND_LISTED)
                                text_appendf(&found, "%s%s (%s)", n > 0 ? "; " : "",
                                             report->findings[k].found, report->findings[k].where);
                if (n > FOUND_LISTED)
                        text_appendf(&found, "; and %zu more, see --json", n - FOUND_LISTED);
                table_add(&table, audit_state_to_string(first->state));
                table_addf(&table, "%s%s%s%s", audit_rule_to_id(first->rule), *rule ? " (" : "",
                           rule, *rule ? ")" : "");
                table_add_text(&table, &found);
        }
        table_render(&table, width, text);
        for (size_t i = 0; i < report->n_findings; i++) {
                /* The remedy of several findings of one rule is often the same: once is enough. */
                if (i > 0 && report->findings[i].rule == report->findings[i - 1].rule &&
                    strcmp(report->findings[i].remedy, report->findings[i - 1].remedy) == 0)
                        continue;
                text_append_names(text, i == 0 ? "\nWhat to do:\n  %s: %s\n" : "  %s: %s\n",
                                  audit_rule_to_id(report->findings[i].rule),
                                  report->findings[i].remedy);
        }
        if (report->n_findings > 0)
                text_append(text, "\n");
        append_rules(report, AUDIT_OK, "In order: ", text);
        append_rules(report, AUDIT_UNKNOWN, "Not known, or nothing to judge: ", text);
}

void audit_json(Json *json, const AuditReport *report) {
        JSON_OBJECT(json, NULL) {
                json_put_string(json, "result", audit_state_to_string(audit_report_worst(report)));
                JSON_ARRAY(json, "findings", i, report->n_findings)
                        JSON_OBJECT(json, NULL) {
                                const AuditFinding *f = &report->findings[i];

                                json_put_string(json, "rule", audit_rule_to_id(f->rule));
                                json_put_string(json, "severity", audit_state_to_string(f->state));
                                json_put_string(json, "found", f->found);
                                json_put_string(json, "where", f->where);
                                json_put_string(json, "remedy", f->remedy);
                        }
                JSON_ARRAY(json, "rules", rule, N_AUDIT_RULES)
                        JSON_OBJECT(json, NULL) {
                                const char *id = audit_rule_to_rule(rule);

                                json_put_string(json, "id", audit_rule_to_id(rule));
                                json_put_string(json, "rule", *id ? id : NULL);
                                json_put_string(json, "state",
                                                audit_state_to_string(report->states[rule]));
                        }
        }
}
