/* What is written, byte for byte as jansson would write it. */
#include <locale.h>
#include <math.h>

#include "../../support/test.h"

#include "../../support/json-check.h"

static void assert_as_jansson(const Text *text) {
        const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(16) | JSON_ENSURE_ASCII;
        json_t *json;
        char *dump;

        assert_int_equal(text->error, 0);
        json = json_read_back(text->data);
        dump = json_dumps(json, flags);
        assert_int_equal(text->length, strlen(dump) + 1);
        assert_memory_equal(text->data, dump, strlen(dump));
        free(dump);
        json_decref(json);
}

TEST(structure) {
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };
        size_t none = 0;

        JSON_OBJECT(&json, NULL) {
                JSON_OBJECT(&json, "empty") {
                }
                JSON_ARRAY(&json, "none", i, none)
                        json_put_null(&json, NULL);
                JSON_ARRAY(&json, "rows", i, 2)
                        JSON_OBJECT(&json, NULL) {
                                json_put_count(&json, "i", i);
                                JSON_ARRAY(&json, "odd", k, 4)
                                        if (k % 2 == 1)
                                                json_put_bool(&json, NULL, i == 1);
                        }
                json_put_null(&json, "last");
        }
        assert_as_jansson(&text);
        assert_string_equal(text.data, "{\n"
                                       "  \"empty\": {},\n"
                                       "  \"none\": [],\n"
                                       "  \"rows\": [\n"
                                       "    {\n"
                                       "      \"i\": 0,\n"
                                       "      \"odd\": [\n"
                                       "        false,\n"
                                       "        false\n"
                                       "      ]\n"
                                       "    },\n"
                                       "    {\n"
                                       "      \"i\": 1,\n"
                                       "      \"odd\": [\n"
                                       "        true,\n"
                                       "        true\n"
                                       "      ]\n"
                                       "    }\n"
                                       "  ],\n"
                                       "  \"last\": null\n"
                                       "}\n");
}

TEST(deep) {
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };

        for (unsigned i = 0; i < 64; i++)
                json_open_array(&json, NULL);
        for (unsigned i = 0; i < 64; i++)
                json_close(&json);
        assert_as_jansson(&text);
}

TEST(numbers) {
        static const double numbers[] = { 0,       -0.0,   1,      0.1,    1.0 / 3, 1780000000.125,
                                          1e15,    1e16,   1.5e17, 1e-4,   1e-5,    -2.5e-7,
                                          1e100,   1e-300, 123.0,  5e-324, NAN,     -1e308,
                                          INFINITY };
        static const uint64_t counts[] = { 0, 9, 10, 9007199254740993, INT64_MAX, UINT64_MAX };
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };

        (void)setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* with a comma, where the host has it */
        JSON_OBJECT(&json, NULL) {
                JSON_ARRAY(&json, "numbers", i, ELEMENTSOF(numbers))
                        json_put_number(&json, NULL, numbers[i]);
                JSON_ARRAY(&json, "counts", i, ELEMENTSOF(counts))
                        json_put_count(&json, NULL, counts[i]);
                json_put_integer(&json, "least", INT64_MIN);
                json_put_count_if(&json, "known", true, 7);
                json_put_count_if(&json, "unknown", false, 7);
        }
        (void)setlocale(LC_NUMERIC, "C");
        assert_as_jansson(&text);
        assert_non_null(strstr(text.data, "    0.0,\n    -0.0,\n    1.0,\n    0.1,\n"));
        assert_non_null(strstr(text.data, "    9223372036854775807,\n    9223372036854775807\n"));
        assert_non_null(strstr(text.data, "    null,\n    -1e308,\n    null\n"));
        assert_non_null(strstr(text.data, "\"unknown\": null\n"));
}

TEST(strings) {
        static const char *const strings[] = {
                "",
                "plain",
                "a\"b\\c/d",
                "\b\f\n\r\t\x01\x1f",
                "\xc3\xa9\xe2\x82\xac",
                "\xf0\x9f\x98\x80!",
        };
        _cleanup_text_ Text text = { 0 }, inner = { 0 };
        Json json = { .text = &text };
        CpuSet cpus = { 0 };

        id_set_add(&cpus, 3);
        text_append(&inner, "x\ny");
        JSON_OBJECT(&json, NULL) {
                json_put_strings(&json, "strings", strings, ELEMENTSOF(strings));
                json_put_string(&json, "null", NULL);
                json_put_text(&json, "text", &inner);
                json_put_ids(&json, "cpus", ID_VIEW(&cpus));
        }
        assert_as_jansson(&text);
        assert_non_null(strstr(text.data, "\"\\b\\f\\n\\r\\t\\u0001\\u001F\""));
        assert_non_null(strstr(text.data, "\"\\u00E9\\u20AC\""));
        assert_non_null(strstr(text.data, "\"\\uD83D\\uDE00!\""));
        assert_non_null(strstr(text.data, "\"cpus\": \"3\""));
}

/* DEL is escaped, which jansson does not do; what is no UTF-8 is replaced. */
TEST(hostile_strings) {
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };

        JSON_ARRAY(&json, NULL, i, 1)
                json_put_string(&json, NULL, "a\x7f\xff\xc3(\xed\xa0\x80");
        assert_string_equal(text.data,
                            "[\n  \"a\\u007f\\uFFFD\\uFFFD(\\uFFFD\\uFFFD\\uFFFD\"\n]\n");
}

TEST(errors) {
        _cleanup_text_ Text text = { 0 };
        const Text failed = { .error = -ENOMEM };
        Json json = { .text = &text };

        JSON_OBJECT(&json, NULL)
                json_put_text(&json, "text", &failed);
        assert_int_equal(text.error, -ENOMEM);
}
