/* tidbnumactl plan: the place of each instance, the planned CPUs of interrupts, and what that
 * changes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/publish/plan-json.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/world/topology-load.h"

/* The members of the plan by one set of policies, with that of interrupts if there is one. */
static void put_plan(Json *json, const Situation *s) {
        plan_json_report(json, &s->report);
        if (s->irqs_planned)
                plan_json_interrupts(json, &s->irqs, &s->irq_plan);
        else
                json_put_null(json, "interrupts");
}

/* Those with the same sentence share a line. The plan does not show whether an instance is bound:
 * only the daemon knows. */
static void append_verdicts(const Situation *s, bool differs, Text *text) {
        const PlanReport *report = &s->report;
        _cleanup_free_ Text *now = NULL;
        bool all_bound = true, places = false, in_force = false;

        for (size_t i = 0; i < report->n_instances; i++) {
                places |= plan_report_places(&report->instances[i]);
                in_force |= !id_set_is_empty(&report->instances[i].in_force);
        }
        if (!places)
                return;
        if (!report->daemon_runs) {
                text_append(text,
                            in_force ? "\nNo daemon runs: bindings are kept, but not watched.\n"
                                     : "\nNo daemon runs, so nothing is bound.\n");
                return;
        }
        now = must_have(calloc(report->n_instances + 1, sizeof(*now)));
        for (size_t i = 0; i < report->n_instances; i++) {
                const PlanReportInstance *row = &report->instances[i];

                if (row->choice->basis == BASIS_REFUSED ||
                    (row->published && row->published->state == INSTANCE_BOUND))
                        continue;
                situation_append_now(s, row, &now[i]);
                all_bound = false;
        }
        text_append(text, all_bound ? "" : "\nNot bound by the daemon:\n");
        for (size_t i = 0; i < report->n_instances; i++) {
                for (size_t k = i; k < report->n_instances && now[i].length > 0; k++) {
                        if (k > i && (now[k].length == 0 || strcmp(now[k].data, now[i].data) != 0))
                                continue;
                        text_append(text, k == i ? "  " : ", ");
                        text_append_printable(text, report->instances[k].in->name);
                        if (k > i)
                                text_reset(&now[k]);
                }
                if (now[i].length > 0)
                        text_appendf(text, ": %s\n", must_text(&now[i]));
                text_done(&now[i]);
        }
        if (all_bound && !differs)
                text_append(text, "\nEach instance is where it belongs.\n");
}

static int export_plan(const Situation *s, Error *error) {
        const PlanReport *report = &s->report;
        _cleanup_free_ TopologyMark *marks =
                must_have(calloc(report->n_instances + 1, sizeof(*marks)));
        _cleanup_(word_list_done) WordList types = { 0 };
        size_t n = 0;
        int r;

        for (size_t i = 0; i < report->n_instances; i++) {
                const PlanReportInstance *row = &report->instances[i];
                _cleanup_free_ char *type = NULL;

                if (!plan_report_places(row))
                        continue;
                type = must_have(text_new("tidbnumad:%s", row->in->policy->name));
                must(word_list_add(&types, type));
                marks[n] = (TopologyMark){ .name = row->in->name,
                                           .type = types.words[n],
                                           .nodes = row->choice->placement.nodes };
                n++;
        }
        r = topology_export(&s->machine->source, &s->machine->devices, marks, n,
                            s->args->export_path, error);
        return r < 0 ? error_prefix(error, r, "--export %s: ", s->args->export_path) : r;
}

/* Plans interrupts as well. Reminds the operator of `irq`: without it, interrupts of network cards
 * and disks stay on the CPUs of instances. */
static int plan_load(Situation *s, Error *error) {
        int r = situation_load(s, error);

        if (r >= 0 && s->policies->set.n_irqs == 0 && !s->policies->defaults &&
            policy_set_count_written(&s->policies->set) > 0)
                situation_note(s, "no entry of `irq`: interrupts are not steered");
        return r;
}

int command_plan(const Args *args, Error *error) {
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_situation_ Situation s = { .args = args, .machine = &machine };
        /* With --against: by these policies, after those in force. */
        _cleanup_situation_ Situation after = {
                .args = args, .machine = &machine, .policy_path = args->against, .before = &s
        };
        Situation *before = args->against ? &s : NULL, *shown = args->against ? &after : &s;
        const unsigned width = output_width();
        _cleanup_free_ PlanChange *changes = NULL;
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };
        size_t n = 0;
        int r;

        if (args->tiup_file)
                return command_plan_fleet(args, error);
        r = machine_open(args, &machine, error);
        if (r >= 0)
                r = plan_load(&s, error);
        if (r >= 0 && before)
                r = plan_load(&after, error);
        if (r >= 0 && args->export_path)
                r = export_plan(&s, error);
        if (r >= 0)
                r = situation_plan_irqs(&s);
        if (r >= 0 && before)
                r = situation_plan_irqs(&after);
        /* The nodes in use are compared with the plan; imagined instances use none. */
        if (r >= 0 && (before || s.runs))
                changes = situation_compare(before, shown, &n);
        if (r >= 0 && args->json) {
                JSON_OBJECT(&json, NULL) {
                        if (before) {
                                JSON_OBJECT(&json, "before")
                                        put_plan(&json, before);
                                JSON_OBJECT(&json, "after")
                                        put_plan(&json, shown);
                        } else
                                put_plan(&json, shown);
                        plan_json_changes(&json, changes, n);
                }
                r = output_json(&text);
        } else if (r >= 0) {
                text_append(&text, "Plan for ");
                text_append_printable(&text, machine.title);
                if (before) {
                        text_append(&text, " with the policies of ");
                        text_append_printable(&text, args->against);
                }
                text_append(&text, "\n\n");
                plan_table_render(&shown->report, width, &text);
                if (shown->irqs_planned) {
                        text_append(&text, "\n");
                        irq_plan_line(&shown->irq_plan, &text);
                }
                if (shown->irqs_planned && args->explain) {
                        text_append(&text, "\n");
                        irq_plan_table_render(&shown->irqs, &shown->irq_plan, width, &text);
                }
                if (before) {
                        text_append(&text, "\nChanges:\n\n");
                        plan_table_changes(changes, n, width, &text);
                } else {
                        if (s.runs && machine.live)
                                append_verdicts(&s, n > 0, &text);
                        if (args->explain && s.report.n_instances > 0) {
                                text_append(&text, "\n");
                                plan_table_explain(&s.report, &text);
                        }
                        if (args->explain && s.irqs_planned)
                                irq_plan_table_explain(&s.irq_plan, &text);
                }
                r = output_text(&text);
        }
        if (r < 0)
                return r;
        return situation_has_refusal(shown) ? COMMAND_EXIT_REFUSED : EXIT_SUCCESS;
}
