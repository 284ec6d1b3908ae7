#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/object.h"

json_t *object_set(json_t *object, const char *key, json_t *value) {
        if (json_object_set_new_nocheck(object, key, value) == 0)
                return object;
        json_decref(object);
        return NULL;
}

json_t *object_of(const ObjectField *fields, size_t n) {
        json_t *object = json_object();

        for (size_t i = 0; i < n; i++)
                if (fields[i].key)
                        object = object_set(object, fields[i].key, fields[i].value);
                else
                        json_decref(fields[i].value);
        return object;
}

json_t *object_append(json_t *array, json_t *value) {
        if (json_array_append_new(array, value) == 0)
                return array;
        json_decref(array);
        return NULL;
}

/* Printable ASCII, as nearly all of them are. */
static bool is_plain(const char *value) {
        for (; *value; value++)
                if (*value < 0x20 || *value > 0x7e)
                        return false;
        return true;
}

json_t *object_string(const char *value) {
        _cleanup_text_ Text text = { 0 };

        if (!value)
                return json_null();
        if (is_plain(value))
                return json_string_nocheck(value);
        utf8_sanitize(&text, value, strlen(value));
        if (text.error < 0)
                return NULL;
        return json_stringn(text.data ? text.data : "", text.length);
}

json_t *object_count(uint64_t value) {
        return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *object_known(bool known, uint64_t value) {
        return known ? object_count(value) : json_null();
}

json_t *object_number(double value) {
        return isfinite(value) ? json_real(value) : json_null();
}

json_t *object_list(IdView ids) {
        char buffer[ID_SET_LIST_ANY];

        return id_view_render_list(ids, buffer, sizeof(buffer)) < 0 ? json_null()
                                                                    : object_string(buffer);
}

json_t *object_strings(const char *const *values, size_t n) {
        return OBJECT_ARRAY(i, n, object_string(values[i]));
}

/* jansson escapes the other control characters itself. DEL is in no JSON but in a string. */
static char *escape_del(char *json) {
        _cleanup_free_ char *plain = json;
        _cleanup_text_ Text text = { 0 };

        if (!json || !strchr(json, '\x7f'))
                return TAKE_PTR(plain);
        for (const char *p = json; *p; p += *p == '\x7f') {
                size_t run = strcspn(p, "\x7f");

                text_append_bytes(&text, p, run);
                p += run;
                text_append(&text, *p ? "\\u007f" : "");
        }
        return text.error < 0 ? NULL : TAKE_PTR(text.data);
}

static int append(const char *bytes, size_t size, void *userdata) {
        Text *text = userdata;

        text_append_bytes(text, bytes, size);
        return text->error;
}

int object_render(json_t *json, char **ret) {
        /* 16 digits: microseconds of a time since the epoch survive, 0.1 stays 0.1. */
        const size_t flags =
                JSON_INDENT(2) | JSON_REAL_PRECISION(16) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY;
        _cleanup_text_ Text text = { 0 };
        char *escaped;

        if (!json)
                return -ENOMEM;
        if (json_dump_callback(json, append, &text, flags) < 0)
                text.error = -ENOMEM;
        json_decref(json);
        text_append(&text, "\n");
        if (text.error < 0)
                return -ENOMEM;
        escaped = escape_del(TAKE_PTR(text.data));
        if (!escaped)
                return -ENOMEM;
        *ret = escaped;
        return 0;
}
