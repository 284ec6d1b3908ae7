/* Strings of unknown origin (paths, names from the kernel) as well-formed UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/text.h"

/* Appends `length` bytes of `string` to `text`, with U+FFFD in place of each byte that is not part
 * of a well-formed sequence (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above
 * U+10FFFF). Control characters stay. Failure shows in text->error, as everywhere with Text. */
void utf8_sanitize(Text *text, const char *string, size_t length);

/* A code point of well-formed UTF-8, and its length. */
uint32_t utf8_decode(const char *string, size_t *ret_length);

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
