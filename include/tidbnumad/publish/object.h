/* JSON objects being filled, over jansson. A value that could not be had is NULL, and makes the
 * whole of it NULL: whoever finishes looks once. Keys keep the order of the calls. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"

typedef struct Object {
        json_t *json;
        bool failed;
} Object;

Object object_new(void);

/* Takes over `value`. `key` is a constant. */
void object_set(Object *object, const char *key, json_t *value);
json_t *object_finish(Object *object);

/* Takes over both, and gives the array back; NULL where one was. */
json_t *object_append(json_t *array, json_t *value);

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
