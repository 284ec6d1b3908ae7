/* What writing and reading of records share. */
#pragma once

#include <jansson.h>

#include "tidbnumad/base/id-set.h"

#define UNDO_CHECKSUM_SIZE 17u

int undo_json_checksum(const json_t *record, char ret[static UNDO_CHECKSUM_SIZE]);

/* 0; -EILSEQ: the sum that `root` tells is another one; -EBADMSG: it tells none; -ENOMEM. */
int undo_json_check(const json_t *root, const json_t *record);

/* Any bytes, and the other way, in memory that the caller owns. Nothing and NUL bytes are refused
 * with -EBADMSG, as all that does not fit. */
json_t *undo_json_from_bytes(const char *bytes);
int undo_json_to_bytes(const json_t *json, char **ret);

json_t *undo_json_from_set(const IdSet *set);
int undo_json_to_set(const json_t *json, IdSet *ret);
