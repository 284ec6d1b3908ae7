/* Records and their values as JSON. Out of JSON, all that does not fit is -EBADMSG.
 *
 * A record is one object in one line, whose "version" is that of the form. Version 1 had it in
 * another object, beside a checksum: {"checksum": "…", "record": {…}, "version": 1}. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"

/* The version number in the records of instances and of the host alike. */
#define UNDO_VERSION 2

/* Any bytes, and the other way, in memory that the caller owns. None and NUL bytes are refused. */
json_t *undo_json_from_bytes(const char *bytes);
int undo_json_to_bytes(const json_t *json, char **ret);

json_t *undo_json_from_set(IdView set);
int undo_json_to_set(const json_t *json, IdTarget ret);

/* A number of ticks. */
int undo_json_to_ticks(const json_t *json, uint64_t *ret);

/* Takes over `item`. A list that cannot be had in full is none: `*list` is NULL then, and stays
 * so. */
void undo_json_append(json_t **list, json_t *item);

/* Takes over `record`; NULL: there was no memory for it. The caller owns the text. -ENOMEM. */
int undo_json_render(json_t *record, char **ret, size_t *ret_size);

/* The record, as a reference that the caller owns. -EBADMSG: the text is no record; -ENOTSUP: a
 * newer version wrote it. */
int undo_json_parse(const char *text, size_t size, json_t **ret);
