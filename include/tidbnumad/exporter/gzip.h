/* gzip (RFC 1952) of a long part that is compressed once, and of a short tail that differs with
 * each answer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/text.h"

/* A tail is one stored block (RFC 1951, 3.2.4). */
#define GZIP_TAIL_MAX ((size_t)UINT16_MAX)

/* The beginning of a gzip file, to be followed by gzip_finish()'s bytes. */
typedef struct GzipStart {
        uint8_t *data; /* owned */
        size_t size;
        uint32_t crc;     /* of what was compressed */
        uint32_t n_plain; /* its bytes */
} GzipStart;

void gzip_start_done(GzipStart *start);
#define _cleanup_gzip_start_ _cleanup_(gzip_start_done)

/* -ENOMEM is the only failure. */
int gzip_start(const char *plain, size_t size, GzipStart *ret);

/* Puts in place of `tail` what ends a gzip file that begins so: the tail, not compressed, and the
 * sums of both. -EMSGSIZE: the tail is longer than GZIP_TAIL_MAX; -ENOMEM. */
int gzip_finish(uint32_t crc, uint32_t n_plain, Text *tail);
