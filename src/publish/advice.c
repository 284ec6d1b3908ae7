/* Sizing advice as a table for the terminal, and as JSON. */
#include "tidbnumad/publish/advice.h"
#include "tidbnumad/base/utf8.h"
#include "tidbnumad/publish/advice-text.h"
#include "tidbnumad/publish/object.h"
#include "tidbnumad/publish/table.h"

static json_t *text_string(const Text *text) {
        return text->error < 0 ? NULL : json_stringn(text->data ? text->data : "", text->length);
}

/* Of what is not known where it is 0. */
static json_t *known(uint64_t value) {
        return value > 0 ? object_count(value) : json_null();
}

static json_t *names(const AdviceReport *report, const size_t *indexes, size_t n) {
        return OBJECT_ARRAY(i, n, object_string(report->subjects[indexes[i]].name));
}

static json_t *reason(const AdviceReport *report, const Advice *advice) {
        _cleanup_text_ Text text = { 0 };

        advice_text_append_reason(&text, report, advice);
        return text_string(&text);
}

static json_t *value_text(const Advice *advice) {
        _cleanup_text_ Text text = { 0 };

        advice_text_append_value(&text, advice);
        return text_string(&text);
}

static json_t *item(const AdviceReport *report, const Advice *advice) {
        return OBJECT_OF({ "rule", json_string(advice_rule_to_id(advice->rule)) },
                         { "setting", json_string(advice->setting) },
                         { "where", json_string(advice_where_to_string(advice->where)) },
                         { "unit", json_string(advice_unit_to_string(advice->unit)) },
                         { "value", advice->unit == ADVICE_TEXT ? json_null()
                                                                : object_count(advice->value) },
                         { "text", value_text(advice) },
                         { "takes_effect", json_string(advice_effect_to_string(advice->effect)) },
                         { "cost_bytes", known(advice->cost_bytes) },
                         { "reason", reason(report, advice) });
}

static json_t *inputs(const AdviceReport *report, const AdviceSubject *subject) {
        return OBJECT_OF(
                { "nodes", object_list(ID_VIEW(&subject->nodes)) },
                { "cpus", object_list(ID_VIEW(&subject->cpus)) },
                { "memory_mode", json_string(memory_mode_to_string(subject->memory)) },
                { "cpu_count", object_count(subject->n_cpus) },
                { "cpu_share", object_count(subject->cpu_share) },
                { "memory_bytes", known(subject->memory_bytes) },
                { "memory_share_bytes", known(subject->memory_share_bytes) },
                { "shares_nodes_with", names(report, subject->sharers, subject->n_sharers) },
                { "device", object_string(subject->device) },
                { "shares_device_with",
                  names(report, subject->device_sharers, subject->n_device_sharers) },
                { "resident_bytes", known(subject->resident_bytes) },
                { "running", json_boolean(subject->running) },
                { "gomaxprocs", known(subject->gomaxprocs) },
                { "card", object_string(subject->card) });
}

static json_t *instance(const AdviceReport *report, size_t index) {
        const AdviceSubject *subject = &report->subjects[index];

        return OBJECT_OF(
                { "name", object_string(subject->name) },
                { "product", json_string(advice_product_to_string(subject->product)) },
                { "ports", OBJECT_ARRAY(i, subject->n_ports, json_integer(subject->ports[i])) },
                { "unplaced", json_string(subject->unplaced) },
                { "inputs", inputs(report, subject) },
                { "advice", OBJECT_ARRAY_IF(i, report->n_items, report->items[i].subject == index,
                                            item(report, &report->items[i])) });
}

int advice_render_json(const AdviceReport *report, char **ret_json) {
        return object_render(OBJECT_OF({ "instances", OBJECT_ARRAY(i, report->n_subjects,
                                                                   instance(report, i)) }),
                             ret_json);
}

/* --- the table --- */

static void append_rows(Text *text, const AdviceReport *report, unsigned width) {
        static const char *const headings[] = { "INSTANCE", "SETTING", "VALUE", "RULE", "REASON" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < report->n_items; i++) {
                const Advice *advice = &report->items[i];

                table_add(&table, report->subjects[advice->subject].name);
                table_add(&table, advice->setting);
                advice_text_append_value(&cell, advice);
                table_add_text(&table, &cell);
                table_add(&table, advice_rule_to_id(advice->rule));
                advice_text_append_reason(&cell, report, advice);
                table_add_text(&table, &cell);
        }
        table_render(&table, width, text);
}

static void append_memory_note(Text *text, const AdviceReport *report) {
        _cleanup_text_ Text names = { 0 };

        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *subject = &report->subjects[i];

                if (subject->unplaced[0] != '\0' || subject->memory_bytes > 0 ||
                    !advice_product_is_heavy(subject->product))
                        continue;
                text_append(&names, names.length > 0 ? ", " : "");
                text_append_printable(&names, subject->name);
        }
        if (names.length == 0)
                return;
        text_append(&names, ": no advice on memory: the size of the nodes' memory is unknown");
        if (names.error < 0)
                text->error = names.error;
        else
                text_appendf(text, "%s\n", names.data);
}

/* PD and JVMs would get none either way. */
static bool would_get_advice(const AdviceSubject *subject) {
        return advice_product_is_heavy(subject->product) || subject->product == PRODUCT_HAPROXY;
}

int advice_render_table(const AdviceReport *report, unsigned width, Text *text) {
        text_reset(text);
        if (report->n_items > 0)
                append_rows(text, report, width);
        else
                text_append(text, "No advice: no TiDB, TiKV or HAProxy instance has a place.\n");
        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *subject = &report->subjects[i];

                if (subject->unplaced[0] == '\0' || !would_get_advice(subject))
                        continue;
                text_append_printable(text, subject->name);
                text_appendf(text, ": no advice: %s\n", subject->unplaced);
        }
        append_memory_note(text, report);
        return text->error;
}
