/* Rows of text in aligned columns, for terminals and files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/base/text.h"

enum { TABLE_COLUMNS_MAX = 16 };

typedef struct Table {
        size_t n_columns;
        size_t state_column; /* whose words have colours; n_columns: none */
        bool colors;         /* the text is for a terminal that shows them */
        char **cells;        /* row by row, the headings first; owned */
        size_t n_cells, allocated;
        int error; /* 0 or -ENOMEM */
} Table;

/* `headings` has `n_columns` of them. */
void table_init(Table *table, const char *const *headings, size_t n_columns);
void table_done(Table *table);
#define _cleanup_table_ _cleanup_(table_done)

/* The next cell, from left to right and then in the next row. What is not printable in it becomes
 * "\x1b" (base/text.h): names come from processes. Never fails at the call. */
void table_add(Table *table, const char *cell);
void table_addf(Table *table, const char *format, ...) _printf_(2, 3);

/* A cell that was put together in `cell`, which is empty then. */
void table_add_text(Table *table, Text *cell);

/* Two blanks between columns, none at the end of a line. With a `width` other than 0, cells of
 * several words and lists of CPUs are broken between words so that lines are no longer, as far as
 * words allow it. A table without rows is nothing at all. Failure shows in text->error. */
void table_render(const Table *table, unsigned width, Text *text);
