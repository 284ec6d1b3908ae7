/* A growing list of messages. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/excerpt.h"
#include "tidbnumad/base/utf8.h"

static void detail_done(DiagnosticDetail *detail) {
        free(detail->path);
        free(detail->excerpt);
}

void diagnostics_done(Diagnostics *diagnostics) {
        for (size_t i = 0; i < diagnostics->n_messages; i++) {
                free(diagnostics->messages[i]);
                detail_done(&diagnostics->details[i]);
        }
        free(diagnostics->messages);
        free(diagnostics->details);
        *diagnostics = (Diagnostics){ 0 };
}

static bool is_there(const Diagnostics *d, const char *message, const DiagnosticDetail *detail) {
        for (size_t i = 0; i < d->n_messages; i++)
                if (d->details[i].line == detail->line && d->details[i].column == detail->column &&
                    strcmp(d->messages[i], message) == 0)
                        return true;
        return false;
}

/* Takes over both. */
static void keep(Diagnostics *d, char *message, DiagnosticDetail detail) {
        d->n_told++;
        if (d->n_messages > DIAGNOSTICS_MAX || is_there(d, message, &detail)) {
                free(message);
                detail_done(&detail);
                return;
        }
        if (d->n_messages == DIAGNOSTICS_MAX) {
                free(message);
                detail_done(&detail);
                detail = (DiagnosticDetail){ 0 };
                message = strdup("more errors follow; correct the ones above first");
        }
        if (!message || ARRAY_RESERVE(d->messages, d->allocated, d->n_messages + 1) < 0 ||
            ARRAY_RESERVE(d->details, d->allocated_details, d->n_messages + 1) < 0) {
                free(message);
                detail_done(&detail);
                d->error = -ENOMEM;
                return;
        }
        d->messages[d->n_messages] = message;
        d->details[d->n_messages++] = detail;
}

/* Beyond the bound nothing is formatted any more: a hostile file has no end of faults. */
static bool is_full(Diagnostics *d) {
        if (d->n_messages <= DIAGNOSTICS_MAX)
                return false;
        d->n_told++;
        return true;
}

/* Names of files, and words out of them, are anybody's. */
static int make_visible(char **message) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "");
        text_append_printable(&text, *message);
        free(*message);
        *message = text.error < 0 ? NULL : TAKE_PTR(text.data);
        return text.error;
}

void diagnostics_addf(Diagnostics *diagnostics, const char *format, ...) {
        char *message = NULL;
        va_list args;
        int n;

        if (is_full(diagnostics))
                return;
        va_start(args, format);
        n = vasprintf(&message, format, args);
        va_end(args);
        if (n < 0 || make_visible(&message) < 0)
                diagnostics->error = -ENOMEM;
        else
                keep(diagnostics, message, (DiagnosticDetail){ 0 });
}

/* "place: what". Takes over `detail`, whose place in a message `place` is. */
_printf_(4, 0) static void add_placed(Diagnostics *d, const char *place, DiagnosticDetail detail,
                                      const char *format, va_list args) {
        _cleanup_free_ char *what = NULL;
        _cleanup_text_ Text visible = { 0 };
        char *message;

        if (vasprintf(&what, format, args) < 0)
                what = NULL;
        if (what && make_visible(&what) >= 0)
                text_append_printable(&visible, place);
        if (!what || visible.error < 0 || !detail.path ||
            asprintf(&message, "%s: %s", visible.data, what) < 0) {
                detail_done(&detail);
                d->error = -ENOMEM;
                return;
        }
        detail.what_offset = visible.length + strlen(": ");
        keep(d, message, detail);
}

void diagnostics_add_path(Diagnostics *diagnostics, const char *path, const char *format, ...) {
        int saved = errno; /* for %m */
        DiagnosticDetail detail = { 0 };
        va_list args;

        if (is_full(diagnostics))
                return;
        detail.path = strdup(path);
        errno = saved;
        va_start(args, format);
        add_placed(diagnostics, path, detail, format, args);
        va_end(args);
}

void diagnostics_add_at(Diagnostics *diagnostics, const SourceFile *file, SourceSpan at,
                        const char *format, ...) {
        _cleanup_text_ Text place = { 0 }, excerpt = { 0 };
        DiagnosticDetail detail = { .line = at.line, .column = at.column };
        va_list args;

        if (is_full(diagnostics))
                return;
        text_appendf(&place, "%s:%u:%u", file->path, at.line, at.column);
        if (diagnostics->n_messages < DIAGNOSTICS_EXCERPTS_MAX)
                excerpt_render(file, at, &excerpt);
        if (place.error < 0 || excerpt.error < 0) {
                diagnostics->error = -ENOMEM;
                return;
        }
        detail.path = strdup(file->path);
        detail.excerpt = TAKE_PTR(excerpt.data);
        va_start(args, format);
        add_placed(diagnostics, place.data, detail, format, args);
        va_end(args);
}

const char *diagnostics_what(const Diagnostics *diagnostics, size_t i) {
        return diagnostics->messages[i] + diagnostics->details[i].what_offset;
}

void diagnostics_render(const Diagnostics *diagnostics, size_t i, Text *text) {
        const char *excerpt = diagnostics->details[i].excerpt;
        const char *caret = excerpt ? strchr(excerpt, '\n') : NULL;

        text_appendf(text, "%s\n", diagnostics->messages[i]);
        if (caret)
                text_appendf(text, "    %.*s\n    %s\n", (int)(caret - excerpt), excerpt,
                             caret + 1);
}
