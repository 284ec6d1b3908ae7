/* Text: one that grows, words, UTF-8 and what is safe to show, numbers, and the word that was
 * meant. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"

typedef struct Text {
        char *data; /* NUL-terminated once anything was appended; owned */
        size_t length;
        size_t allocated;
        int error; /* 0 or -ENOMEM */
} Text;

void text_done(Text *text);
void text_reset(Text *text);                   /* empties it, keeps the memory */
void text_truncate(Text *text, size_t length); /* drops what was appended since it was so long */
void text_append(Text *text, const char *string);
void text_append_bytes(Text *text, const char *data, size_t length);
void text_append_text(Text *text, const Text *other); /* and its error */
void text_appendf(Text *text, const char *format, ...) _printf_(2, 3);
void text_appendv(Text *text, const char *format, va_list args) _printf_(2, 0);

/* "" before anything was appended. */
static inline const char *text_string(const Text *text) {
        return text->data ? text->data : "";
}

/* Does the text end with `suffix`, and have something before it? `text` may be NULL. The second
 * function is for the first `length` bytes of a text. */
bool text_ends_with(const char *text, const char *suffix);
bool text_ends_with_n(const char *text, size_t length, const char *suffix);

/* Is `word` one of the words of the list, which `separator` is between, and `end` or a NUL behind?
 */
bool text_has_word(const char *list, char separator, char end, const char *word);

/* Also equal: both are NULL. */
bool text_equal(const char *a, const char *b);

/* A new string; NULL: no memory. */
char *text_new(const char *format, ...) _printf_(1, 2);
char *text_newv(const char *format, va_list args) _printf_(1, 0);

#define _cleanup_text_ _cleanup_(text_done)

/* A checksum of bytes (FNV-1a), or with its result for `hash`, of these after others. */
#define HASH_BEGIN UINT64_C(14695981039346656037)
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size);

/* Secrets in command lines. */

/* Appends `bytes`, arguments that each end with a NUL, with "***" in place of secrets:
 * - of an option or a variable whose name has passw, passphrase, secret, token, credential, api
 * key, access key or private key in it, in any case (keys with "-", "_" or nothing between): what
 *   follows its "=" or ":", or the next argument;
 * - of a URL: what is before the "@" of its host. */
void mask_arguments(Text *text, const char *bytes, size_t size);

/* Strings of unknown origin (paths, names from the kernel) as well-formed UTF-8. */

/* Appends `length` bytes of `string` to `text`, with U+FFFD in place of each byte that is not part
 * of a well-formed sequence (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above
 * U+10FFFF). Control characters stay. Failure shows in text->error, as everywhere with Text. */
void utf8_sanitize(Text *text, const char *string, size_t length);

/* A code point of well-formed UTF-8, and its length. */
uint32_t utf8_decode(const char *string, size_t *ret_length);

/* Is the byte one of a sequence, and not its first? */
static inline bool utf8_continues(char c) {
        return ((unsigned char)c & 0xc0) == 0x80;
}

/* The code points of well-formed UTF-8 up to `end`: the columns of a terminal, as nearly all
 * characters of names are of single width. */
size_t utf8_count(const char *start, const char *end);

/* Has it C0 controls, DEL, or C1 as UTF-8 writes it, which some terminals obey as well? */
bool utf8_has_control(const char *string);

/* Appends text that cannot control a terminal or forge a line of a log: any user who starts a
 * process chooses its name and command line. Each byte of a control character (ESC, a newline, C1),
 * of a mark that turns the direction of text, of a separator of lines, of what has no width, and
 * each byte that is no UTF-8, becomes "\x1b". `kept` is ASCII that is kept ("\n" for a text of
 * several lines). */
void utf8_append_visible(Text *text, const char *string, size_t size, const char *kept);

/* The same of a name. */
void text_append_printable(Text *text, const char *name);

/* The same of each name in a sentence: the format has no other conversions than %s. */
void text_append_names(Text *text, const char *format, ...) _printf_(2, 3);

/* Strict parsing of numbers, sizes and times: the whole text must be the value. */

/* Decimal, no sign, no white space. -EINVAL: not a number; -ERANGE: too large. */
int parse_u64(const char *text, uint64_t *ret);

/* A number (decimals allowed: "1.5GiB") with a unit that is required: B, KiB, MiB, GiB, TiB (powers
 * of 1024) or kB, MB, GB, TB (powers of 1000). -EINVAL: no number or no known unit; -ERANGE. */
int parse_size(const char *text, uint64_t *ret_bytes);

/* A number with a unit that is required: us, ms, s, min, h. -EINVAL, -ERANGE as above. */
int parse_duration(const char *text, uint64_t *ret_usec);

/* A number with its "%", in parts per million. -EINVAL, -ERANGE as above. */
int parse_percent(const char *text, uint64_t *ret_ppm);

/* The number behind the first `key` in the text of a file of the kernel, white space between them:
 * "\nPPid:" of "PPid:\t17". The key must begin with a character that occurs before no other key,
 * such as the newline. -EBADMSG: there is no number, or it is too large. The second one is for
 * "RssAnon: 12 kB", and returns bytes. */
int parse_field(const char *text, const char *key, uint64_t *ret);
int parse_kib_field(const char *text, const char *key, uint64_t *ret_bytes);

/* The known word that a misspelled one was probably meant to be. */

/* Longer words are not compared. */
#define SUGGEST_WORD_MAX 64u

typedef struct Suggestion {
        const char *word; /* what was written */
        const char *
                nearest; /* of the known words so far, the first among equals; NULL: none is near */
        size_t distance; /* of that */
} Suggestion;

/* Considers a known word, which is borrowed. It is near when it is within two edits (insert,
 * delete, replace, swap of two neighbours) and within half of its own length: "exe" is not a
 * misspelled "net". A long word whose beginning is right may have a third edit. */
void suggest(Suggestion *suggestion, const char *known);
