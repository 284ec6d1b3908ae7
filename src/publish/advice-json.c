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
        json_t *array = json_array();

        for (size_t i = 0; i < n && array; i++)
                array = object_append(array, object_string(report->subjects[indexes[i]].name));
        return array;
}

static json_t *ports(const AdviceSubject *subject) {
        json_t *array = json_array();

        for (size_t i = 0; i < subject->n_ports && array; i++)
                array = object_append(array, json_integer(subject->ports[i]));
        return array;
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
        Object o = object_new();

        object_set(&o, "rule", json_string(advice_rule_to_id(advice->rule)));
        object_set(&o, "setting", json_string(advice->setting));
        object_set(&o, "where", json_string(advice_where_to_string(advice->where)));
        object_set(&o, "unit", json_string(advice_unit_to_string(advice->unit)));
        object_set(&o, "value",
                   advice->unit == ADVICE_TEXT ? json_null() : object_count(advice->value));
        object_set(&o, "text", value_text(advice));
        object_set(&o, "takes_effect", json_string(advice_effect_to_string(advice->effect)));
        object_set(&o, "cost_bytes", known(advice->cost_bytes));
        object_set(&o, "reason", reason(report, advice));
        return object_finish(&o);
}

static json_t *items(const AdviceReport *report, size_t subject) {
        json_t *array = json_array();

        for (size_t i = 0; i < report->n_items && array; i++)
                if (report->items[i].subject == subject)
                        array = object_append(array, item(report, &report->items[i]));
        return array;
}

static json_t *inputs(const AdviceReport *report, const AdviceSubject *subject) {
        Object o = object_new();

        object_set(&o, "nodes", object_list(ID_VIEW(&subject->nodes)));
        object_set(&o, "cpus", object_list(ID_VIEW(&subject->cpus)));
        object_set(&o, "memory_mode", json_string(memory_mode_to_string(subject->memory)));
        object_set(&o, "cpu_count", object_count(subject->n_cpus));
        object_set(&o, "cpu_share", object_count(subject->cpu_share));
        object_set(&o, "memory_bytes", known(subject->memory_bytes));
        object_set(&o, "memory_share_bytes", known(subject->memory_share_bytes));
        object_set(&o, "shares_nodes_with", names(report, subject->sharers, subject->n_sharers));
        object_set(&o, "device", object_string(subject->device));
        object_set(&o, "shares_device_with",
                   names(report, subject->device_sharers, subject->n_device_sharers));
        object_set(&o, "resident_bytes", known(subject->resident_bytes));
        object_set(&o, "running", json_boolean(subject->running));
        object_set(&o, "gomaxprocs", known(subject->gomaxprocs));
        object_set(&o, "card", object_string(subject->card));
        return object_finish(&o);
}

static json_t *instance(const AdviceReport *report, size_t index) {
        const AdviceSubject *subject = &report->subjects[index];
        Object o = object_new();

        object_set(&o, "name", object_string(subject->name));
        object_set(&o, "product", json_string(advice_product_to_string(subject->product)));
        object_set(&o, "ports", ports(subject));
        object_set(&o, "unplaced", json_string(subject->unplaced));
        object_set(&o, "inputs", inputs(report, subject));
        object_set(&o, "advice", items(report, index));
        return object_finish(&o);
}

static json_t *whole(const AdviceReport *report) {
        json_t *array = json_array();
        Object o = object_new();

        for (size_t i = 0; i < report->n_subjects && array; i++)
                array = object_append(array, instance(report, i));
        object_set(&o, "instances", array);
        return object_finish(&o);
}

int advice_render_json(const AdviceReport *report, char **ret_json) {
        return object_render(whole(report), ret_json);
}
