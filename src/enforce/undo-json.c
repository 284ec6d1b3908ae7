#include <errno.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/enforce/undo-json.h"

/* --- to JSON --- */

void undo_json_append(json_t **list, json_t *item) {
        if (json_array_append_new(*list, item) < 0) {
                json_decref(*list);
                *list = NULL;
        }
}

/* Paths and names are bytes, JSON is UTF-8: what is not plain ASCII is written as %ff. */
json_t *undo_json_from_bytes(const char *bytes) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "");
        for (const unsigned char *p = (const unsigned char *)bytes; *p; p++)
                text_appendf(&text, *p <= 0x20 || *p >= 0x7f || *p == '%' ? "%%%02x" : "%c", *p);
        return text.error ? NULL : json_string(text.data);
}

/* Of any length: a list that cannot be written in full must not be written at all. */
json_t *undo_json_from_set(IdView set) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "");
        for (int id = id_view_next(set, 0), end; id >= 0; id = id_view_next(set, (uint32_t)end)) {
                for (end = id + 1; id_view_has(set, (uint32_t)end);)
                        end++;
                text_appendf(&text, end == id + 1 ? "%s%d" : "%s%d-%d", text.length ? "," : "", id,
                             end - 1);
        }
        return text.error ? NULL : json_string(text.data);
}

/* --- out of JSON --- */

static int hex(char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int undo_json_to_bytes(const json_t *json, char **ret) {
        const char *text = json_string_value(json);
        _cleanup_free_ char *bytes = text ? malloc(strlen(text) + 1) : NULL;
        char *out = bytes;

        if (!bytes)
                return text ? -ENOMEM : -EBADMSG;
        for (const char *p = text; *p; p++) {
                int high = *p == '%' ? hex(p[1]) : -1, low = high >= 0 ? hex(p[2]) : -1;

                if (*p == '%' && (low < 0 || (high == 0 && low == 0)))
                        return -EBADMSG;
                *out++ = *p == '%' ? (char)(high << 4 | low) : *p;
                p += *p == '%' ? 2 : 0;
        }
        *out = '\0';
        if (*bytes == '\0')
                return -EBADMSG;
        *ret = TAKE_PTR(bytes);
        return 0;
}

int undo_json_to_set(const json_t *json, IdTarget ret) {
        const char *text = json_string_value(json);

        return text && id_target_parse_list(text, ret) == 0 ? 0 : -EBADMSG;
}

int undo_json_to_ticks(const json_t *json, uint64_t *ret) {
        if (!json_is_integer(json) || json_integer_value(json) < 0)
                return -EBADMSG;
        *ret = (uint64_t)json_integer_value(json);
        return 0;
}

/* --- the whole --- */

int undo_json_render(json_t *record, char **ret, size_t *ret_size) {
        _cleanup_(json_decrefp) json_t *owned = record;
        char *text;

        if (!owned || json_object_set_new(owned, "version", json_integer(UNDO_VERSION)) < 0)
                return -ENOMEM;
        text = json_dumps(owned, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
        if (!text)
                return -ENOMEM;
        *ret = text;
        *ret_size = strlen(text);
        return 0;
}

int undo_json_parse(const char *text, size_t size, json_t **ret) {
        _cleanup_(json_decrefp) json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        const json_t *version = json_object_get(root, "version");
        json_t *record = root;

        if (!json_is_integer(version) || json_integer_value(version) < 1)
                return -EBADMSG;
        if (json_integer_value(version) > UNDO_VERSION)
                return -ENOTSUP;
        if (json_integer_value(version) == 1) /* the daemon before an upgrade wrote it */
                record = json_object_get(root, "record");
        if (!json_is_object(record))
                return -EBADMSG;
        *ret = json_incref(record);
        return 0;
}
