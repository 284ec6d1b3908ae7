/* JSON over jansson. A value that could not be made is NULL, and makes the whole of it NULL, so
 * that only the end needs a check. Keys keep their order. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"

typedef struct ObjectField {
        const char *key; /* a constant; NULL: the field is left out */
        json_t *value;
} ObjectField;

/* Takes over the values. */
json_t *object_of(const ObjectField *fields, size_t n);
#define OBJECT_OF(...)                                                                             \
        object_of((const ObjectField[]){ __VA_ARGS__ },                                            \
                  sizeof((const ObjectField[]){ __VA_ARGS__ }) / sizeof(ObjectField))

/* Adds a value at the end. Takes over both, and gives the object or array back; NULL where one was.
 */
json_t *object_set(json_t *object, const char *key, json_t *value);
json_t *object_append(json_t *array, json_t *value);

/* An array with `value`, which uses the index `i`, for each `i` below `n`; or for those with a
 * condition. */
#define OBJECT_ARRAY(i, n, value) OBJECT_ARRAY_IF(i, n, true, value)
#define OBJECT_ARRAY_IF(i, n, condition, value)                                                    \
        ({                                                                                         \
                json_t *_array = json_array();                                                     \
                for (size_t i = 0; i < (n) && _array; i++)                                         \
                        if (condition)                                                             \
                                _array = object_append(_array, (value));                           \
                _array;                                                                            \
        })

/* An object with a count for each value of an enum, which has its name from `to_string`. */
#define OBJECT_COUNTS(n, to_string, counts)                                                        \
        ({                                                                                         \
                json_t *_object = json_object();                                                   \
                for (unsigned _k = 0; _k < (n); _k++)                                              \
                        _object = object_set(_object, to_string(_k), object_count((counts)[_k]));  \
                _object;                                                                           \
        })

/* Values. A string that is not UTF-8 gets U+FFFD (utf8.h), NULL is null; an integer above 2^63-1 is
 * that number; what is not finite is null; a set is its list, "0-3,8". */
json_t *object_string(const char *value);
json_t *object_count(uint64_t value);
json_t *object_known(bool known, uint64_t value); /* null where it is not known */
json_t *object_number(double value);
json_t *object_list(IdView ids);
json_t *object_strings(const char *const *values, size_t n);

/* Takes over `json`: as text, indented by 2, with a newline at the end. The caller owns it.
 * -ENOMEM, also for NULL. */
int object_render(json_t *json, char **ret);
