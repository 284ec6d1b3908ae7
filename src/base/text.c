/* Text: one that grows, words, UTF-8 and what is safe to show, numbers, and the word that was
 * meant. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"

void text_done(Text *text) {
        free(text->data);
        *text = (Text){ 0 };
}

void text_reset(Text *text) {
        text->length = 0;
        text->error = 0;
        if (text->data)
                text->data[0] = '\0';
}

void text_truncate(Text *text, size_t length) {
        if (text->error == 0 && length < text->length) {
                text->length = length;
                text->data[length] = '\0';
        }
}

static int text_reserve(Text *text, size_t more) {
        if (text->error == 0 &&
            ARRAY_RESERVE(text->data, text->allocated, text->length + more + 1) < 0)
                text->error = -ENOMEM;
        return text->error;
}

void text_append_bytes(Text *text, const char *data, size_t length) {
        if (text_reserve(text, length) < 0)
                return;
        if (length > 0)
                memcpy(text->data + text->length, data, length);
        text->length += length;
        text->data[text->length] = '\0';
}

void text_append(Text *text, const char *string) {
        text_append_bytes(text, string, strlen(string));
}

void text_append_text(Text *text, const Text *other) {
        text_append_bytes(text, text_string(other), other->length);
        if (other->error < 0)
                text->error = other->error;
}

void text_appendv(Text *text, const char *format, va_list args) {
        const size_t room = text->error == 0 ? text->allocated - text->length : 0;
        va_list again;
        int n;

        /* Most fit into what is there already. */
        va_copy(again, args);
        n = vsnprintf(room > 0 ? text->data + text->length : NULL, room, format, again);
        va_end(again);
        if (n < 0 || text_reserve(text, (size_t)n) < 0)
                return;
        if ((size_t)n >= room)
                (void)vsnprintf(text->data + text->length, (size_t)n + 1, format, args);
        text->length += (size_t)n;
}

void text_appendf(Text *text, const char *format, ...) {
        va_list args;

        va_start(args, format);
        text_appendv(text, format, args);
        va_end(args);
}

char *text_newv(const char *format, va_list args) {
        char *text;

        return vasprintf(&text, format, args) < 0 ? NULL : text;
}

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
        for (size_t i = 0; i < size; i++)
                hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
        return hash;
}

char *text_new(const char *format, ...) {
        va_list args;
        char *text;

        va_start(args, format);
        text = text_newv(format, args);
        va_end(args);
        return text;
}

bool text_ends_with_n(const char *text, size_t length, const char *suffix) {
        const size_t n = strlen(suffix);

        return length > n && memcmp(text + length - n, suffix, n) == 0;
}

bool text_ends_with(const char *text, const char *suffix) {
        return text && text_ends_with_n(text, strlen(text), suffix);
}

bool text_has_word(const char *list, char separator, char end, const char *word) {
        const char ends[] = { separator, end, '\0' };

        for (const char *p = list;; p++) {
                const size_t length = strcspn(p, ends);

                if (length == strlen(word) && memcmp(p, word, length) == 0)
                        return true;
                p += length;
                if (*p != separator)
                        return false;
        }
}

bool text_equal(const char *a, const char *b) {
        return a && b ? strcmp(a, b) == 0 : a == b;
}

/* --- UTF-8 ---
 *
 * Well-formed UTF-8 out of any bytes, and text that is safe to show. Escaping for a format is left
 * to the renderer of that format. */

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The row of Unicode's table 3-7 for a lead byte: how long, and what the second byte may be. */
typedef struct Row {
        unsigned char first, last; /* lead bytes */
        unsigned char length;
        unsigned char second_min, second_max;
} Row;

static const Row utf8_rows[] = {
        { 0x01, 0x7f, 1, 0, 0 },       { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
        { 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
        { 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

/* Length of the well-formed sequence at `p`, or 0. */
static size_t sequence_length(const unsigned char *p, size_t left) {
        for (size_t i = 0; i < ELEMENTSOF(utf8_rows); i++) {
                const Row *row = &utf8_rows[i];

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

size_t utf8_count(const char *start, const char *end) {
        size_t n = 0;

        for (; start < end; start++)
                n += !utf8_continues(*start);
        return n;
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

void text_append_names(Text *text, const char *format, ...) {
        va_list names;

        va_start(names, format);
        for (const char *next; (next = strstr(format, "%s")); format = next + strlen("%s")) {
                text_append_bytes(text, format, (size_t)(next - format));
                text_append_printable(text, va_arg(names, const char *));
        }
        va_end(names);
        text_append(text, format);
}

/* --- secrets in command lines --- */

static const char *const SECRET_WORDS[] = { "passw",      "passphrase",  "secret",
                                            "token",      "apikey",      "api-key",
                                            "api_key",    "access-key",  "access_key",
                                            "accesskey",  "private-key", "private_key",
                                            "privatekey", "credential" };

#define MASK "***"

static bool name_is_secret(const char *name, size_t length) {
        for (size_t w = 0; w < ELEMENTSOF(SECRET_WORDS); w++)
                for (size_t i = 0; i + strlen(SECRET_WORDS[w]) <= length; i++)
                        if (strncasecmp(name + i, SECRET_WORDS[w], strlen(SECRET_WORDS[w])) == 0)
                                return true;
        return false;
}

/* "scheme://user:password@host": the part behind "//", and its length up to "@"; 0: none. */
static size_t url_find_user(const char *argument, const char **ret) {
        const char *start = strstr(argument, "://"), *at;
        size_t length;

        if (!start)
                return 0;
        start += 3;
        length = strcspn(start, "/?#");
        at = memrchr(start, '@', length);
        *ret = start;
        return at ? (size_t)(at - start) : 0;
}

void mask_arguments(Text *text, const char *bytes, size_t size) {
        bool secret = false; /* the whole of the next argument */

        for (size_t i = 0; i < size; i += strlen(bytes + i) + 1) {
                const char *argument = bytes + i, *user = argument;
                const size_t length = strcspn(argument, "=:"); /* of the name */
                const size_t n_user = url_find_user(argument, &user);

                if (secret) {
                        text_append(text, MASK);
                        secret = false;
                } else if (name_is_secret(argument, length)) {
                        text_append_bytes(text, argument, length);
                        if (argument[length]) {
                                text_append_bytes(text, argument + length, 1);
                                text_append(text, MASK);
                        }
                        secret = argument[length] == '\0' && argument[0] == '-';
                } else if (n_user > 0) {
                        text_append_bytes(text, argument, (size_t)(user - argument));
                        text_append(text, MASK);
                        text_append(text, user + n_user);
                } else
                        text_append(text, argument);
                text_append_bytes(text, "", 1);
        }
}

/* --- numbers --- */

typedef struct Unit {
        const char *name;
        uint64_t factor;
} Unit;

int parse_u64(const char *text, uint64_t *ret) {
        char *end;
        unsigned long long value;

        /* strtoull() takes signs and white space; neither belongs into a file of numbers. */
        if (!isdigit((unsigned char)text[0]))
                return -EINVAL;
        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno == ERANGE)
                return -ERANGE;
        if (end == text || *end)
                return -EINVAL;
        *ret = value;
        return 0;
}

/* digits[.digits]unit, by integers only: strtod() would follow the locale. */
static int parse_with_unit(const char *text, const Unit *units, size_t n_units, uint64_t *ret) {
        uint64_t whole = 0, fraction = 0, divisor = 1, value, tail;
        const char *p = text;

        if (!isdigit((unsigned char)*p))
                return -EINVAL;
        for (; isdigit((unsigned char)*p); p++)
                if (__builtin_mul_overflow(whole, 10, &whole) ||
                    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
                        return -ERANGE;
        if (*p == '.') {
                if (!isdigit((unsigned char)*++p))
                        return -EINVAL;
                for (; isdigit((unsigned char)*p); p++)
                        if (divisor < 1000000) { /* further decimals are below the precision */
                                fraction = fraction * 10 + (uint64_t)(*p - '0');
                                divisor *= 10;
                        }
        }
        for (size_t i = 0; i < n_units; i++) {
                if (strcmp(p, units[i].name) != 0)
                        continue;
                if (__builtin_mul_overflow(whole, units[i].factor, &value) ||
                    __builtin_mul_overflow(fraction, units[i].factor, &tail) ||
                    __builtin_add_overflow(value, tail / divisor, &value))
                        return -ERANGE;
                *ret = value;
                return 0;
        }
        return -EINVAL;
}

int parse_size(const char *text, uint64_t *ret_bytes) {
        static const Unit units[] = {
                { "B", 1 },
                { "KiB", UINT64_C(1) << 10 },
                { "MiB", UINT64_C(1) << 20 },
                { "GiB", UINT64_C(1) << 30 },
                { "TiB", UINT64_C(1) << 40 },
                { "kB", UINT64_C(1000) },
                { "MB", UINT64_C(1000000) },
                { "GB", UINT64_C(1000000000) },
                { "TB", UINT64_C(1000000000000) },
        };

        return parse_with_unit(text, units, ELEMENTSOF(units), ret_bytes);
}

int parse_duration(const char *text, uint64_t *ret_usec) {
        static const Unit units[] = {
                { "us", 1 },
                { "ms", UINT64_C(1000) },
                { "s", UINT64_C(1000000) },
                { "min", UINT64_C(60000000) },
                { "h", UINT64_C(3600000000) },
        };

        return parse_with_unit(text, units, ELEMENTSOF(units), ret_usec);
}

int parse_percent(const char *text, uint64_t *ret_ppm) {
        static const Unit units[] = { { "%", 10000 } };

        return parse_with_unit(text, units, ELEMENTSOF(units), ret_ppm);
}

int parse_field(const char *text, const char *key, uint64_t *ret) {
        const char *p = strstr(text, key);
        unsigned long long value;

        if (!p)
                return -EBADMSG;
        p += strlen(key);
        p += strspn(p, " \t");
        errno = 0;
        value = isdigit((unsigned char)*p) ? strtoull(p, NULL, 10) : 0;
        if (!isdigit((unsigned char)*p) || errno == ERANGE)
                return -EBADMSG;
        *ret = value;
        return 0;
}

int parse_kib_field(const char *text, const char *key, uint64_t *ret_bytes) {
        uint64_t kib;

        if (parse_field(text, key, &kib) < 0 || kib > UINT64_MAX / 1024)
                return -EBADMSG;
        *ret_bytes = kib * 1024;
        return 0;
}

/* --- the word that was meant --- */

#define SUGGEST_DISTANCE_MAX 2u
#define SUGGEST_LONG_WORD 8u   /* from here on one letter more may differ, */
#define SUGGEST_LONG_PREFIX 4u /* where so many at the start are right: policy, policies */

static size_t min(size_t a, size_t b) {
        return a < b ? a : b;
}

/* Damerau-Levenshtein distance (optimal string alignment); SUGGEST_WORD_MAX + 1 for longer words.
 */
static size_t distance_between(const char *a, const char *b) {
        size_t rows[3][SUGGEST_WORD_MAX + 1];
        size_t *before = rows[0], *above = rows[1], *row = rows[2];
        size_t length_a = strlen(a), length_b = strlen(b);

        if (length_a > SUGGEST_WORD_MAX || length_b > SUGGEST_WORD_MAX)
                return SUGGEST_WORD_MAX + 1;
        for (size_t j = 0; j <= length_b; j++)
                row[j] = j;
        for (size_t i = 1; i <= length_a; i++) {
                size_t *spare = before;

                before = above;
                above = row;
                row = spare;
                row[0] = i;
                for (size_t j = 1; j <= length_b; j++) {
                        size_t replace = above[j - 1] + (a[i - 1] != b[j - 1]);

                        row[j] = min(min(row[j - 1], above[j]) + 1, replace);
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                row[j] = min(row[j], before[j - 2] + 1);
                }
        }
        return row[length_b];
}

void suggest(Suggestion *s, const char *known) {
        const size_t distance = distance_between(s->word, known);
        const bool is_long = strlen(known) >= SUGGEST_LONG_WORD &&
                             strncmp(s->word, known, SUGGEST_LONG_PREFIX) == 0;

        if ((s->nearest && distance >= s->distance) || distance > SUGGEST_DISTANCE_MAX + is_long ||
            distance * 2 > strlen(known))
                return;
        s->nearest = known;
        s->distance = distance;
}
