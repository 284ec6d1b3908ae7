/* Translates libyaml's errors into the mistakes that people make: libyaml's messages name states of
 * its parser, and the reported place is often a line too late. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-yaml.h"

/* Lines and columns count from 0, as libyaml's do; columns in characters. */
typedef struct Line {
        const char *start, *end;
        size_t number;
} Line;

typedef struct Fault {
        const SourceFile *file;
        const yaml_parser_t *parser;
        Diagnostics *errors;
        Line line; /* of the problem */
        char at;   /* the character there; NUL at the end of the line */
} Fault;

#define REFUSE_AT(f, line_, column_, ...)                                                          \
        diagnostics_add_at((f)->errors, (f)->file,                                                 \
                           (SourceSpan){ (uint32_t)(line_) + 1, (uint32_t)(column_) + 1, 1 },      \
                           "not valid YAML: " __VA_ARGS__)
#define REFUSE(f, ...)                                                                             \
        REFUSE_AT(f, (f)->parser->problem_mark.line, (f)->parser->problem_mark.column, __VA_ARGS__)
#define REFUSE_CONTEXT(f, ...)                                                                     \
        REFUSE_AT(f, (f)->parser->context_mark.line, (f)->parser->context_mark.column, __VA_ARGS__)

static Line find_line(const SourceFile *file, size_t number) {
        const char *p = file->text, *end = file->text + file->size, *newline;

        for (size_t i = 0; i < number && p < end; i++) {
                newline = memchr(p, '\n', (size_t)(end - p));
                p = newline ? newline + 1 : end;
        }
        newline = memchr(p, '\n', (size_t)(end - p));
        return (Line){ p, newline ? newline : end, number };
}

/* The byte of a column, or the end of the line. */
static const char *find_column(const Line *line, size_t column) {
        const char *p = line->start;

        for (; p < line->end; p++)
                if (!utf8_continues(*p) && column-- == 0)
                        break;
        return p;
}

static const char *skip_blanks(const char *p, const char *end) {
        while (p < end && *p == ' ')
                p++;
        return p;
}

/* Where the first key of the line is, behind the dashes of a list. */
static size_t key_column(const Line *line) {
        const char *p = skip_blanks(line->start, line->end);

        while (p + 1 < line->end && p[0] == '-' && p[1] == ' ')
                p = skip_blanks(p + 1, line->end);
        return utf8_count(line->start, p);
}

/* The nearest line above that is neither empty nor a comment; the line itself where there is none.
 */
static Line line_above(const SourceFile *file, const Line *line) {
        Line above = *line;

        while (above.number > 0 && above.start > file->text) {
                const char *p;

                above.end = above.start - 1; /* its newline */
                p = memrchr(file->text, '\n', (size_t)(above.end - file->text));
                above.start = p ? p + 1 : file->text;
                above.number--;
                p = skip_blanks(above.start, above.end);
                if (p < above.end && *p != '#' && *p != '\r')
                        return above;
        }
        return *line;
}

/* The first colon of the line that a blank follows, or that none does; NULL: there is none. */
static const char *find_colon(const Line *line, const char *end, bool with_blank) {
        for (const char *p = line->start; p < end; p++)
                if (*p == ':' && (p + 1 == line->end || strchr(" \r", p[1])) == with_blank)
                        return p;
        return NULL;
}

/* --- characters that are confused with others --- */

const char *policy_yaml_lookalike(const char *text, size_t size, size_t *ret_index) {
        static const struct {
                const char *bytes, *message;
        } characters[] = {
                { "\xc2\xa0", "a no-break space (U+00A0), expected an ordinary space" },
                { "\xe2\x80\xaf", "a no-break space (U+202F), expected an ordinary space" },
                { "\xe3\x80\x80", "an ideographic space (U+3000), expected an ordinary space" },
                { "\xe2\x80\x8b", "an invisible space (U+200B); remove it" },
                { "\xef\xbb\xbf", "an invisible byte-order mark (U+FEFF); remove it" },
                { "\xe2\x80\x9c", "a curly quote (U+201C), expected a straight one" },
                { "\xe2\x80\x9d", "a curly quote (U+201D), expected a straight one" },
                { "\xe2\x80\x98", "a curly quote (U+2018), expected a straight one" },
                { "\xe2\x80\x99", "a curly quote (U+2019), expected a straight one" },
                { "\xe2\x80\x93", "a dash (U+2013), expected a hyphen (-)" },
                { "\xe2\x80\x94", "a dash (U+2014), expected a hyphen (-)" },
                { "\xef\xbc\x9a", "a full-width colon (U+FF1A), expected : and a space" },
                { "\xef\xbc\x8c", "a full-width comma (U+FF0C), expected an ordinary comma" },
        };
        const char *end = text + size;

        for (const char *p = text; p < end; p++)
                for (size_t i = 0; ((unsigned char)*p & 0x80) && i < ELEMENTSOF(characters); i++) {
                        size_t n = strlen(characters[i].bytes);

                        if ((size_t)(end - p) < n || memcmp(p, characters[i].bytes, n) != 0)
                                continue;
                        *ret_index = utf8_count(text, p);
                        return characters[i].message;
                }
        return NULL;
}

/* In the line of the problem or in that above, which often is the one to blame. */
static bool refuse_lookalike(const Fault *f) {
        const Line lines[] = { line_above(f->file, &f->line), f->line };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                const Line *line = &lines[i];
                const char *comment = memchr(line->start, '#', (size_t)(line->end - line->start));
                const char *end = comment ? comment : line->end;
                size_t index;
                const char *message =
                        policy_yaml_lookalike(line->start, (size_t)(end - line->start), &index);

                if (!message)
                        continue;
                diagnostics_add_at(
                        f->errors, f->file,
                        (SourceSpan){ (uint32_t)line->number + 1, (uint32_t)index + 1, 1 }, "%s",
                        message);
                return true;
        }
        return false;
}

/* --- what depends on the lines around --- */

static void refuse_indentation(const Fault *f, size_t column, size_t line) {
        REFUSE_AT(f, f->line.number, key_column(&f->line),
                  "wrong indentation, expected column %zu as in line %zu", column + 1, line + 1);
}

/* The mapping or the list that continues here begins at the context's mark. */
static void refuse_in_block(const Fault *f) {
        const yaml_mark_t *context = &f->parser->context_mark;
        const char *start = skip_blanks(f->line.start, f->line.end);
        const bool is_first = utf8_count(f->line.start, start) == f->parser->problem_mark.column;
        Line first = find_line(f->file, context->line), above = line_above(f->file, &f->line);

        if (is_first && f->at == '-')
                REFUSE(f,
                       "wrong indentation: an entry of a list (-) among the keys that begin in "
                       "line %zu, expected it in the column of the other entries",
                       context->line + 1);
        else if (is_first)
                refuse_indentation(f, key_column(&first), context->line);
        else if (f->at == '}' || f->at == ']')
                REFUSE(f, "this %c closes nothing; remove it", f->at);
        if (is_first || f->at == '}' || f->at == ']')
                return;
        /* A quote that was not closed in the line above ends at the first quote of this line. */
        for (const char *quote = "\"'"; *quote && above.number < f->line.number; quote++) {
                const char *last = NULL;
                size_t n = 0;

                for (const char *p = above.start; p < above.end; p++)
                        if (*p == *quote) {
                                last = p;
                                n++;
                        }
                if (n % 2 == 0)
                        continue;
                REFUSE_AT(f, above.number, utf8_count(above.start, last),
                          "the quote that begins here is not closed, expected %c at the end of the "
                          "value",
                          *quote);
                return;
        }
        REFUSE(f, "text after the end of the value; put the whole value in quotes");
}

/* A colon inside the continued value of another key. */
static void refuse_colon(const Fault *f) {
        const char *here = find_column(&f->line, f->parser->problem_mark.column);
        Line above = line_above(f->file, &f->line);
        const char *p = skip_blanks(above.start, above.end);
        const char *colon = find_colon(&above, above.end, true);

        if (find_colon(&f->line, here, true))
                REFUSE(f, "a second colon in the line; put the value in quotes, or begin a new "
                          "line for the next key");
        else if (!colon && find_colon(&above, above.end, false))
                REFUSE_AT(f, above.number,
                          utf8_count(above.start, find_colon(&above, above.end, false)),
                          "a space is missing after this colon");
        else if (p + 1 < above.end && *p == '-' && isalnum((unsigned char)p[1]))
                REFUSE_AT(f, above.number, utf8_count(above.start, p),
                          "a space is missing after this dash");
        else
                refuse_indentation(f, key_column(&above), above.number);
}

static void refuse_key(const Fault *f) {
        Line line = find_line(f->file, f->parser->context_mark.line);
        const char *start = find_column(&line, f->parser->context_mark.column);
        const char *colon = memchr(start, ':', (size_t)(line.end - start));

        if (colon && colon + 1 < line.end)
                REFUSE_AT(f, line.number, utf8_count(line.start, colon),
                          "a space is missing after this colon");
        else
                REFUSE_CONTEXT(f, "a key without a colon, expected `key: value`");
}

/* Inside of [ ] or { }, which the context's mark is at. */
static void refuse_in_brackets(const Fault *f) {
        const yaml_mark_t *context = &f->parser->context_mark;
        bool list = strstr(f->parser->context, "sequence");

        if (f->line.number > context->line)
                REFUSE_CONTEXT(f, "this %c is not closed, expected %c at the end", list ? '[' : '{',
                               list ? ']' : '}');
        else if (f->at == ':')
                REFUSE(f, "a colon inside a value; a comma is missing before this key, or put the "
                          "value in quotes");
        else
                REFUSE(f, "expected a comma or %c here", list ? ']' : '}');
}

static void refuse_no_content(const Fault *f) {
        if (f->at == '\0' && f->parser->problem_mark.index >= f->file->size)
                REFUSE(f, "the file ends inside [ ] or { }, expected the closing bracket");
        else if (f->at == '\0' || isspace((unsigned char)f->at))
                REFUSE(f, "a value is missing here");
        else
                REFUSE(f, "a value cannot begin with %c; remove it, or put the value in quotes",
                       f->at);
}

static void refuse_start(const Fault *f) {
        if (f->at == '\t')
                REFUSE(f, "a tab; indent with spaces, not with tabs");
        else
                REFUSE(f, "a value cannot begin with %c; put the value in quotes", f->at);
}

static void refuse_open_quote(const Fault *f) {
        Line line = find_line(f->file, f->parser->context_mark.line);

        REFUSE_CONTEXT(
                f, "the quote that begins here is not closed, expected %c at the end of the value",
                *find_column(&line, f->parser->context_mark.column));
}

static void refuse_indicator(const Fault *f) {
        Line line = find_line(f->file, f->parser->context_mark.line);

        REFUSE_CONTEXT(f, "a value that begins with %c, such as a glob, must be in quotes",
                       *find_column(&line, f->parser->context_mark.column));
}

static void refuse_directive(const Fault *f) {
        REFUSE_CONTEXT(f, "a line that begins with %%; remove it, or begin it with # as a comment");
}

void policy_yaml_refuse_syntax(const SourceFile *file, const yaml_parser_t *parser,
                               Diagnostics *errors) {
        static const struct {
                const char *problem, *context; /* parts of libyaml's words; NULL: any */
                void (*refuse)(const Fault *);
                const char *message; /* in its place, at the problem's mark */
        } faults[] = {
                { "found a tab character", NULL, refuse_start },
                { "cannot start any token", NULL, refuse_start },
                { "unexpected end of stream", "quoted scalar", refuse_open_quote },
                { "unexpected document indicator", "quoted scalar", refuse_open_quote },
                { NULL, "parsing a quoted scalar", NULL,
                  "not a valid escape in double quotes; write the backslash twice, or use single "
                  "quotes" },
                { NULL, "scanning an alias", refuse_indicator },
                { NULL, "scanning an anchor", refuse_indicator },
                { NULL, "a tag", refuse_indicator },
                { NULL, "scanning a block scalar", refuse_indicator },
                { NULL, "directive", refuse_directive },
                { "could not find expected ':'", NULL, refuse_key },
                { "mapping values are not allowed", NULL, refuse_colon },
                { "mapping keys are not allowed", NULL, NULL,
                  "a value that begins with ? must be in quotes" },
                { "block sequence entries are not", NULL, NULL,
                  "a list cannot begin on the line of its key; begin it on the next line, or write "
                  "[a, b]" },
                { "did not find expected key", NULL, refuse_in_block },
                { "did not find expected '-'", NULL, refuse_in_block },
                { "did not find expected ','", NULL, refuse_in_brackets },
                { "expected node content", NULL, refuse_no_content },
                { "expected <document start>", NULL, NULL,
                  "not part of the lines above, expected all top-level keys in one column" },
        };
        const char *problem = parser->problem, *context = parser->context, *p;
        Fault f = { .file = file, .parser = parser, .errors = errors };

        f.line = find_line(file, parser->problem_mark.line);
        p = find_column(&f.line, parser->problem_mark.column);
        f.at = p < f.line.end ? *p : '\0';
        if (parser->error == YAML_READER_ERROR) {
                /* A character that is no text has no mark, only the offset of its bytes. */
                const char *end =
                        file->text +
                        (parser->problem_offset < file->size ? parser->problem_offset : file->size);
                const char *start = end;
                size_t line = 0;

                while (start > file->text && start[-1] != '\n')
                        start--;
                for (p = file->text; p < start; p++)
                        line += *p == '\n';
                REFUSE_AT(&f, line, utf8_count(start, end), "%s",
                          strstr(problem, "control characters")
                                  ? "a control character; remove it"
                                  : "not UTF-8 text; save the file as UTF-8");
                return;
        }
        if (refuse_lookalike(&f))
                return;
        for (size_t i = 0; i < ELEMENTSOF(faults); i++) {
                if ((faults[i].problem && !strstr(problem, faults[i].problem)) ||
                    (faults[i].context && !(context && strstr(context, faults[i].context))))
                        continue;
                if (faults[i].refuse)
                        faults[i].refuse(&f);
                else
                        REFUSE(&f, "%s", faults[i].message);
                return;
        }
        REFUSE(&f, "%s; check the indentation and the quotes of this line and the one above",
               problem);
}
