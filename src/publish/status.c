#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/publish/status.h"

#define MEMBER(type, object, at) ((type *)((char *)(object) + (at)))
#define CONST_MEMBER(type, object, at) ((const type *)((const char *)(object) + (at)))

/* --- writing --- */

/* RFC 3339, UTC, whole seconds; the exact value is beside it as a number. */
static void put_time(Json *json, const char *key, double seconds) {
        char buffer[64];
        struct tm tm;
        time_t t;

        if (!(seconds >= 0 && seconds < 253402300800.0)) { /* year 10000 */
                json_put_null(json, key);
                return;
        }
        t = (time_t)seconds;
        json_put_string(
                json, key,
                gmtime_r(&t, &tm) && strftime(buffer, sizeof(buffer), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0
                        ? buffer
                        : NULL);
}

void status_put_node(Json *json, const Node *node) {
        json_put_count(json, "id", node->id);
        json_put_count_if(json, "package", node->package != PACKAGE_UNKNOWN, node->package);
        json_put_ids(json, "cpus", ID_VIEW(&node->cpus));
        json_put_count_if(json, "memory_bytes", !node->memory_unknown, node->memory_bytes);
}

static void put_topology(Json *json, const char *key, const Topology *t) {
        JSON_OBJECT(json, key)
                JSON_ARRAY(json, "nodes", i, t->n_nodes)
                        JSON_OBJECT(json, NULL) {
                                const Node *node = &t->nodes[i];

                                status_put_node(json, node);
                                if (!t->distances)
                                        json_put_null(json, "distances");
                                else
                                        JSON_ARRAY(json, "distances", k, t->n_nodes)
                                                json_put_count(json, NULL,
                                                               t->distances[i * t->n_nodes + k]);
                        }
}

void status_put_warnings(Json *json, const char *key, uint32_t warnings) {
        JSON_ARRAY(json, key, bit, N_PLACEMENT_WARNINGS)
                if (warnings & (1u << bit))
                        JSON_OBJECT(json, NULL) {
                                json_put_string(json, "rule", placement_warning_to_rule(1u << bit));
                                json_put_string(json, "text",
                                                placement_warning_to_string(1u << bit));
                        }
}

static void put_object(Json *json, const char *key, const FieldTable *table, const void *object);

static void put_field(Json *json, const Field *f, const void *object) {
        const void *at = CONST_MEMBER(char, object, f->offset);
        const size_t n = f->n_offset && f->kind != FIELD_REMEDY
                                 ? *CONST_MEMBER(size_t, object, f->n_offset)
                                 : 0;
        const Snapshot *snapshot = object; /* for FIELD_IN_FORCE */
        const uint64_t *counts = at;       /* for FIELD_COUNTS and FIELD_SUM */
        _cleanup_text_ Text text = { 0 };
        uint64_t sum = 0;

        switch (f->kind) {
        case FIELD_BOOL:
                return json_put_bool(json, f->key, *(const bool *)at);
        case FIELD_COUNT:
                return json_put_count(json, f->key, *(const uint64_t *)at);
        case FIELD_NUMBER:
                return json_put_number(json, f->key, *(const double *)at);
        case FIELD_STRING:
                return json_put_string(json, f->key, *(const char *const *)at);
        case FIELD_IDS:
                return json_put_ids(json, f->key, (IdView){ at, f->size / sizeof(uint64_t) });
        case FIELD_PID:
                return json_put_integer(json, f->key, *(const pid_t *)at);
        case FIELD_NODE:
                return json_put_count_if(json, f->key, *(const int32_t *)at >= 0,
                                         (uint64_t) * (const int32_t *)at);
        case FIELD_NODE_ID:
                return json_put_count(json, f->key, *(const uint32_t *)at);
        case FIELD_WORD:
                return json_put_string(json, f->key, f->to_string(*(const unsigned *)at));
        case FIELD_COUNTS:
                JSON_OBJECT(json, f->key)
                        for (unsigned k = 0; k < f->n_words; k++)
                                if (counts[k] > 0 || !(f->flags & FIELD_NOT_ZERO))
                                        json_put_count(json, f->to_string(k), counts[k]);
                return;
        case FIELD_SUM:
                for (size_t i = 0; i < f->size / sizeof(uint64_t); i++)
                        sum += counts[i];
                return json_put_count(json, f->key, sum);
        case FIELD_STRINGS:
                return json_put_strings(json, f->key, *(const char *const *const *)at, n);
        case FIELD_PORTS:
                JSON_ARRAY(json, f->key, i, n)
                        json_put_count(json, NULL, (*(const uint16_t *const *)at)[i]);
                return;
        case FIELD_OBJECT:
                return put_object(json, f->key, f->of, at);
        case FIELD_LIST:
                JSON_ARRAY(json, f->key, i, n)
                        put_object(json, NULL, f->of,
                                   *(const char *const *)at + i * f->of->struct_size);
                return;
        case FIELD_TIME:
                return put_time(json, f->key, *(const double *)at);
        case FIELD_REMEDY:
                reason_append_remedy(&text, *(const Reason *)at,
                                     *CONST_MEMBER(char *, object, f->n_offset));
                return json_put_string(json, f->key, text_string(&text));
        case FIELD_WARNINGS:
                return status_put_warnings(json, f->key, *(const uint32_t *)at);
        case FIELD_TOPOLOGY:
                return put_topology(json, f->key, *(const Topology *const *)at);
        case FIELD_IN_FORCE:
                return json_put_string(json, f->key,
                                       !snapshot->policy_in_force ? "none"
                                       : snapshot->policy_kept    ? "kept"
                                                                  : "loaded");
        }
}

static void put_object(Json *json, const char *key, const FieldTable *table, const void *object) {
        JSON_OBJECT(json, key)
                for (const Field *f = table->fields; f < table->fields + table->n_fields; f++) {
                        bool is_there = f->when_size == 0;

                        for (size_t i = 0; i < f->when_size; i++)
                                is_there |= *CONST_MEMBER(char, object, f->when + i) != 0;
                        if (f->key && is_there)
                                put_field(json, f, object);
                        else if (f->key && (f->flags & FIELD_ELSE_NULL))
                                json_put_null(json, f->key);
                }
}

void status_put_json(Json *json, const char *key, const json_t *value) {
        const char *member;
        json_t *of;

        switch (json_typeof(value)) {
        case JSON_OBJECT:
                json_open_object(json, key);
                json_object_foreach((json_t *)value, member, of) status_put_json(json, member, of);
                return json_close(json);
        case JSON_ARRAY:
                json_open_array(json, key);
                for (size_t i = 0; i < json_array_size(value); i++)
                        status_put_json(json, NULL, json_array_get(value, i));
                return json_close(json);
        case JSON_STRING:
                return json_put_string(json, key, json_string_value(value));
        case JSON_INTEGER:
                return json_put_integer(json, key, json_integer_value(value));
        case JSON_REAL:
                return json_put_number(json, key, json_real_value(value));
        case JSON_TRUE:
        case JSON_FALSE:
                return json_put_bool(json, key, json_is_true(value));
        case JSON_NULL:
                json_put_null(json, key);
        }
}

int status_render(const Snapshot *snapshot, Text *text) {
        Json json = { .text = text };

        text_reset(text);
        put_object(&json, NULL, &snapshot_fields, snapshot);
        return text->error;
}

/* --- reading --- */

static void free_lists(const FieldTable *table, void *object) {
        for (const Field *f = table->fields; f < table->fields + table->n_fields; f++) {
                void **list = MEMBER(void *, object, f->offset);

                if (f->kind == FIELD_OBJECT)
                        free_lists(f->of, list);
                if (f->kind == FIELD_LIST)
                        for (size_t i = 0; i < *MEMBER(size_t, object, f->n_offset); i++)
                                free_lists(f->of, (char *)*list + i * f->of->struct_size);
                if (f->kind == FIELD_LIST || f->kind == FIELD_STRINGS)
                        free(*list);
        }
}

void status_done(Snapshot *snapshot) {
        free_lists(&snapshot_fields, snapshot);
        json_decref(snapshot->read_from);
        *snapshot = (Snapshot){ 0 };
}

static uint64_t count_of(const json_t *value) {
        const json_int_t count = json_integer_value(value);

        return count > 0 ? (uint64_t)count : 0;
}

static int take_word(const Field *f, const json_t *value, unsigned *ret) {
        const char *word = json_string_value(value);

        *ret = f->missing;
        if (!word)
                return 0;
        for (unsigned k = 0; k < f->n_words; k++)
                if (strcmp(f->to_string(k), word) == 0) {
                        *ret = k;
                        return 1;
                }
        *ret = f->unknown;
        return 0;
}

/* By their sentences, for several have one rule. */
static uint32_t warnings_of(const json_t *array) {
        uint32_t warnings = 0;

        for (size_t i = 0; i < json_array_size(array); i++) {
                const char *text =
                        json_string_value(json_object_get(json_array_get(array, i), "text"));

                for (unsigned bit = 0; text && bit < N_PLACEMENT_WARNINGS; bit++)
                        if (strcmp(text, placement_warning_to_string(1u << bit)) == 0)
                                warnings |= 1u << bit;
        }
        return warnings;
}

static int take_object(const FieldTable *table, const json_t *json, void *object);

static int take_list(const Field *f, const json_t *array, void **ret, size_t *ret_n) {
        if (!json_is_array(array))
                return 0;
        *ret = calloc(json_array_size(array) + 1, f->of->struct_size);
        if (!*ret)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                int r = take_object(f->of, json_array_get(array, i),
                                    (char *)*ret + (*ret_n)++ * f->of->struct_size);

                if (r < 0)
                        return r;
        }
        return 1;
}

static int take_strings(const json_t *array, const char ***ret, size_t *ret_n) {
        *ret = calloc(json_array_size(array) + 1, sizeof(**ret));
        if (!*ret)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const char *string = json_string_value(json_array_get(array, i));

                if (string)
                        (*ret)[(*ret_n)++] = string;
        }
        return 1;
}

/* 1: it is there; 0: it is missing, or of another type. */
static int take_field(const Field *f, const json_t *value, void *object) {
        void *at = MEMBER(char, object, f->offset);
        const char *string = json_string_value(value);
        const uint64_t count = count_of(value);

        switch (f->kind) {
        case FIELD_BOOL:
                *(bool *)at = json_is_true(value) ||
                              ((f->flags & FIELD_OR_TRUE) && !json_is_false(value));
                return json_is_boolean(value);
        case FIELD_COUNT:
                *(uint64_t *)at = count;
                return json_is_integer(value);
        case FIELD_NUMBER:
                *(double *)at = json_is_number(value) ? json_number_value(value) : (double)NAN;
                return json_is_number(value);
        case FIELD_STRING:
                *(const char **)at = string || !(f->flags & FIELD_OR_EMPTY) ? string : "";
                return string != NULL;
        case FIELD_IDS:
                if (string &&
                    id_target_parse_list(string, (IdTarget){ at, f->size / sizeof(uint64_t) }) < 0)
                        return -EBADMSG;
                return string != NULL;
        case FIELD_PID:
                *(pid_t *)at = count <= INT_MAX ? (pid_t)count : 0;
                return *(pid_t *)at > 0;
        case FIELD_NODE:
                *(int32_t *)at =
                        json_is_integer(value) && count < NODE_SET_MAX ? (int32_t)count : -1;
                return json_is_integer(value);
        case FIELD_NODE_ID:
                *(uint32_t *)at = (uint32_t)count;
                return count < NODE_SET_MAX ? json_is_integer(value) : -EBADMSG;
        case FIELD_WORD:
                return take_word(f, value, at);
        case FIELD_COUNTS:
                for (unsigned k = 0; k < f->n_words; k++)
                        ((uint64_t *)at)[k] = count_of(json_object_get(value, f->to_string(k)));
                return json_is_object(value);
        case FIELD_STRINGS:
                return take_strings(value, at, MEMBER(size_t, object, f->n_offset));
        case FIELD_OBJECT:
                return take_object(f->of, value, at) ?: json_is_object(value);
        case FIELD_LIST:
                return take_list(f, value, at, MEMBER(size_t, object, f->n_offset));
        case FIELD_WARNINGS:
                *(uint32_t *)at = warnings_of(value);
                return json_is_array(value);
        case FIELD_IN_FORCE: {
                Snapshot *snapshot = object;

                snapshot->policy_in_force = !string || strcmp(string, "none") != 0;
                snapshot->policy_kept = string && strcmp(string, "kept") == 0;
                return string != NULL;
        }
        case FIELD_SUM:
        case FIELD_PORTS:
        case FIELD_TIME:
        case FIELD_REMEDY:
        case FIELD_TOPOLOGY:
                break;
        }
        return 0;
}

/* `json` may be NULL: all is missing then. */
static int take_object(const FieldTable *table, const json_t *json, void *object) {
        for (const Field *f = table->fields; f < table->fields + table->n_fields; f++) {
                int r = f->key ? take_field(f, json_object_get(json, f->key), object) : 0;

                if (r < 0)
                        return r;
                if (r == 0 && (f->flags & FIELD_REQUIRED))
                        return -EBADMSG;
                if (f->when_size == sizeof(bool) && f->kind != FIELD_BOOL)
                        *MEMBER(bool, object, f->when) |= r > 0;
        }
        return 0;
}

int status_parse(const char *text, size_t size, Snapshot *ret) {
        json_error_t error;
        _cleanup_status_ Snapshot snapshot = {
                .read_from = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error)
        };
        int r;

        if (!snapshot.read_from)
                return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
        r = take_object(&snapshot_fields, snapshot.read_from, &snapshot);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(snapshot);
        return 0;
}
