/* A record of enforce/undo-record.h as a JSON file, in its envelope (undo-envelope.h):
 *
 *     {"version": 1, "checksum": "…", "record": {"boot": "…", "instance": "tikv-20160", …}}
 */
#pragma once

#include <stddef.h>

#include "tidbnumad/enforce/undo-record.h"

#define UNDO_TEXT_VERSION 1

/* 50,000 threads with a mask each of their own are 3 MiB. */
#define UNDO_TEXT_MAX_BYTES ((size_t)16 << 20)

/* The caller owns the text. -ENOMEM. */
int undo_text_render(const UndoRecord *record, const char *boot_id, char **ret, size_t *ret_size);

/* Errors as of undo_envelope_parse(), and -ENOMEM. */
int undo_text_parse(const char *text, size_t size, const char *boot_id, UndoRecord **ret);
