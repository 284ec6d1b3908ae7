/* A record of enforce/undo-record.h as a JSON file:
 *
 *     {"version": 2, "instance": "tikv-20160", "service": "tikv-20160.service", …}
 */
#pragma once

#include <stddef.h>

#include "tidbnumad/enforce/undo-record.h"

/* 50,000 threads with a mask each of their own are 3 MiB. */
#define UNDO_TEXT_MAX_BYTES ((size_t)16 << 20)

/* The caller owns the text. -ENOMEM. */
int undo_text_render(const UndoRecord *record, char **ret, size_t *ret_size);

/* Errors as of undo_json_parse(), and -ENOMEM. */
int undo_text_parse(const char *text, size_t size, UndoRecord **ret);
