/* One string out of a TOML file. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/toml.h"

/* Longer names are none that anybody looks for. */
enum { NAME_MAX_BYTES = 64 };

typedef struct Cursor {
        const char *p;
        const char *end;
} Cursor;

/* A dotted name: its first two parts, as far as they fit, and how many there are. */
typedef struct Name {
        char parts[2][NAME_MAX_BYTES];
        unsigned n_parts;
} Name;

/* NUL at the end of the text: no byte that matters is one. */
static char peek(const Cursor *c) {
        return c->p < c->end ? *c->p : '\0';
}

static bool at_end(const Cursor *c) {
        return c->p >= c->end;
}

static bool starts_with(const Cursor *c, const char *prefix) {
        size_t length = strlen(prefix);

        return (size_t)(c->end - c->p) >= length && memcmp(c->p, prefix, length) == 0;
}

static bool take(Cursor *c, const char *prefix) {
        if (!starts_with(c, prefix))
                return false;
        c->p += strlen(prefix);
        return true;
}

static void skip_blanks(Cursor *c) {
        while (peek(c) == ' ' || peek(c) == '\t' || peek(c) == '\r')
                c->p++;
}

static void skip_line(Cursor *c) {
        while (!at_end(c) && *c->p != '\n')
                c->p++;
        c->p += !at_end(c);
}

/* Behind a string; one of a single line ends with its line even where the quote is missing. */
static void skip_string(Cursor *c) {
        char quote = *c->p;
        const char triple[] = { quote, quote, quote, '\0' };
        bool several_lines = take(c, triple);

        c->p += !several_lines;
        while (!at_end(c)) {
                if (several_lines ? take(c, triple) : peek(c) == quote)
                        break;
                if (!several_lines && *c->p == '\n')
                        return;
                if (quote == '"' && *c->p == '\\' && c->p + 1 < c->end)
                        c->p++;
                c->p++;
        }
        c->p += !several_lines && !at_end(c);
        while (several_lines && peek(c) == quote)
                c->p++; /* up to two quotes may stand right before the three that end it */
}

/* Behind a value of any kind and the rest of its line. Brackets go over lines. */
static void skip_value(Cursor *c) {
        size_t depth = 0;

        while (!at_end(c)) {
                char byte = *c->p;

                if (byte == '"' || byte == '\'') {
                        skip_string(c);
                        continue;
                }
                if (byte == '#') {
                        skip_line(c);
                        c->p -= c->p[-1] == '\n'; /* looked at next */
                        continue;
                }
                c->p++;
                if (byte == '[' || byte == '{')
                        depth++;
                else if ((byte == ']' || byte == '}') && depth > 0)
                        depth--;
                else if (byte == '\n' && depth == 0)
                        return;
        }
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The bytes of a code point, or 0 where it is none: surrogates, and NUL, which no path has. */
static size_t encode(uint32_t code, char *out) {
        if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
                return 0;
        if (code < 0x80) {
                out[0] = (char)code;
                return 1;
        }
        if (code < 0x800) {
                out[0] = (char)(0xc0 | code >> 6);
                out[1] = (char)(0x80 | (code & 0x3f));
                return 2;
        }
        if (code < 0x10000) {
                out[0] = (char)(0xe0 | code >> 12);
                out[1] = (char)(0x80 | (code >> 6 & 0x3f));
                out[2] = (char)(0x80 | (code & 0x3f));
                return 3;
        }
        out[0] = (char)(0xf0 | code >> 18);
        out[1] = (char)(0x80 | (code >> 12 & 0x3f));
        out[2] = (char)(0x80 | (code >> 6 & 0x3f));
        out[3] = (char)(0x80 | (code & 0x3f));
        return 4;
}

static size_t unescape_code(Cursor *c, unsigned n_digits, char *out) {
        uint32_t code = 0;

        for (unsigned i = 0; i < n_digits; i++) {
                int digit = hex_digit(peek(c));

                if (digit < 0)
                        return 0;
                code = code << 4 | (uint32_t)digit;
                c->p++;
        }
        return encode(code, out);
}

/* What stands behind a backslash. Never longer than it was: "\u1234" are three bytes. */
static size_t unescape(Cursor *c, char *out) {
        static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
        char byte = peek(c);
        const char *at = byte ? strchr(names, byte) : NULL;

        c->p += !at_end(c);
        if (byte == 'u' || byte == 'U')
                return unescape_code(c, byte == 'u' ? 4 : 8, out);
        if (!at)
                return 0;
        out[0] = values[at - names];
        return 1;
}

/* A string of one line into `out`, which has room for the rest of the text, with a NUL. */
static int parse_string(Cursor *c, char *out) {
        char quote = *c->p++;

        for (;;) {
                if (at_end(c) || *c->p == '\n' || *c->p == '\0')
                        return -EBADMSG;
                if (*c->p == quote)
                        break;
                if (quote == '"' && *c->p == '\\') {
                        size_t n;

                        c->p++;
                        n = unescape(c, out);
                        if (n == 0)
                                return -EBADMSG;
                        out += n;
                } else
                        *out++ = *c->p++;
        }
        c->p++;
        *out = '\0';
        return 0;
}

static bool is_bare(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
}

/* One part of a name. `out` of NAME_MAX_BYTES; empty for one that is too long or broken. */
static bool parse_part(Cursor *c, char *out) {
        const char *from = c->p;
        size_t length;
        Cursor quoted;

        if (peek(c) == '"' || peek(c) == '\'') {
                quoted = *c;
                skip_string(c);
                if (c->p - from > NAME_MAX_BYTES || parse_string(&quoted, out) < 0)
                        out[0] = '\0';
                return true;
        }
        while (is_bare(peek(c)))
                c->p++;
        length = (size_t)(c->p - from);
        if (length < NAME_MAX_BYTES) {
                memcpy(out, from, length);
                out[length] = '\0';
        }
        return length > 0;
}

static bool parse_name(Cursor *c, Name *ret) {
        *ret = (Name){ 0 };
        do {
                char ignored[NAME_MAX_BYTES];

                skip_blanks(c);
                if (!parse_part(c, ret->n_parts < 2 ? ret->parts[ret->n_parts] : ignored))
                        return false;
                ret->n_parts++;
                skip_blanks(c);
        } while (take(c, "."));
        return true;
}

static bool name_is(const Name *name, const char *first, const char *second) {
        return name->n_parts == (second ? 2u : 1u) && strcmp(name->parts[0], first) == 0 &&
               (!second || strcmp(name->parts[1], second) == 0);
}

/* Where the reader is among the tables. */
typedef enum Place {
        PLACE_TOP,
        PLACE_TABLE, /* in the one looked for */
        PLACE_ELSEWHERE,
} Place;

static Place parse_header(Cursor *c, const char *table) {
        Name name;
        bool ours = take(c, "[") && !starts_with(c, "[") && parse_name(c, &name) &&
                    peek(c) == ']' && table && name_is(&name, table, NULL);

        skip_line(c);
        return ours ? PLACE_TABLE : PLACE_ELSEWHERE;
}

static bool is_wanted(const Name *name, Place place, const char *table, const char *key) {
        if (place == PLACE_TOP)
                return table ? name_is(name, table, key) : name_is(name, key, NULL);
        return place == PLACE_TABLE && name_is(name, key, NULL);
}

static int parse_value(Cursor *c, char **ret) {
        _cleanup_free_ char *out = NULL;

        if ((peek(c) != '"' && peek(c) != '\'') || starts_with(c, "\"\"\"") ||
            starts_with(c, "'''"))
                return -EBADMSG;
        out = malloc((size_t)(c->end - c->p));
        if (!out)
                return -ENOMEM;
        if (parse_string(c, out) < 0)
                return -EBADMSG;
        *ret = strdup(out); /* no longer than it must be */
        return *ret ? 0 : -ENOMEM;
}

int toml_find_string(const char *text, size_t size, const char *table, const char *key,
                     char **ret) {
        Cursor c = { .p = text, .end = text + size };
        Place place = PLACE_TOP;

        (void)take(&c, "\xef\xbb\xbf"); /* byte order mark */
        while (!at_end(&c)) {
                Name name;

                skip_blanks(&c);
                if (peek(&c) == '[') {
                        place = parse_header(&c, table);
                        continue;
                }
                if (!parse_name(&c, &name) || !take(&c, "=")) {
                        skip_line(&c);
                        continue;
                }
                skip_blanks(&c);
                if (is_wanted(&name, place, table, key))
                        return parse_value(&c, ret);
                skip_value(&c);
        }
        return -ENOENT;
}
