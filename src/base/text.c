#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
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

static int reserve(Text *text, size_t more) {
        if (text->error == 0 &&
            ARRAY_RESERVE(text->data, text->allocated, text->length + more + 1) < 0)
                text->error = -ENOMEM;
        return text->error;
}

void text_append_bytes(Text *text, const char *data, size_t length) {
        if (reserve(text, length) < 0)
                return;
        if (length > 0)
                memcpy(text->data + text->length, data, length);
        text->length += length;
        text->data[text->length] = '\0';
}

void text_append(Text *text, const char *string) {
        text_append_bytes(text, string, strlen(string));
}

void text_appendv(Text *text, const char *format, va_list args) {
        const size_t room = text->error == 0 ? text->allocated - text->length : 0;
        va_list again;
        int n;

        /* Most fit into what is there already. */
        va_copy(again, args);
        n = vsnprintf(room > 0 ? text->data + text->length : NULL, room, format, again);
        va_end(again);
        if (n < 0 || reserve(text, (size_t)n) < 0)
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

bool text_equal(const char *a, const char *b) {
        return a && b ? strcmp(a, b) == 0 : a == b;
}
