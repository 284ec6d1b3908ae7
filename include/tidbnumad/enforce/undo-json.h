/* What writing and reading of records share. */
#pragma once

#include <jansson.h>

#define UNDO_CHECKSUM_SIZE 17u

int undo_json_checksum(const json_t *record, char ret[static UNDO_CHECKSUM_SIZE]);
