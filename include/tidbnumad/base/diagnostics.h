/* A growing list of messages for the author of the input: everything that is wrong with the input,
 * not only the first mistake. Where the messages go (journal, terminal, status) is the caller's
 * business. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/source-file.h"
#include "tidbnumad/base/text.h"

/* More messages would not be read, and a hostile file must not flood the journal. */
#define DIAGNOSTICS_MAX 1000u
/* Only this many messages get an excerpt, because finding a line in a large file takes time. */
#define DIAGNOSTICS_EXCERPTS_MAX 100u

/* Where a message belongs, in parts, for those that show more than its one line. */
typedef struct DiagnosticDetail {
        char *path;            /* NULL: of no file; owned */
        uint32_t line, column; /* 0: of the file as a whole */
        size_t what_offset;    /* in the message: what follows "path:line:column: " */
        char *excerpt;         /* two lines, see excerpt_render(); NULL: none, or one too many;
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

/* Number of columns of a long line that are shown around the place. */
#define EXCERPT_WIDTH 100u

/* Appends two lines, the second without its newline: the source as it is safe on a terminal (one
 * "?" for each character that is not printable ASCII), and a "^" under the column with "~" under
 * the rest of the span. Both keep the tabs, so that they align. Appends nothing if the file has no
 * such line. Lines end as YAML defines it. */
void excerpt_render(const SourceFile *file, SourceSpan at, Text *text);
