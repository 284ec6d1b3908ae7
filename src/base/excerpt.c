/* The offending line, and a caret under it. */
#include <stdbool.h>
#include <string.h>

#include "tidbnumad/base/excerpt.h"

#define BEFORE 60u /* characters of a long line that stand before the place */
#define CUT "..."

typedef struct Line {
        const char *start, *end;
} Line;

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

static bool find_line(const SourceFile *file, uint32_t number, Line *ret) {
        const char *p = file->text, *end = file->text + file->size, *start = p;
        uint32_t at = 1;

        for (size_t n; p<end; p += n> 0 ? n : 1) {
                n = break_length(p, end);
                if (n == 0)
                        continue;
                if (at == number)
                        break;
                at++;
                start = p + n;
        }
        *ret = (Line){ start, p };
        return at == number;
}

/* The next character, by its first byte. */
static const char *next_character(const char *p, const char *end) {
        for (p++; p < end && ((unsigned char)*p & 0xc0) == 0x80; p++)
                ;
        return p;
}

static uint32_t count_characters(const Line *line) {
        uint32_t n = 0;

        for (const char *p = line->start; p < line->end; p = next_character(p, line->end))
                n++;
        return n;
}

/* The characters from `first` (counted from 1) on, up to `n` of them; with `blank` what stands
 * below them. */
static void append_characters(Text *text, const Line *line, uint32_t first, uint32_t n,
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

/* Parsers tell the end of a text as the start of a line behind the last: that is shown as the end
 * of the last one. */
static bool find_shown(const SourceFile *file, SourceSpan *at, Line *ret) {
        Line before;
        bool found;

        if (at->line == 0 || at->column == 0)
                return false;
        found = find_line(file, at->line, ret);
        if (at->line == 1 || at->column > 1 || (found && ret->start < file->text + file->size))
                return found;
        if (!find_line(file, at->line - 1, &before) || before.start == file->text + file->size)
                return false;
        *ret = before;
        *at = (SourceSpan){ at->line - 1, count_characters(&before) + 1, 1 };
        return true;
}

void excerpt_render(const SourceFile *file, SourceSpan at, Text *text) {
        uint32_t length, first = 1, shown, marked;
        Line line;

        if (!find_shown(file, &at, &line))
                return;
        length = count_characters(&line);
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
