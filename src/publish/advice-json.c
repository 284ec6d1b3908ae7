/* Sizing advice as JSON. A NULL among the values is a lack of memory, and json_pack() hands it on.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "tidbnumad/publish/advice-text.h"
#include "tidbnumad/publish/advice.h"
#include "tidbnumad/publish/utf8.h"

/* An object being filled; `failed` once anything could not be had. */
typedef struct Object {
        json_t *json;
        bool failed;
} Object;

static Object object_new(void) {
        json_t *json = json_object();

        return (Object){ .json = json, .failed = !json };
}

/* Takes over `value`. */
static void set(Object *object, const char *key, json_t *value) {
        if (json_object_set_new(object->json, key, value) < 0)
                object->failed = true;
}

static json_t *finish(Object *object) {
        if (!object->failed)
                return object->json;
        json_decref(object->json);
        return NULL;
}

/* Takes over both. */
static json_t *append(json_t *array, json_t *value) {
        if (array && json_array_append_new(array, value) == 0)
                return array;
        if (!array)
                json_decref(value);
        json_decref(array);
        return NULL;
}

static json_t *text_string(const Text *text) {
        return text->error < 0 ? NULL : json_stringn(text->data ? text->data : "", text->length);
}

static json_t *string(const char *value) {
        _cleanup_text_ Text text = { 0 };

        if (!value)
                return json_null();
        utf8_sanitize(&text, value, strlen(value));
        return text_string(&text);
}

static json_t *count(uint64_t value) {
        return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* Of what is not known where it is 0. */
static json_t *known(uint64_t value) {
        return value > 0 ? count(value) : json_null();
}

static json_t *list(const IdSet *ids) {
        char buffer[ID_SET_MAX * 5]; /* four digits and a comma each: any set fits */

        return id_set_render_list(ids, buffer, sizeof(buffer)) < 0 ? json_null() : string(buffer);
}

static json_t *names(const AdviceReport *report, const size_t *indexes, size_t n) {
        json_t *array = json_array();

        for (size_t i = 0; i < n && array; i++)
                array = append(array, string(report->subjects[indexes[i]].name));
        return array;
}

static json_t *ports(const AdviceSubject *subject) {
        json_t *array = json_array();

        for (size_t i = 0; i < subject->n_ports && array; i++)
                array = append(array, json_integer(subject->ports[i]));
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

        set(&o, "rule", json_string(advice_rule_to_id(advice->rule)));
        set(&o, "setting", json_string(advice->setting));
        set(&o, "where", json_string(advice_where_to_string(advice->where)));
        set(&o, "unit", json_string(advice_unit_to_string(advice->unit)));
        set(&o, "value", count(advice->value));
        set(&o, "text", value_text(advice));
        set(&o, "takes_effect", json_string(advice_effect_to_string(advice->effect)));
        set(&o, "cost_bytes", known(advice->cost_bytes));
        set(&o, "reason", reason(report, advice));
        return finish(&o);
}

static json_t *items(const AdviceReport *report, size_t subject) {
        json_t *array = json_array();

        for (size_t i = 0; i < report->n_items && array; i++)
                if (report->items[i].subject == subject)
                        array = append(array, item(report, &report->items[i]));
        return array;
}

static json_t *inputs(const AdviceReport *report, const AdviceSubject *subject) {
        Object o = object_new();

        set(&o, "nodes", list(&subject->nodes));
        set(&o, "cpus", list(&subject->cpus));
        set(&o, "memory_mode", json_string(memory_mode_to_string(subject->memory)));
        set(&o, "cpu_count", count(subject->n_cpus));
        set(&o, "cpu_share", count(subject->cpu_share));
        set(&o, "memory_bytes", count(subject->memory_bytes));
        set(&o, "memory_share_bytes", count(subject->memory_share_bytes));
        set(&o, "shares_nodes_with", names(report, subject->sharers, subject->n_sharers));
        set(&o, "device", string(subject->device));
        set(&o, "shares_device_with",
            names(report, subject->device_sharers, subject->n_device_sharers));
        set(&o, "resident_bytes", known(subject->resident_bytes));
        set(&o, "running", json_boolean(subject->running));
        set(&o, "gomaxprocs", known(subject->gomaxprocs));
        return finish(&o);
}

static json_t *instance(const AdviceReport *report, size_t index) {
        const AdviceSubject *subject = &report->subjects[index];
        Object o = object_new();

        set(&o, "name", string(subject->name));
        set(&o, "product", json_string(advice_product_to_string(subject->product)));
        set(&o, "ports", ports(subject));
        set(&o, "unplaced", json_string(subject->unplaced));
        set(&o, "inputs", inputs(report, subject));
        set(&o, "advice", items(report, index));
        return finish(&o);
}

static json_t *whole(const AdviceReport *report) {
        json_t *array = json_array();
        Object o = object_new();

        for (size_t i = 0; i < report->n_subjects && array; i++)
                array = append(array, instance(report, i));
        set(&o, "instances", array);
        return finish(&o);
}

int advice_render_json(const AdviceReport *report, char **ret_json) {
        const size_t flags = JSON_INDENT(2);
        json_t *json = whole(report);
        size_t length = json ? json_dumpb(json, NULL, 0, flags) : 0;
        char *text = length > 0 ? malloc(length + 2) : NULL;

        if (text) {
                (void)json_dumpb(json, text, length, flags);
                memcpy(text + length, "\n", 2);
        }
        json_decref(json);
        if (!text)
                return -ENOMEM;
        *ret_json = text;
        return 0;
}
