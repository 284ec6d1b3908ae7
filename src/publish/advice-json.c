/* Sizing advice as JSON. */
#include "tidbnumad/publish/advice-text.h"
#include "tidbnumad/publish/advice.h"

/* Of what is not known where it is 0. */
static void put_known(Json *json, const char *key, uint64_t value) {
        json_put_count_if(json, key, value > 0, value);
}

static void put_names(Json *json, const char *key, const AdviceReport *report,
                      const size_t *indexes, size_t n) {
        JSON_ARRAY(json, key, i, n)
                json_put_string(json, NULL, report->subjects[indexes[i]].name);
}

static void put_item(Json *json, const AdviceReport *report, const Advice *advice) {
        _cleanup_text_ Text value = { 0 }, reason = { 0 };

        advice_text_append_value(&value, advice);
        advice_text_append_reason(&reason, report, advice);
        JSON_OBJECT(json, NULL) {
                json_put_string(json, "rule", advice_rule_to_id(advice->rule));
                json_put_string(json, "setting", advice->setting);
                json_put_string(json, "where", advice_where_to_string(advice->where));
                json_put_string(json, "unit", advice_unit_to_string(advice->unit));
                json_put_count_if(json, "value", advice->unit != ADVICE_TEXT, advice->value);
                json_put_text(json, "text", &value);
                json_put_string(json, "takes_effect", advice_effect_to_string(advice->effect));
                put_known(json, "cost_bytes", advice->cost_bytes);
                json_put_text(json, "reason", &reason);
        }
}

static void put_inputs(Json *json, const AdviceReport *report, const AdviceSubject *s) {
        JSON_OBJECT(json, "inputs") {
                json_put_ids(json, "nodes", ID_VIEW(&s->nodes));
                json_put_ids(json, "cpus", ID_VIEW(&s->cpus));
                json_put_string(json, "memory_mode", memory_mode_to_string(s->memory));
                json_put_count(json, "cpu_count", s->n_cpus);
                json_put_count(json, "cpu_share", s->cpu_share);
                put_known(json, "memory_bytes", s->memory_bytes);
                put_known(json, "memory_share_bytes", s->memory_share_bytes);
                put_names(json, "shares_nodes_with", report, s->sharers, s->n_sharers);
                json_put_string(json, "device", s->device);
                put_names(json, "shares_device_with", report, s->device_sharers,
                          s->n_device_sharers);
                put_known(json, "resident_bytes", s->resident_bytes);
                json_put_bool(json, "running", s->running);
                put_known(json, "gomaxprocs", s->gomaxprocs);
                json_put_string(json, "card", s->card);
        }
}

int advice_render_json(const AdviceReport *report, Text *text) {
        Json json = { .text = text };

        text_reset(text);
        JSON_OBJECT(&json, NULL)
                JSON_ARRAY(&json, "instances", i, report->n_subjects)
                        JSON_OBJECT(&json, NULL) {
                                const AdviceSubject *subject = &report->subjects[i];

                                json_put_string(&json, "name", subject->name);
                                json_put_string(&json, "product",
                                                advice_product_to_string(subject->product));
                                JSON_ARRAY(&json, "ports", k, subject->n_ports)
                                        json_put_count(&json, NULL, subject->ports[k]);
                                json_put_string(&json, "unplaced", subject->unplaced);
                                put_inputs(&json, report, subject);
                                JSON_ARRAY(&json, "advice", k, report->n_items)
                                        if (report->items[k].subject == i)
                                                put_item(&json, report, &report->items[k]);
                        }
        return text->error;
}
