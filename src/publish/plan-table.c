#include <inttypes.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/plan-table.h"
#include "tidbnumad/publish/plan-words.h"
#include "tidbnumad/publish/table.h"

static void add_instance(Table *table, const PlanReportInstance *i, Text *cell) {
        bool placed = plan_report_places(i);

        table_add(table, i->name);
        table_add(table, i->policy->name);
        plan_words_add_set(table, ID_VIEW(&i->placement->nodes));
        plan_words_add_set(table, ID_VIEW(&i->placement->cpus));
        table_add(table, placed ? memory_mode_to_string(i->placement->memory) : "-");
        plan_words_why(i, cell);
        table_add_text(table, cell);
}

static void render_instances(const PlanReport *report, unsigned width, Text *text) {
        static const char *const headings[] = { "INSTANCE", "POLICY", "NODES",
                                                "CPUS",     "MEMORY", "WHY" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < report->n_instances; i++)
                add_instance(&table, &report->instances[i], &cell);
        table_render(&table, width, text);
}

/* `node` DEVICE_NODE_UNKNOWN: those whose node the firmware does not report. */
static void append_devices(const PlanReport *report, int32_t node, Text *cell) {
        for (size_t i = 0; report->devices && i < report->devices->n_devices; i++) {
                const Device *device = &report->devices->devices[i];

                if (device->node == node)
                        text_appendf(cell, "%s%s", cell->length > 0 ? " " : "", device->name);
        }
}

static void append_inhabitants(const PlanReport *report, uint32_t node, Text *cell) {
        for (size_t i = 0; i < report->n_instances; i++)
                if (id_set_has(&report->instances[i].placement->nodes, node))
                        text_appendf(cell, "%s%s", cell->length > 0 ? " " : "",
                                     report->instances[i].name);
}

static void add_reserved_cpus(const PlanReport *report, const Node *node, Table *table) {
        _cleanup_text_ Text text = { 0 };
        CpuSet cpus = node->cpus;

        id_set_intersect(&cpus, &report->reserved_cpus);
        text_append(&text, "CPUs ");
        plan_words_set(ID_VIEW(&cpus), &text);
        text_append(&text, " reserved");
        table_add_text(table, &text);
}

static void add_node(Table *table, const PlanReport *report, size_t index, Text *cell) {
        const Node *node = &report->topology->nodes[index];

        table_addf(table, "%" PRIu32, node->id);
        if (node->package == PACKAGE_UNKNOWN)
                table_add(table, "?");
        else
                table_addf(table, "%" PRIu32, node->package);
        plan_words_add_set(table, ID_VIEW(&node->cpus));
        if (node->memory_unknown)
                table_add(table, "?");
        else
                plan_words_add_bytes(table, node->memory_bytes);
        if (report->free_bytes)
                plan_words_add_bytes(table, report->free_bytes[index]);
        else
                table_add(table, "-");
        if (id_set_has(&report->reserved, node->id))
                table_add(table, "reserved");
        else if (id_set_intersects(&report->reserved_cpus, &node->cpus))
                add_reserved_cpus(report, node, table);
        else if (topology_is_home(node))
                table_add(table, "");
        else
                table_addf(table, "no home: %s", topology_why_no_home(node));
        append_devices(report, (int32_t)node->id, cell);
        table_add_text(table, cell);
        append_inhabitants(report, node->id, cell);
        table_add_text(table, cell);
}

static void add_unknown_devices(Table *table, const PlanReport *report, Text *cell) {
        append_devices(report, DEVICE_NODE_UNKNOWN, cell);
        if (cell->length == 0)
                return;
        table_add(table, "?");
        for (unsigned i = 0; i < 5; i++)
                table_add(table, "");
        table_add_text(table, cell);
        table_add(table, "");
}

static void render_nodes(const PlanReport *report, unsigned width, Text *text) {
        static const char *const headings[] = { "NODE", "SOCKET", "CPUS",    "MEMORY",
                                                "FREE", "USE",    "DEVICES", "INSTANCES" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < report->topology->n_nodes; i++)
                add_node(&table, report, i, &cell);
        add_unknown_devices(&table, report, &cell);
        table_render(&table, width, text);
}

/* One line for all instances that it is true of. */
static void render_warning(const PlanReport *report, PlacementWarning warning, Text *text) {
        const char *rule = placement_warning_to_rule(warning);
        bool any = false;

        for (size_t i = 0; i < report->n_instances; i++) {
                if (!(report->instances[i].warnings & warning))
                        continue;
                text_append(text, any ? ", " : "warning: ");
                text_append_printable(text, report->instances[i].name);
                any = true;
        }
        if (any)
                text_appendf(text, ": %s%s%s%s\n", placement_warning_to_string(warning),
                             *rule ? " (" : "", rule, *rule ? ")" : "");
}

/* Only what changes with a binding: the kernel fits it to the nodes, and not back. */
static void render_memory_policy(const PlanReportInstance *i, Text *text) {
        if (!i->memory_policy || i->placement->memory != MEMORY_BIND ||
            id_set_is_empty(&i->placement->nodes))
                return;
        text_append(text, "warning: ");
        text_append_printable(text, i->name);
        text_append(text, ": it has its own memory policy, ");
        text_append_printable(text, i->memory_policy);
        text_append(text, " (numactl?), which the kernel changes when memory is bound: a release "
                          "cannot restore it; restart it without\n");
}

static void render_affinity(const PlanReportInstance *i, Text *text) {
        if (!i->bound_by_reason || id_set_is_empty(&i->placement->nodes))
                return;
        text_append(text, "note: ");
        text_append_printable(text, i->name);
        text_append(text, " is bound by affinity, so its memory is moved but not bound: ");
        text_append_printable(text, i->bound_by_reason);
        text_append(text, "\n");
}

static void render_remarks(const PlanReport *report, Text *text) {
        size_t before = text->length;

        text_append(text, "\n");
        for (unsigned bit = 0; bit < N_PLACEMENT_WARNINGS; bit++)
                render_warning(report, 1u << bit, text);
        for (size_t i = 0; i < report->n_instances; i++)
                render_memory_policy(&report->instances[i], text);
        for (size_t i = 0; i < report->n_instances; i++)
                render_affinity(&report->instances[i], text);
        for (size_t i = 0; i < report->n_notes; i++) {
                text_append(text, "note: ");
                text_append_printable(text, report->notes[i]);
                text_append(text, "\n");
        }
        if (text->error == 0 && text->length == before + 1) { /* there were none */
                text->length = before;
                text->data[before] = '\0';
        }
}

void plan_table_render(const PlanReport *report, unsigned width, Text *text) {
        if (report->n_instances > 0) {
                render_instances(report, width, text);
                text_append(text, "\n");
        }
        render_nodes(report, width, text);
        render_remarks(report, text);
}

void plan_table_alternatives(const PlanReportInstance *i, Text *text) {
        for (size_t k = 0; k < i->n_alternatives; k++) {
                text_append(text, "  ");
                plan_words_alternative(&i->alternatives[k], text);
                text_append(text, "\n");
        }
        if (i->n_feasible > i->n_alternatives + 1 && i->n_alternatives > 0)
                text_appendf(text, "  … and %zu more\n", i->n_feasible - i->n_alternatives - 1);
}

static void explain_instance(const PlanReportInstance *i, Text *text) {
        text_append_printable(text, i->name);
        if (!plan_report_places(i))
                text_append(text, " is not placed");
        else {
                text_append(text, " on ");
                plan_words_nodes(&i->placement->nodes, text);
        }
        text_append(text, ": ");
        plan_words_why(i, text);
        text_append(text, "\n");
        plan_table_alternatives(i, text);
}

void plan_table_criteria(const PlanReportInstance *instances, size_t n_instances, Text *text) {
        bool shown[N_CRITERIA] = { false };
        bool any = false;

        for (size_t i = 0; i < n_instances; i++)
                for (size_t k = 0; k < instances[i].n_alternatives; k++)
                        shown[instances[i].alternatives[k].criterion] = any = true;
        if (any)
                text_append(
                        text,
                        "\n"
                        "Each number is a sum over the whole plan, with the instance on those "
                        "nodes and as planned. Lower is better; the first difference decides:\n");
        for (unsigned c = 0; c < N_CRITERIA; c++)
                if (shown[c])
                        text_appendf(text, "  %-10s %s\n", placement_criterion_to_string(c),
                                     plan_words_criterion(c));
}

void plan_table_explain(const PlanReport *report, Text *text) {
        for (size_t i = 0; i < report->n_instances; i++)
                explain_instance(&report->instances[i], text);
        plan_table_criteria(report->instances, report->n_instances, text);
}

static void add_change(Table *table, const PlanChange *c, Text *cell) {
        const PlanReportInstance *after = c->after;

        table_add(table, c->name);
        plan_words_add_set(table, ID_VIEW(&c->from));
        plan_words_add_set(table, ID_VIEW(&c->to));
        if (after && after->cost_known && !id_set_is_empty(&c->to))
                plan_words_add_bytes(table, after->cost_bytes);
        else
                table_add(table,
                          after && after->pid > 0 && !id_set_is_empty(&c->to) ? "unknown" : "-");
        if (after)
                plan_words_why(after, cell);
        else
                text_append(cell, "no policy matches it any more");
        table_add_text(table, cell);
}

void plan_table_changes(const PlanChange *changes, size_t n_changes, unsigned width, Text *text) {
        static const char *const headings[] = { "INSTANCE", "FROM", "TO", "TO MOVE", "WHY" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table = { 0 };

        if (n_changes == 0) {
                text_append(text, "Nothing changes.\n");
                return;
        }
        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < n_changes; i++)
                add_change(&table, &changes[i], &cell);
        table_render(&table, width, text);
}
