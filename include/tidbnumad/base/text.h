/* A growing text that is rendered again and again into the same memory.
 *
 * Appending never fails at the call: the first failure is kept in `error`, later calls do nothing,
 * and the caller checks `error` once at the end. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/base/cleanup.h"

typedef struct Text {
        char *data; /* NUL-terminated once anything was appended; owned */
        size_t length;
        size_t allocated;
        int error; /* 0 or -ENOMEM */
} Text;

void text_done(Text *text);
void text_reset(Text *text); /* empties it, keeps the memory */
void text_append(Text *text, const char *string);
void text_append_bytes(Text *text, const char *data, size_t length);
void text_appendf(Text *text, const char *format, ...) _printf_(2, 3);
void text_appendv(Text *text, const char *format, va_list args) _printf_(2, 0);

/* Does the text end with `suffix`, and have something before it? `text` may be NULL. The second
 * function is for the first `length` bytes of a text. */
bool text_ends_with(const char *text, const char *suffix);
bool text_ends_with_n(const char *text, size_t length, const char *suffix);

/* Also equal: both are NULL. */
bool text_equal(const char *a, const char *b);

/* A new string; NULL: no memory. */
char *text_new(const char *format, ...) _printf_(1, 2);
char *text_newv(const char *format, va_list args) _printf_(1, 0);

#define _cleanup_text_ _cleanup_(text_done)
