/* JSON that was rendered, read back by the library that its readers use. To be included after
 * cmocka.h. */
#pragma once

#include <jansson.h>
#include <stdlib.h>

#include "tidbnumad/base/json.h"

/* The caller owns it. */
static inline json_t *json_read_back(const char *text) {
        json_error_t error;
        json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

        if (!json)
                print_error("line %d: %s\n%s", error.line, error.text, text);
        assert_non_null(json);
        return json;
}

static inline void assert_json(const json_t *actual, const char *expected) {
        json_error_t error;
        json_t *json = json_loads(expected, JSON_DECODE_ANY, &error);

        if (!json)
                fail_msg("%s at %d", error.text, error.position);
        if (!json_equal(actual, json)) {
                char *text = json_dumps(actual, JSON_INDENT(2) | JSON_ENCODE_ANY);

                print_error("%s\n", text);
                free(text);
                fail();
        }
        json_decref(json);
}

/* What the statement writes with `json`, read back. The caller owns it. */
#define JSON_WRITTEN(json, statement)                                                              \
        ({                                                                                         \
                _cleanup_text_ Text _written = { 0 };                                              \
                Json *json = &(Json){ .text = &_written };                                         \
                                                                                                   \
                statement;                                                                         \
                assert_int_equal(_written.error, 0);                                               \
                json_read_back(_written.data);                                                     \
        })
