/* Writes JSON into a Text, value by value: indented by two, with ASCII only, as the C library
 * jansson would (JSON_INDENT(2) | JSON_ENSURE_ASCII), and independent of the locale. Parsing is
 * left to that library.
 *
 * A value in an object has a key, one in an array has NULL. Keys are constants that need no escape.
 * As with Text, nothing fails at the call: text->error shows it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/text.h"

typedef struct Json {
        Text *text;
        unsigned depth;
        uint64_t arrays; /* bit i: what is open at depth i + 1 is an array; 64 levels are enough */
        bool any;        /* the innermost open one has a value */
} Json;

void json_open_object(Json *json, const char *key);
void json_open_array(Json *json, const char *key);
void json_close(Json *json); /* the innermost one; of the outermost one with a newline */

void json_put_null(Json *json, const char *key);
void json_put_bool(Json *json, const char *key, bool value);
void json_put_bool_if(Json *json, const char *key, bool known, bool value); /* else null */

/* Above 2^63-1 it is that number, which is the largest that readers of JSON take as an integer. */
void json_put_count(Json *json, const char *key, uint64_t value);
void json_put_count_if(Json *json, const char *key, bool known, uint64_t value); /* else null */
void json_put_integer(Json *json, const char *key, int64_t value);

/* 16 digits: microseconds of a time since the epoch survive, 0.1 stays 0.1. What is not finite is
 * null. */
void json_put_number(Json *json, const char *key, double value);

/* NULL is null; a byte that is not part of UTF-8 becomes U+FFFD (text.h). */
void json_put_string(Json *json, const char *key, const char *value);
void json_put_strings(Json *json, const char *key, const char *const *values, size_t n);

/* The text itself, its error included. */
void json_put_text(Json *json, const char *key, const Text *value);

/* A set as its list, "0-3,8". */
void json_put_ids(Json *json, const char *key, IdView ids);
void json_put_ids_if(Json *json, const char *key, bool known, IdView ids); /* else null */

/* The statement behind it writes the members, or the element for each `i` below `n`. It must not be
 * left by break, goto or return. */
#define JSON_OBJECT(json, key) JSON_OBJECT_AS(json, key, __COUNTER__)
#define JSON_OBJECT_AS(json, key, number) JSON_OBJECT_NAMED(json, key, number)
#define JSON_OBJECT_NAMED(json, key, number)                                                       \
        for (bool _open##number = (json_open_object((json), (key)), true); _open##number;          \
             json_close(json), _open##number = false)
#define JSON_ARRAY(json, key, i, n)                                                                \
        for (size_t i = (json_open_array((json), (key)), 0); i < (n) || (json_close(json), false); \
             i++)
