/* A record of enforce/undo-record.h as a JSON file:
 *
 *     {"version": 1, "checksum": "…", "record": {"boot": "…", "instance": "tikv-20160", …}}
 *
 * The checksum is FNV-1a of 64 bits over the record, as jansson writes it compact and with sorted
 * keys: it finds what was changed by mistake, and a half-written file. Who may write to the folder
 * is not kept out by it, but by the folder.
 */
#pragma once

#include <stddef.h>

#include "tidbnumad/enforce/undo-record.h"

#define UNDO_TEXT_VERSION 1

/* 50,000 threads with a mask each of their own are 3 MiB. */
#define UNDO_TEXT_MAX_BYTES ((size_t)16 << 20)

/* The caller owns the text. -ENOMEM. */
int undo_text_render(const UndoRecord *record, const char *boot_id, char **ret, size_t *ret_size);

/* -EBADMSG: it is not such a text; -ENOTSUP: of another version; -EILSEQ: the checksum is wrong;
 * -ESTALE: of another boot. */
int undo_text_parse(const char *text, size_t size, const char *boot_id, UndoRecord **ret);
