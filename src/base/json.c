#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/json.h"

/* --- structure --- */

#define BLANKS "                                                                "

/* A comma behind a value that is there, and the next line. */
static void append_line(Json *json, bool comma) {
        static const char line[] = ",\n" BLANKS BLANKS;

        text_append_bytes(json->text, line + !comma, comma + 1 + 2 * (size_t)json->depth);
}

/* In few calls: a large status has ten thousands of values. */
static void begin_value(Json *json, const char *key) {
        const size_t n = key ? strlen(key) : 0;
        char name[64 + 4];

        if (json->depth > 0)
                append_line(json, json->any);
        json->any = true;
        if (!key)
                return;
        if (n + 4 > sizeof(name)) {
                text_appendf(json->text, "\"%s\": ", key);
                return;
        }
        name[0] = '"';
        memcpy(name + 1, key, n);
        memcpy(name + 1 + n, "\": ", 3);
        text_append_bytes(json->text, name, n + 4);
}

static void put_word(Json *json, const char *key, const char *word) {
        begin_value(json, key);
        text_append(json->text, word);
}

static void open_value(Json *json, const char *key, bool array) {
        put_word(json, key, array ? "[" : "{");
        json->arrays = (json->arrays & ~(UINT64_C(1) << json->depth)) | (uint64_t)array
                                                                                << json->depth;
        json->depth++;
        json->any = false;
}

void json_open_object(Json *json, const char *key) {
        open_value(json, key, false);
}

void json_open_array(Json *json, const char *key) {
        open_value(json, key, true);
}

void json_close(Json *json) {
        json->depth--;
        if (json->any)
                append_line(json, false);
        text_append(json->text, json->arrays >> json->depth & 1 ? "]" : "}");
        text_append(json->text, json->depth == 0 ? "\n" : "");
        json->any = true;
}

/* --- values --- */

void json_put_null(Json *json, const char *key) {
        put_word(json, key, "null");
}

void json_put_bool(Json *json, const char *key, bool value) {
        put_word(json, key, value ? "true" : "false");
}

/* Most of a large status are numbers: this takes a quarter of the time of a format. */
void json_put_count(Json *json, const char *key, uint64_t value) {
        char digits[20], *at = digits + sizeof(digits);

        if (value > INT64_MAX)
                value = INT64_MAX;
        do
                *--at = (char)('0' + value % 10);
        while (value /= 10);
        begin_value(json, key);
        text_append_bytes(json->text, at, (size_t)(digits + sizeof(digits) - at));
}

void json_put_bool_if(Json *json, const char *key, bool known, bool value) {
        if (known)
                json_put_bool(json, key, value);
        else
                json_put_null(json, key);
}

void json_put_count_if(Json *json, const char *key, bool known, uint64_t value) {
        if (known)
                json_put_count(json, key, value);
        else
                json_put_null(json, key);
}

void json_put_integer(Json *json, const char *key, int64_t value) {
        begin_value(json, key);
        text_appendf(json->text, "%" PRId64, value);
}

void json_put_number(Json *json, const char *key, double value) {
        char number[40], *exponent;
        int n;

        if (!isfinite(value)) {
                json_put_null(json, key);
                return;
        }
        n = snprintf(number, sizeof(number), "%.16g", value);
        for (int i = 0; i < n; i++) /* the decimal point of a locale */
                if (!strchr("+-0123456789e", number[i]))
                        number[i] = '.';
        exponent = strchr(number, 'e');
        if (exponent) /* "1e+20" and "1e-07" are 1e20 and 1e-7 */
                (void)snprintf(exponent + 1, 8, "%ld", strtol(exponent + 1, NULL, 10));
        put_word(json, key, number);
        if (!exponent && !strchr(number, '.')) /* else a reader takes it for an integer */
                text_append(json->text, ".0");
}

/* --- strings --- */

/* How much of it needs no escape. */
static size_t plain_length(const char *string, size_t length) {
        size_t n = 0;

        while (n < length && string[n] >= 0x20 && string[n] < 0x7f && string[n] != '"' &&
               string[n] != '\\')
                n++;
        return n;
}

static void put_bytes(Json *json, const char *key, const char *value, size_t length) {
        _cleanup_text_ Text well_formed = { 0 };
        size_t done = plain_length(value, length);

        put_word(json, key, "\"");
        text_append_bytes(json->text, value, done);
        if (done < length)
                utf8_sanitize(&well_formed, value + done, length - done);
        if (well_formed.error < 0)
                json->text->error = well_formed.error;
        for (size_t i = 0, n; i < well_formed.length; i += n) {
                const char *at = well_formed.data + i;

                n = plain_length(at, well_formed.length - i);
                text_append_bytes(json->text, at, n);
                if (n == 0) {
                        uint32_t c = utf8_decode(at, &n);
                        static const char letters[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
                        const char *letter = c > 0 && c < 0x7f ? strchr(letters, (int)c) : NULL;

                        if (letter)
                                text_appendf(json->text, "\\%c", names[letter - letters]);
                        else if (c == 0x7f)
                                text_append(json->text, "\\u007f");
                        else if (c < 0x10000)
                                text_appendf(json->text, "\\u%04" PRIX32, c);
                        else
                                text_appendf(json->text, "\\u%04" PRIX32 "\\u%04" PRIX32,
                                             0xd800 + ((c - 0x10000) >> 10),
                                             0xdc00 + ((c - 0x10000) & 0x3ff));
                }
        }
        text_append(json->text, "\"");
}

void json_put_string(Json *json, const char *key, const char *value) {
        if (value)
                put_bytes(json, key, value, strlen(value));
        else
                json_put_null(json, key);
}

void json_put_strings(Json *json, const char *key, const char *const *values, size_t n) {
        JSON_ARRAY(json, key, i, n)
                json_put_string(json, NULL, values[i]);
}

void json_put_text(Json *json, const char *key, const Text *value) {
        put_bytes(json, key, text_string(value), value->length);
        if (value->error < 0)
                json->text->error = value->error;
}

void json_put_ids(Json *json, const char *key, IdView ids) {
        char list[ID_SET_LIST_ANY];

        json_put_string(json, key, id_view_render_list(ids, list, sizeof(list)) < 0 ? NULL : list);
}

void json_put_ids_if(Json *json, const char *key, bool known, IdView ids) {
        if (known)
                json_put_ids(json, key, ids);
        else
                json_put_null(json, key);
}
