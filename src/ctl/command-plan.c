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

/* Compares the nodes in use with the plan. Empty for imagined instances. */
static int compare_with_force(const Case *c, PlanChange **ret, size_t *ret_n) {
        return c->runs ? plan_run_compare(NULL, &c->planned, ret, ret_n) : 0;
}

/* The members of the plan by one set of policies, with that of interrupts if there is one. */
static void put_plan(Json *json, const Case *c, const PlanRunIrq *irq) {
        plan_json_report(json, &c->planned.report);
        if (irq->planned)
                plan_json_interrupts(json, &irq->host, &irq->plan);
        else
                json_put_null(json, "interrupts");
}

static int print_plan_json(const Case *c, const PlanRunIrq *irq) {
        _cleanup_free_ PlanChange *changes = NULL;
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };
        size_t n = 0;
        int r = compare_with_force(c, &changes, &n);

        if (r < 0)
                return r;
        JSON_OBJECT(&json, NULL) {
                put_plan(&json, c, irq);
                plan_json_changes(&json, changes, n);
        }
        return output_json(&text);
}

static void append_interrupts(const PlanRunIrq *irq, bool explain, unsigned width, Text *text) {
        if (!irq->planned)
                return;
        text_append(text, "\n");
        irq_plan_line(&irq->plan, text);
        if (!explain)
                return;
        text_append(text, "\n");
        irq_plan_table_render(&irq->host, &irq->plan, width, text);
}

static bool places_any(const Case *c) {
        for (size_t i = 0; i < c->planned.report.n_instances; i++)
                if (plan_report_places(&c->planned.rows[i]))
                        return true;
        return false;
}

static bool is_any_in_force(const PlanReport *report) {
        for (size_t i = 0; i < report->n_instances; i++)
                if (!id_set_is_empty(&report->instances[i].in_force))
                        return true;
        return false;
}

static bool is_unbound(const PlanReportInstance *row) {
        return row->choice->basis != BASIS_REFUSED &&
               (!row->published || row->published->state != INSTANCE_BOUND);
}

/* Those with the same sentence share a line. The plan does not show whether an instance is bound:
 * only the daemon knows. */
static void append_verdicts(const Case *c, bool differs, Text *text) {
        const PlanReport *report = &c->planned.report;
        _cleanup_free_ Text *now = NULL;
        bool all_bound = true;

        if (!report->daemon_runs) {
                text_append(text,
                            is_any_in_force(report)
                                    ? "\nNo daemon runs: bindings are kept, but not watched.\n"
                                    : "\nNo daemon runs, so nothing is bound.\n");
                return;
        }
        now = calloc(report->n_instances + 1, sizeof(*now));
        if (!now)
                text->error = -ENOMEM;
        for (size_t i = 0; i < report->n_instances && now; i++)
                if (is_unbound(&report->instances[i])) {
                        plan_run_append_now(&c->planned, &report->instances[i], &now[i]);
                        all_bound = false;
                }
        text_append(text, all_bound ? "" : "\nNot bound by the daemon:\n");
        for (size_t i = 0; i < report->n_instances && now; i++) {
                for (size_t k = i; k < report->n_instances && now[i].length > 0; k++) {
                        if (k > i && (now[k].length == 0 || strcmp(now[k].data, now[i].data) != 0))
                                continue;
                        text_append(text, k == i ? "  " : ", ");
                        text_append_printable(text, report->instances[k].in->name);
                        if (k > i)
                                text_reset(&now[k]);
                }
                if (now[i].length > 0)
                        text_appendf(text, ": %s\n", now[i].data);
                text->error = now[i].error < 0 ? now[i].error : text->error;
                text_done(&now[i]);
        }
        if (all_bound && !differs)
                text_append(text, "\nEach instance is where it belongs.\n");
}

static int append_differences(const Situation *s, const Case *c, Text *text) {
        _cleanup_free_ PlanChange *changes = NULL;
        size_t n = 0;
        int r = compare_with_force(c, &changes, &n);

        if (r >= 0 && c->runs && s->machine.live && places_any(c))
                append_verdicts(c, n > 0, text);
        return r;
}

static int print_plan(const Situation *s, const Case *c, const PlanRunIrq *irq) {
        const unsigned width = output_width();
        _cleanup_text_ Text text = { 0 };
        int r;

        text_append(&text, "Plan for ");
        text_append_printable(&text, s->machine.title);
        text_append(&text, "\n\n");
        plan_table_render(&c->planned.report, width, &text);
        append_interrupts(irq, s->args->explain, width, &text);
        r = append_differences(s, c, &text);
        if (r < 0)
                return r;
        if (s->args->explain && c->planned.report.n_instances > 0) {
                text_append(&text, "\n");
                plan_table_explain(&c->planned.report, &text);
        }
        if (s->args->explain && irq->planned)
                irq_plan_table_explain(&irq->plan, &text);
        return output_text(&text);
}

/* Borrows the names; `types` owns the types. */
static int make_marks(const PlanReport *report, TopologyMark *marks, char **types, size_t *ret_n) {
        size_t n = 0;

        for (size_t i = 0; i < report->n_instances; i++) {
                const PlanReportInstance *row = &report->instances[i];

                if (!plan_report_places(row))
                        continue;
                if (asprintf(&types[n], "tidbnumad:%s", row->in->policy->name) < 0) {
                        types[n] = NULL;
                        return -ENOMEM;
                }
                marks[n] = (TopologyMark){ .name = row->in->name,
                                           .type = types[n],
                                           .nodes = row->choice->placement.nodes };
                n++;
        }
        *ret_n = n;
        return 0;
}

static int write_marks(const Situation *s, const TopologyMark *marks, size_t n) {
        const char *path = s->args->export_path;
        _cleanup_free_ char *message = NULL;
        int r = topology_export(&s->machine.source, &s->machine.devices, marks, n, path, &message);

        if (r < 0 && r != -ENOMEM)
                output_line(stderr, "tidbnumactl: --export %s: %s", path,
                            message ? message : strerror(-r));
        return r;
}

static int export_plan(const Situation *s, const PlanReport *report) {
        TopologyMark *marks = calloc(report->n_instances + 1, sizeof(*marks));
        char **types = calloc(report->n_instances + 1, sizeof(*types));
        size_t n = 0;
        int r = marks && types ? make_marks(report, marks, types, &n) : -ENOMEM;

        if (r >= 0)
                r = write_marks(s, marks, n);
        for (size_t i = 0; types && i < report->n_instances; i++)
                free(types[i]);
        free(types);
        free(marks);
        return r;
}

/* Reminds the operator of `irq`: without it, interrupts of network cards and disks stay on the CPUs
 * of instances. */
static int note_no_irq(Case *c) {
        const PolicySet *set = &c->policies.set;

        if (set->n_irqs > 0 || c->policies.defaults || policy_set_count_written(set) == 0)
                return 0;
        return plan_run_add_note(&c->planned, "no entry of `irq`: interrupts are not steered");
}

static int exit_status(const Case *c) {
        return plan_run_has_refusal(&c->planned) ? COMMAND_EXIT_REFUSED : EXIT_SUCCESS;
}

static int plan_once(const Situation *s) {
        _cleanup_case_ Case c = { 0 };
        _cleanup_plan_run_irq_ PlanRunIrq irq = { 0 };
        int r = case_open(s, NULL, NULL, &c);

        if (r >= 0)
                r = note_no_irq(&c);
        if (r >= 0 && s->args->export_path)
                r = export_plan(s, &c.planned.report);
        if (r >= 0)
                r = plan_run_irq_build(&s->machine, &c.policies.set, &c.planned, &irq);
        if (r >= 0)
                r = s->args->json ? print_plan_json(&c, &irq) : print_plan(s, &c, &irq);
        return r < 0 ? r : exit_status(&c);
}

/* Two cases: with the policies in force, and with others. */
typedef struct Pair {
        Case before, after;
        PlanRunIrq irq_before, irq_after;
} Pair;

static void pair_done(Pair *pair) {
        plan_run_irq_done(&pair->irq_after);
        plan_run_irq_done(&pair->irq_before);
        case_close(&pair->after);
        case_close(&pair->before);
}

static int print_against_json(const Pair *pair, const PlanChange *changes, size_t n) {
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };

        JSON_OBJECT(&json, NULL) {
                JSON_OBJECT(&json, "before")
                        put_plan(&json, &pair->before, &pair->irq_before);
                JSON_OBJECT(&json, "after")
                        put_plan(&json, &pair->after, &pair->irq_after);
                plan_json_changes(&json, changes, n);
        }
        return output_json(&text);
}

static int print_against(const Situation *s, const Pair *pair, const PlanChange *changes,
                         size_t n) {
        const unsigned width = output_width();
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "Plan for ");
        text_append_printable(&text, s->machine.title);
        text_append(&text, " with the policies of ");
        text_append_printable(&text, s->args->against);
        text_append(&text, "\n\n");
        plan_table_render(&pair->after.planned.report, width, &text);
        append_interrupts(&pair->irq_after, s->args->explain, width, &text);
        text_append(&text, "\nChanges:\n\n");
        plan_table_changes(changes, n, width, &text);
        return output_text(&text);
}

static int open_pair(const Situation *s, Pair *pair) {
        int r = case_open(s, NULL, NULL, &pair->before);

        if (r >= 0)
                r = case_open(s, s->args->against, &pair->before, &pair->after);
        if (r >= 0)
                r = note_no_irq(&pair->before);
        if (r >= 0)
                r = note_no_irq(&pair->after);
        if (r >= 0)
                r = plan_run_irq_build(&s->machine, &pair->before.policies.set,
                                       &pair->before.planned, &pair->irq_before);
        if (r >= 0)
                r = plan_run_irq_build(&s->machine, &pair->after.policies.set, &pair->after.planned,
                                       &pair->irq_after);
        return r;
}

static int plan_twice(const Situation *s) {
        _cleanup_free_ PlanChange *changes = NULL;
        _cleanup_(pair_done) Pair pair = { 0 };
        size_t n = 0;
        int r = open_pair(s, &pair);

        if (r >= 0)
                r = plan_run_compare(&pair.before.planned, &pair.after.planned, &changes, &n);
        if (r >= 0)
                r = s->args->json ? print_against_json(&pair, changes, n)
                                  : print_against(s, &pair, changes, n);
        return r < 0 ? r : exit_status(&pair.after);
}

int command_plan(const Args *args) {
        _cleanup_situation_ Situation situation = { .machine = MACHINE_NONE };
        int r;

        if (args->tiup_file)
                return command_plan_fleet(args);
        r = situation_open(args, &situation);
        if (r < 0)
                return r;
        return args->against ? plan_twice(&situation) : plan_once(&situation);
}
