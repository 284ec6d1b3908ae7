/* A growing list of messages for whoever wrote the input: all that is wrong with it, not the first
 * thing only. Where the messages go (journal, terminal, status) is the caller's business. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/source-file.h"
#include "tidbnumad/base/text.h"

/* Nobody reads more of them, and a hostile file must not flood the journal. */
#define DIAGNOSTICS_MAX 1000u
/* So many have an excerpt: looking for a line in a large file takes its time. */
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

/* These never fail at the call: `error` is set for what could not be kept. The first adds a
 * message of no file, the second one of a file as a whole, the third one of a place in it. A
 * message that is there already is not added again. After DIAGNOSTICS_MAX one more says that
 * there are more. */
void diagnostics_addf(Diagnostics *diagnostics, const char *format, ...) _printf_(2, 3);
void diagnostics_add_path(Diagnostics *diagnostics, const char *path, const char *format, ...)
        _printf_(3, 4);
void diagnostics_add_at(Diagnostics *diagnostics, const SourceFile *file, SourceSpan at,
                        const char *format, ...) _printf_(4, 5);

/* What follows the place in a message. */
const char *diagnostics_what(const Diagnostics *diagnostics, size_t i);

/* The message as a terminal shows it: its line, and the excerpt below, indented. */
void diagnostics_render(const Diagnostics *diagnostics, size_t i, Text *text);

/* So much of a long line is shown, around the place. */
#define EXCERPT_WIDTH 100u

/* Appends two lines, the second without its newline: the source as it is safe on a terminal (one
 * "?" for each character that is not printable ASCII), and a "^" under the column with "~" under
 * the rest of the span. Both keep the tabs, so that they align. Appends nothing where the text
 * has no such line. Lines end where YAML says they do. */
void excerpt_render(const SourceFile *file, SourceSpan at, Text *text);
