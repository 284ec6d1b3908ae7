/* Well-formed UTF-8 out of any bytes, and text that is safe to show. Escaping for a format is left
 * to the renderer of that format. */
#include <stdint.h>
#include <string.h>

#include "tidbnumad/base/utf8.h"

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

void utf8_sanitize(Text *text, const char *string, size_t length) {
        size_t done = 0, i = 0;

        while (i < length) {
                size_t n = sequence_length((const unsigned char *)string + i, length - i);

                if (n > 0) {
                        i += n;
                        continue;
                }
                text_append_bytes(text, string + done, i - done);
                text_append(text, REPLACEMENT);
                done = ++i;
        }
        text_append_bytes(text, string + done, i - done);
}

uint32_t utf8_decode(const char *string, size_t *ret_length) {
        const unsigned char *p = (const unsigned char *)string;

        *ret_length = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
        switch (*ret_length) {
        case 1:
                return p[0];
        case 2:
                return (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
        case 3:
                return (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
        default:
                return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
                       (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
        }
}

/* C0 and C1 controls, separators of lines and paragraphs, marks that turn the direction of text or
 * have no width, tags, the byte order mark, and what is no character. */
static bool is_hidden(uint32_t c) {
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x061c || c == 0x180e ||
               (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
               (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfdd0 && c <= 0xfdef) ||
               (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f) ||
               (c & 0xfffe) == 0xfffe;
}

bool utf8_has_control(const char *string) {
        for (const unsigned char *p = (const unsigned char *)string; *p; p++)
                if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f))
                        return true;
        return false;
}

void utf8_append_visible(Text *text, const char *string, size_t size, const char *kept) {
        for (size_t i = 0, length; i < size; i += length) {
                size_t well_formed = sequence_length((const unsigned char *)string + i, size - i);

                length = well_formed > 0 ? well_formed : 1;
                if (string[i] != '\0' &&
                    (strchr(kept, string[i]) ||
                     (well_formed > 0 && !is_hidden(utf8_decode(string + i, &length))))) {
                        text_append_bytes(text, string + i, length);
                        continue;
                }
                for (size_t k = 0; k < length; k++)
                        text_appendf(text, "\\x%02x", (unsigned char)string[i + k]);
        }
}

void text_append_printable(Text *text, const char *name) {
        utf8_append_visible(text, name, strlen(name), "");
}
