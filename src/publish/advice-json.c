/* Sizing advice as JSON. */
#include "tidbnumad/publish/advice-text.h"
#include "tidbnumad/publish/advice.h"
#include "tidbnumad/publish/object.h"

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
