/* Text files as read, for those that parse them without touching the disk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"

/* The largest file that is read: 1 MiB holds some thousand policies. */
#define SOURCE_FILE_MAX_BYTES ((size_t)1 << 20)

typedef struct SourceFile {
        char *path; /* for messages; owned */
        char *name; /* base name; owned */
        char *text; /* may hold NUL bytes; one more NUL follows it; owned */
        size_t size;
} SourceFile;

/* A piece of a file: lines and columns count from 1, columns and length in characters. */
typedef struct SourceSpan {
        uint32_t line, column;
        uint32_t length; /* within the line; 0: not known */
} SourceSpan;

typedef struct SourceFileList {
        SourceFile *files; /* owned */
        size_t n_files;
        size_t allocated;
} SourceFileList;

void source_file_list_done(SourceFileList *list);
#define _cleanup_source_file_list_ _cleanup_(source_file_list_done)

/* Appends a copy, without the UTF-8 byte-order mark that some editors put first. Returns 0, or
 * -ENOMEM with the list as it was. */
int source_file_list_add(SourceFileList *list, const char *path, const char *text, size_t size);

/* A line of a file: its text without the line break. Lines end as YAML defines it. */
typedef struct SourceLine {
        const char *start, *end;
        const char *next; /* the line after it; NULL: there is none */
} SourceLine;

/* The first line where `line` is zeroed, else the one after it; false: there is none. The end of
 * the file after a line break counts as an empty line. */
bool source_line_next(const SourceFile *file, SourceLine *line);

/* The file of that path, or NULL. */
const SourceFile *source_file_find(const SourceFileList *list, const char *path);

/* A growing list of messages for the author of the input: everything that is wrong with the input,
 * not only the first mistake. Where the messages go (journal, terminal, status) is the caller's
 * business. */

/* More messages would not be read, and a hostile file must not flood the journal. */
#define DIAGNOSTICS_MAX 1000u
/* Only this many messages get an excerpt, because finding a line in a large file takes time. */
#define DIAGNOSTICS_EXCERPTS_MAX 100u

/* Where a message belongs, in parts, for those that show more than its one line. */
typedef struct DiagnosticDetail {
        char *path;            /* NULL: of no file; owned */
        uint32_t line, column; /* 0: of the file as a whole */
        size_t what_offset;    /* in the message: what follows "path:line:column: " */
        char *excerpt;         /* the line, and a caret under it; NULL: none, or one too many;
                                * owned */
} DiagnosticDetail;

typedef struct Diagnostics {
        char **messages;           /* "path:line:column: what", one line each; owned */
        DiagnosticDetail *details; /* beside `messages`; owned */
        size_t n_messages;
        size_t allocated, allocated_details;
        size_t n_added; /* of all that were added: also the same again, and what was too much */
        int error;      /* 0, or -ENOMEM when a message was lost */
} Diagnostics;

void diagnostics_done(Diagnostics *diagnostics);
#define _cleanup_diagnostics_ _cleanup_(diagnostics_done)

/* These functions return no error: `error` is set if a message could not be stored. The first
 * function adds a message without a file, the second a message about a whole file, the third a
 * message about a place in a file. A message that the list already contains is not added again.
 * After DIAGNOSTICS_MAX messages, a last one reports that there are more. */
void diagnostics_addf(Diagnostics *diagnostics, const char *format, ...) _printf_(2, 3);
void diagnostics_add_path(Diagnostics *diagnostics, const char *path, const char *format, ...)
        _printf_(3, 4);
void diagnostics_add_at(Diagnostics *diagnostics, const SourceFile *file, SourceSpan at,
                        const char *format, ...) _printf_(4, 5);

/* What follows the place in a message. */
const char *diagnostics_what(const Diagnostics *diagnostics, size_t i);

/* The message as a terminal shows it: its line, and the excerpt below, indented. */
void diagnostics_render(const Diagnostics *diagnostics, size_t i, Text *text);

/* Small changes of a text file at places that a parser has reported, with everything else, comments
 * too, left as it is. */

#define SOURCE_EDIT_LINE_END UINT32_MAX

typedef struct SourceEdit {
        SourceSpan at; /* `length` characters are replaced; column SOURCE_EDIT_LINE_END: what is
                        * inserted follows the last character of the line */
        char *text;    /* owned */
} SourceEdit;

typedef struct SourceEditList {
        SourceEdit *edits; /* owned */
        size_t n_edits, allocated;
} SourceEditList;

void source_edit_list_done(SourceEditList *list);
#define _cleanup_source_edit_list_ _cleanup_(source_edit_list_done)

/* A copy of `text`. 0 or -ENOMEM. */
int source_edit_add(SourceEditList *list, SourceSpan at, const Text *text);

/* Appends the file with the edits in it, whose lines end as those of the file if all end by "\r\n";
 * sorts them by place, those of one place in the order in which they were added. 0; -EINVAL: the
 * file has no such place, or two overlap; -ENOMEM. */
int source_edit_apply(const SourceFile *file, SourceEditList *list, Text *ret);
