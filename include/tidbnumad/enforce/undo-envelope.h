/* What every record of undo stands in as a file, in one line:
 *
 *     {"checksum": "…", "record": {"boot": "…", …}, "version": 1}
 *
 * The checksum is FNV-1a of 64 bits over the record, as jansson writes it compact and with sorted
 * keys: it finds what was changed by mistake, and a half-written file. Who may write to the folder
 * is not kept out by it, but by the folder.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define UNDO_CHECKSUM_SIZE 17u

int undo_checksum(const json_t *record, char ret[static UNDO_CHECKSUM_SIZE]);

/* Takes over `record`; NULL: there was no memory for it. The caller owns the text. -ENOMEM. */
int undo_envelope_render(json_t *record, int version, char **ret, size_t *ret_size);

/* The record, as a reference that the caller owns. -EBADMSG: it is not such a text; -ENOTSUP: of
 * another version; -EILSEQ: the checksum is wrong; -ESTALE: of another boot. */
int undo_envelope_parse(const char *text, size_t size, int version, const char *boot_id,
                        json_t **ret);
