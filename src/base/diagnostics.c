/* Messages, each with the line that it is about; files as text, their lines, and edits of them. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/text.h"

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

/* Adds "place: what", or with `place` NULL only what. Takes over `detail`. Names of files, and
 * words out of them, are anybody's: both are made visible. */
_printf_(4, 0) static void diagnostics_addv(Diagnostics *d, const char *place,
                                            DiagnosticDetail detail, const char *format,
                                            va_list args) {
        _cleanup_free_ char *what = text_newv(format, args);
        _cleanup_text_ Text message = { 0 };
        bool there = false;

        if (!what || (place && !detail.path))
                goto lost;
        if (place) {
                text_append_printable(&message, place);
                text_append(&message, ": ");
                detail.what_offset = message.length;
        }
        text_append(&message, "");
        text_append_printable(&message, what);
        if (message.error < 0)
                goto lost;
        d->n_added++;
        for (size_t i = 0; i < d->n_messages; i++)
                there |= d->details[i].line == detail.line &&
                         d->details[i].column == detail.column &&
                         strcmp(d->messages[i], message.data) == 0;
        if (there) {
                detail_done(&detail);
                return;
        }
        if (d->n_messages == DIAGNOSTICS_MAX) {
                detail_done(&detail);
                detail = (DiagnosticDetail){ 0 };
                text_reset(&message);
                text_append(&message, "more errors follow; correct the ones above first");
        }
        if (message.error < 0 || ARRAY_RESERVE(d->messages, d->allocated, d->n_messages + 1) < 0 ||
            ARRAY_RESERVE(d->details, d->allocated_details, d->n_messages + 1) < 0)
                goto lost;
        d->messages[d->n_messages] = TAKE_PTR(message.data);
        d->details[d->n_messages++] = detail;
        return;
lost:
        detail_done(&detail);
        d->error = -ENOMEM;
}

/* Beyond the bound nothing is formatted any more: a hostile file has no end of faults. */
static bool is_full(Diagnostics *d) {
        if (d->n_messages <= DIAGNOSTICS_MAX)
                return false;
        d->n_added++;
        return true;
}

void diagnostics_addf(Diagnostics *diagnostics, const char *format, ...) {
        va_list args;

        if (is_full(diagnostics))
                return;
        va_start(args, format);
        diagnostics_addv(diagnostics, NULL, (DiagnosticDetail){ 0 }, format, args);
        va_end(args);
}

static const char *next_character(const char *p, const char *end) {
        for (p++; p < end && utf8_continues(*p); p++)
                ;
        return p;
}

/* --- the offending line, and a caret under it --- */

#define EXCERPT_WIDTH 100u /* characters of a long line that are shown around the place */
#define BEFORE 60u         /* characters of a long line before the place */
#define CUT "..."

static bool source_line_find(const SourceFile *file, uint32_t number, SourceLine *ret) {
        uint32_t at = 0;

        *ret = (SourceLine){ 0 };
        while (at < number && source_line_next(file, ret))
                at++;
        return at == number;
}

/* The characters from `first` (counted from 1) on, up to `n` of them; with `blank`, what is
 * printed below them. */
static void append_characters(Text *text, const SourceLine *line, uint32_t first, uint32_t n,
                              bool blank) {
        const char *p = line->start;

        for (uint32_t i = 1; i < first && p < line->end; i++)
                p = next_character(p, line->end);
        for (uint32_t i = 0; i < n; i++) {
                char c = p < line->end ? *p : ' ';

                if (c != '\t')
                        c = blank ? ' ' : c >= 0x20 && c < 0x7f ? c : '?';
                text_append(text, (const char[]){ c, '\0' });
                if (p < line->end)
                        p = next_character(p, line->end);
        }
}

/* Two lines, the second without its newline: the source as it is safe on a terminal (one "?" for
 * each character that is not printable ASCII), and a "^" under the column with "~" under the rest
 * of the span. Both keep the tabs, so that they align. Nothing if the file has no such line. Lines
 * end as YAML defines it. */
static void excerpt_render(const SourceFile *file, SourceSpan at, Text *text) {
        uint32_t length, first = 1, shown, marked;
        SourceLine line;
        bool found;

        if (at.line == 0 || at.column == 0)
                return;
        found = source_line_find(file, at.line, &line);
        /* Parsers report the end of a text as the start of a line behind the last one: it is shown
         * as the end of the last line. */
        if (at.line > 1 && at.column == 1 && (!found || line.start == file->text + file->size)) {
                found = source_line_find(file, at.line - 1, &line) &&
                        line.start < file->text + file->size;
                if (found)
                        at = (SourceSpan){ at.line - 1,
                                           (uint32_t)utf8_count(line.start, line.end) + 1, 1 };
        }
        if (!found)
                return;
        length = (uint32_t)utf8_count(line.start, line.end);
        if (at.column > length + 1)
                return;
        if (length > EXCERPT_WIDTH && at.column > BEFORE)
                first = at.column - BEFORE;
        shown = length + 1 - first < EXCERPT_WIDTH ? length + 1 - first : EXCERPT_WIDTH;

        text_append(text, first > 1 ? CUT : "");
        append_characters(text, &line, first, shown, false);
        text_append(text, first + shown <= length ? CUT "\n" : "\n");

        text_append(text, first > 1 ? "   " : "");
        append_characters(text, &line, first, at.column - first, true);
        text_append(text, "^");
        marked = first + shown > at.column ? first + shown - at.column : 1;
        for (uint32_t i = 1; i < at.length && i < marked; i++)
                text_append(text, "~");
}

/* --- messages about places --- */

void diagnostics_add_path(Diagnostics *diagnostics, const char *path, const char *format, ...) {
        int saved = errno; /* for %m */
        DiagnosticDetail detail = { 0 };
        va_list args;

        if (is_full(diagnostics))
                return;
        detail.path = strdup(path);
        errno = saved;
        va_start(args, format);
        diagnostics_addv(diagnostics, path, detail, format, args);
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
        diagnostics_addv(diagnostics, place.data, detail, format, args);
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

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static void file_done(SourceFile *file) {
        free(file->path);
        free(file->name);
        free(file->text);
        *file = (SourceFile){ 0 };
}

void source_file_list_done(SourceFileList *list) {
        for (size_t i = 0; i < list->n_files; i++)
                file_done(&list->files[i]);
        free(list->files);
        *list = (SourceFileList){ 0 };
}

int source_file_list_add(SourceFileList *list, const char *path, const char *text, size_t size) {
        size_t mark = size >= strlen(BYTE_ORDER_MARK) &&
                                      memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0
                              ? strlen(BYTE_ORDER_MARK)
                              : 0;
        SourceFile file = {
                .path = strdup(path),
                .name = strdup(basename(path)),
                .text = malloc(size - mark + 1),
                .size = size - mark,
        };

        if (!file.path || !file.name || !file.text ||
            ARRAY_RESERVE(list->files, list->allocated, list->n_files + 1) < 0) {
                file_done(&file);
                return -ENOMEM;
        }
        if (file.size > 0)
                memcpy(file.text, text + mark, file.size);
        file.text[file.size] = '\0';
        list->files[list->n_files++] = file;
        return 0;
}

const SourceFile *source_file_find(const SourceFileList *list, const char *path) {
        for (size_t i = 0; i < list->n_files; i++)
                if (strcmp(list->files[i].path, path) == 0)
                        return &list->files[i];
        return NULL;
}

/* The length of the line break at `p`, or 0. YAML 1.1 knows five of them. */
static size_t break_length(const char *p, const char *end) {
        size_t left = (size_t)(end - p);

        if (*p == '\n')
                return 1;
        if (*p == '\r')
                return left > 1 && p[1] == '\n' ? 2 : 1;
        if (left > 1 && memcmp(p, "\xc2\x85", 2) == 0)
                return 2;
        if (left > 2 && (memcmp(p, "\xe2\x80\xa8", 3) == 0 || memcmp(p, "\xe2\x80\xa9", 3) == 0))
                return 3;
        return 0;
}

bool source_line_next(const SourceFile *file, SourceLine *line) {
        const char *end = file->text + file->size, *p;
        size_t n = 0;

        if (line->start && !line->next)
                return false;
        line->start = line->start ? line->next : file->text;
        for (p = line->start; p < end; p++) {
                n = break_length(p, end);
                if (n > 0)
                        break;
        }
        line->end = p;
        line->next = n > 0 ? p + n : NULL;
        return true;
}

void source_edit_list_done(SourceEditList *list) {
        for (size_t i = 0; i < list->n_edits; i++)
                free(list->edits[i].text);
        free(list->edits);
        *list = (SourceEditList){ 0 };
}

int source_edit_add(SourceEditList *list, SourceSpan at, const Text *text) {
        if (text->error < 0 || ARRAY_RESERVE(list->edits, list->allocated, list->n_edits + 1) < 0)
                return -ENOMEM;
        list->edits[list->n_edits] = (SourceEdit){ .at = at, .text = strdup(text_string(text)) };
        return list->edits[list->n_edits++].text ? 0 : -ENOMEM;
}

int source_edit_apply(const SourceFile *file, SourceEditList *list, Text *ret) {
        const char *done = file->text;
        SourceLine line = { 0 }, any = { 0 };
        uint32_t number = 0;
        bool crlf = false;

        while (source_line_next(file, &any) && any.next) {
                crlf = any.next - any.end == 2 && any.end[0] == '\r';
                if (!crlf)
                        break;
        }
        /* By insertion, which keeps the order of equal ones: they come nearly sorted. */
        for (size_t i = 1; i < list->n_edits; i++) {
                const SourceEdit edit = list->edits[i];
                size_t k = i;

                for (; k > 0 && (edit.at.line < list->edits[k - 1].at.line ||
                                 (edit.at.line == list->edits[k - 1].at.line &&
                                  edit.at.column < list->edits[k - 1].at.column));
                     k--)
                        list->edits[k] = list->edits[k - 1];
                list->edits[k] = edit;
        }
        for (size_t i = 0; i < list->n_edits; i++) {
                const SourceEdit *edit = &list->edits[i];
                const uint32_t column = edit->at.column;
                const char *from, *to;

                while (number < edit->at.line && source_line_next(file, &line))
                        number++;
                if (number != edit->at.line || number == 0 || column == 0)
                        return -EINVAL;
                from = column == SOURCE_EDIT_LINE_END ? line.end : line.start;
                for (uint32_t k = 1; k < column && column != SOURCE_EDIT_LINE_END; k++) {
                        if (from == line.end)
                                return -EINVAL;
                        from = next_character(from, line.end);
                }
                if (from < done)
                        return -EINVAL;
                to = from;
                for (uint32_t k = 0; k < edit->at.length && to < line.end; k++)
                        to = next_character(to, line.end);
                text_append_bytes(ret, done, (size_t)(from - done));
                for (const char *c = edit->text; *c; c++) {
                        if (crlf && *c == '\n')
                                text_append(ret, "\r");
                        text_append_bytes(ret, c, 1);
                }
                done = to;
        }
        text_append_bytes(ret, done, (size_t)(file->text + file->size - done));
        return ret->error;
}
