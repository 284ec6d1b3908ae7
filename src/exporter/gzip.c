/* zlib for the long part; the tail by hand, for compressing a few lines would cost more memory than
 * they have bytes. */
#define ZLIB_CONST
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tidbnumad/exporter/gzip.h"

/* The same text compresses to a tenth at the lowest level already, in a third of the time. */
#define LEVEL 1

static const uint8_t header[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 /* Unix */ };

enum { BLOCK_HEADER = 5, TRAILER = 8 };

void gzip_start_done(GzipStart *start) {
        free(start->data);
        *start = (GzipStart){ 0 };
}

/* Z_FULL_FLUSH: all blocks are out and end at a byte, and none of them is the last. */
static int deflate_all(z_stream *stream, const char *plain, size_t size, GzipStart *start) {
        const size_t bound = sizeof(header) + deflateBound(stream, size) + 16;
        uint8_t *smaller;

        start->data = malloc(bound);
        if (!start->data)
                return -ENOMEM;
        memcpy(start->data, header, sizeof(header));
        stream->next_in = (const Bytef *)plain;
        stream->avail_in = (uInt)size;
        stream->next_out = start->data + sizeof(header);
        stream->avail_out = (uInt)(bound - sizeof(header));
        if (deflate(stream, Z_FULL_FLUSH) != Z_OK || stream->avail_in > 0 || stream->avail_out == 0)
                return -ENOMEM;
        start->size = bound - stream->avail_out;
        smaller = realloc(start->data, start->size);
        if (smaller)
                start->data = smaller;
        return 0;
}

int gzip_start(const char *plain, size_t size, GzipStart *ret) {
        _cleanup_gzip_start_ GzipStart start = { .n_plain = (uint32_t)size };
        z_stream stream = { 0 };
        int r;

        if (size > UINT32_MAX / 2)
                return -ENOMEM;
        if (deflateInit2(&stream, LEVEL, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
                return -ENOMEM;
        r = deflate_all(&stream, plain, size, &start);
        (void)deflateEnd(&stream);
        if (r < 0)
                return r;
        start.crc = (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)plain, (uInt)size);
        *ret = start;
        start.data = NULL;
        return 0;
}

static void put_le16(uint8_t *at, uint16_t value) {
        at[0] = (uint8_t)value;
        at[1] = (uint8_t)(value >> 8);
}

static void put_le32(uint8_t *at, uint32_t value) {
        put_le16(at, (uint16_t)value);
        put_le16(at + 2, (uint16_t)(value >> 16));
}

int gzip_finish(uint32_t crc, uint32_t n_plain, Text *tail) {
        const size_t n = tail->length;
        const Bytef *plain = (const Bytef *)(tail->data ? tail->data : "");
        uint8_t *data;

        if (tail->error < 0)
                return tail->error;
        if (n > GZIP_TAIL_MAX)
                return -EMSGSIZE;
        data = malloc(BLOCK_HEADER + n + TRAILER);
        if (!data)
                return -ENOMEM;
        data[0] = 1; /* the last block, stored */
        put_le16(data + 1, (uint16_t)n);
        put_le16(data + 3, (uint16_t)~n);
        memcpy(data + BLOCK_HEADER, plain, n);
        crc = (uint32_t)crc32_combine(crc, crc32(crc32(0, NULL, 0), plain, (uInt)n), (z_off_t)n);
        put_le32(data + BLOCK_HEADER + n, crc);
        put_le32(data + BLOCK_HEADER + n + 4, n_plain + (uint32_t)n);
        text_done(tail);
        tail->data = (char *)data;
        tail->length = tail->allocated = BLOCK_HEADER + n + TRAILER;
        return 0;
}
