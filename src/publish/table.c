/* Rows of text in aligned columns. A letter counts as one column: names of this field are ASCII. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/utf8.h"
#include "tidbnumad/publish/table.h"

/* Narrower than this, the last column is left as it is. */
enum { LAST_COLUMN_MIN = 20, GAP = 2 };

void table_init(Table *table, const char *const *headings, size_t n_columns) {
        *table = (Table){ .n_columns = n_columns };
        for (size_t i = 0; i < n_columns; i++)
                table_add(table, headings[i]);
}

void table_done(Table *table) {
        for (size_t i = 0; i < table->n_cells; i++)
                free(table->cells[i]);
        free(table->cells);
        *table = (Table){ 0 };
}

void table_add(Table *table, const char *cell) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "");
        text_append_printable(&text, cell);
        if (text.error < 0 ||
            ARRAY_RESERVE(table->cells, table->allocated, table->n_cells + 1) < 0) {
                table->error = -ENOMEM;
                return;
        }
        table->cells[table->n_cells++] = TAKE_PTR(text.data);
}

void table_addf(Table *table, const char *format, ...) {
        _cleanup_text_ Text cell = { 0 };
        va_list args;

        va_start(args, format);
        text_appendv(&cell, format, args);
        va_end(args);
        table_add_text(table, &cell);
}

void table_add_text(Table *table, Text *cell) {
        if (cell->error < 0)
                table->error = cell->error;
        table_add(table, cell->data ? cell->data : "");
        text_reset(cell);
}

/* Letters: bytes that do not continue one. */
static size_t letters(const char *cell, size_t n_bytes) {
        size_t n = 0;

        for (size_t i = 0; i < n_bytes; i++)
                n += ((unsigned char)cell[i] & 0xc0) != 0x80;
        return n;
}

static size_t column_width(const Table *table, size_t column) {
        size_t width = 0;

        for (size_t i = column; i < table->n_cells; i += table->n_columns) {
                size_t n = letters(table->cells[i], strlen(table->cells[i]));

                width = n > width ? n : width;
        }
        return width;
}

static void pad(Text *text, size_t n) {
        while (n-- > 0)
                text_append(text, " ");
}

/* How many bytes of the cell go on this line: up to the last blank within `room`, else up to the
 * first one behind it. */
static size_t piece(const char *cell, size_t room) {
        size_t end = strlen(cell), best = 0;

        if (room == 0 || letters(cell, end) <= room)
                return end;
        for (size_t i = 0; i < end; i++) {
                if (cell[i] != ' ')
                        continue;
                if (best > 0 && letters(cell, i) > room)
                        break;
                best = i;
                if (letters(cell, i) > room)
                        break;
        }
        return best > 0 ? best : end;
}

static void render_last(Text *text, const char *cell, size_t indent, size_t room) {
        bool first = true;

        do {
                size_t n = piece(cell, room);

                if (!first)
                        pad(text, indent);
                text_appendf(text, "%.*s\n", (int)n, cell);
                cell += n;
                cell += strspn(cell, " ");
                first = false;
        } while (*cell);
}

/* Without the blanks before an empty end of the row. */
static size_t used_columns(const Table *table, size_t row) {
        size_t n = table->n_columns;

        while (n > 1 && *table->cells[row + n - 1] == '\0')
                n--;
        return n;
}

void table_render(const Table *table, unsigned width, Text *text) {
        const size_t n = table->n_columns;
        size_t indent = 0, room;

        if (table->error < 0)
                text->error = table->error;
        if (table->error < 0 || n == 0 || table->n_cells < 2 * n)
                return;
        for (size_t i = 0; i + 1 < n; i++)
                indent += column_width(table, i) + GAP;
        room = width >= indent + LAST_COLUMN_MIN ? width - indent : 0;
        for (size_t row = 0; row + n <= table->n_cells; row += n) {
                size_t used = used_columns(table, row);

                for (size_t i = 0; i + 1 < used; i++) {
                        const char *cell = table->cells[row + i];

                        text_append(text, cell);
                        pad(text, column_width(table, i) + GAP - letters(cell, strlen(cell)));
                }
                render_last(text, table->cells[row + used - 1], indent, used == n ? room : 0);
        }
}
