/* Well-formed UTF-8 out of any bytes. Escaping for a format is left to the renderer of that format.
 */
#include <limits.h>
#include <stdint.h>

#include "tidbnumad/publish/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The row of Unicode's table 3-7 for a lead byte: how long, and what the second byte may be. */
typedef struct Row {
        unsigned char first, last; /* lead bytes */
        unsigned char length;
        unsigned char second_min, second_max;
} Row;

static const Row rows[] = {
        { 0x01, 0x7f, 1, 0, 0 },       { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
        { 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
        { 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

/* Length of the well-formed sequence at `p`, or 0. */
static size_t sequence_length(const unsigned char *p, size_t left) {
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const Row *row = &rows[i];

                if (*p < row->first || *p > row->last)
                        continue;
                if (row->length > left)
                        return 0;
                if (row->length > 1 && (p[1] < row->second_min || p[1] > row->second_max))
                        return 0;
                for (size_t j = 2; j < row->length; j++)
                        if ((p[j] & 0xc0) != 0x80)
                                return 0;
                return row->length;
        }
        return 0;
}

/* "%.*s" takes an int; longer runs go in pieces. */
static void append_bytes(Text *text, const char *bytes, size_t length) {
        while (length > 0) {
                size_t n = length < INT_MAX ? length : INT_MAX;

                text_appendf(text, "%.*s", (int)n, bytes);
                bytes += n;
                length -= n;
        }
}

void utf8_sanitize(Text *text, const char *string, size_t length) {
        size_t done = 0, i = 0;

        while (i < length) {
                size_t n = sequence_length((const unsigned char *)string + i, length - i);

                if (n > 0) {
                        i += n;
                        continue;
                }
                append_bytes(text, string + done, i - done);
                text_append(text, REPLACEMENT);
                done = ++i;
        }
        append_bytes(text, string + done, i - done);
}
