/* Rows of text in aligned columns, printed by libsmartcols. Version 2.38, of Debian 12, breaks a
 * cell within words, names too; where cells are broken is therefore decided here. */
#include <assert.h>
#include <errno.h>
#include <libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/table.h"

void table_init(Table *table, const char *const *headings, size_t n_columns) {
        assert(n_columns > 0 && n_columns <= TABLE_COLUMNS_MAX);
        *table = (Table){ .n_columns = n_columns, .state_column = n_columns };
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
        table_add(table, text_string(cell));
        text_reset(cell);
}

/* --- widths --- */

/* Narrower than this no column is made by breaking words. */
enum { WORD_PIECE_MIN = 12, GAP = 2 };

typedef struct Layout {
        size_t n_columns; /* all, or all but the last one */
        size_t widths[TABLE_COLUMNS_MAX];
        bool squeezed; /* the natural widths do not fit */
} Layout;

static size_t width_of(const char *string, size_t n_bytes) {
        mbstate_t state = { 0 };
        size_t width = 0, n;
        wchar_t c;

        for (size_t i = 0; i < n_bytes; i += n) {
                n = mbrtowc(&c, string + i, n_bytes - i, &state);
                if (n == 0 || n >= (size_t)-2)
                        return width + n_bytes - i;
                width += wcwidth(c) > 0 ? (size_t)wcwidth(c) : 0;
        }
        return width;
}

/* A list of CPUs may be broken after each comma. */
static size_t word_length(const char *word) {
        const size_t n = strcspn(word, " ,");

        return n + (word[n] == ',');
}

static size_t layout_sum(const Layout *layout, size_t n) {
        size_t total = n > 0 ? (n - 1) * GAP : 0;

        for (size_t i = 0; i < n; i++)
                total += layout->widths[i];
        return total;
}

/* Takes from the widest columns first, down to `least`. */
static void layout_squeeze(Layout *layout, const size_t *least, size_t n, size_t room) {
        while (layout_sum(layout, n) > room) {
                size_t widest = n;

                for (size_t i = 0; i < n; i++)
                        if (layout->widths[i] > least[i] &&
                            (widest == n || layout->widths[i] > layout->widths[widest]))
                                widest = i;
                if (widest == n)
                        return;
                layout->widths[widest]--;
        }
}

/* Of the first `n` columns. First cells are broken between words. Where that is not enough, within
 * them: first in the last column, which has sentences, for the others have names that somebody
 * copies. */
static Layout lay_out(const Table *table, size_t n, size_t room) {
        size_t words[TABLE_COLUMNS_MAX] = { 0 }, pieces[TABLE_COLUMNS_MAX];
        const size_t n_all = table->n_columns;
        Layout layout = { .n_columns = n };

        for (size_t i = 0; i < table->n_cells; i++) {
                const char *cell = table->cells[i];
                const size_t width = width_of(cell, strlen(cell)), column = i % n_all;
                size_t word = i < n_all ? width : 0; /* the longest one; headings are not broken */

                for (size_t length; i >= n_all && *cell; cell += length + (cell[length] == ' ')) {
                        length = word_length(cell);
                        word = width_of(cell, length) > word ? width_of(cell, length) : word;
                }
                layout.widths[column] =
                        width > layout.widths[column] ? width : layout.widths[column];
                words[column] = word > words[column] ? word : words[column];
        }
        layout.squeezed = room > 0 && layout_sum(&layout, n) > room;
        if (!layout.squeezed)
                return layout;
        layout_squeeze(&layout, words, n, room);
        for (size_t i = 0; i < n; i++) {
                const size_t heading = width_of(table->cells[i], strlen(table->cells[i]));

                pieces[i] = heading > WORD_PIECE_MIN ? heading : WORD_PIECE_MIN;
        }
        words[n - 1] = words[n - 1] < pieces[n - 1] ? words[n - 1] : pieces[n - 1];
        layout_squeeze(&layout, words, n, room);
        layout_squeeze(&layout, pieces, n, room);
        return layout;
}

/* --- cells --- */

/* The bytes of a word that fit, up to a mark within it if there is one; at least one letter. */
static size_t word_piece(const char *word, size_t n, size_t room) {
        size_t fits = 0, mark = 0;

        for (size_t i = 1; i <= n; i++)
                if (i == n || ((unsigned char)word[i] & 0xc0) != 0x80) {
                        if (fits > 0 && width_of(word, i) > room)
                                return mark > 0 ? mark : fits;
                        fits = i;
                        if (strchr("-._/", word[i - 1]))
                                mark = i;
                }
        return fits;
}

/* With a newline wherever the cell is to be broken, for scols_wrapnl_nextchunk(). */
static void append_broken(Text *text, const char *cell, size_t room) {
        size_t column = 0, gap = 0;

        while (*cell) {
                const size_t n = word_length(cell), width = width_of(cell, n);
                const size_t fits = width > room ? word_piece(cell, n, room) : n;

                if (column > 0 && column + gap + width > room) {
                        text_append(text, "\n");
                        column = gap = 0;
                        continue;
                }
                text_append(text, gap > 0 ? " " : "");
                text_append_bytes(text, cell, fits);
                column = fits < n ? room : column + gap + width;
                cell += fits;
                gap = *cell == ' ';
                cell += gap;
        }
}

static const char *color_of(const char *word) {
        static const struct {
                const char *words, *color;
        } rows[] = { { " bound ok ", "green" },
                     { " refused failure ", "red" },
                     { " partly moving binding planned warning ", "yellow" } };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *found = strstr(rows[i].words, word);

                if (*word && found && found[-1] == ' ' && found[strlen(word)] == ' ')
                        return rows[i].color;
        }
        return NULL;
}

DEFINE_CLEANUP(struct libscols_table *, scols_unref_table)

static const char *cell_of(const Table *table, size_t row, size_t column) {
        return table->cells[row * table->n_columns + column];
}

/* The lines of a row, the headings being row 0. */
static size_t row_height(const Table *table, const Layout *layout, size_t row) {
        size_t height = 1;

        for (size_t i = 0; row > 0 && i < layout->n_columns; i++) {
                _cleanup_text_ Text broken = { 0 };
                size_t lines = 1;

                append_broken(&broken, cell_of(table, row, i), layout->widths[i]);
                for (const char *c = text_string(&broken); *c; c++)
                        lines += *c == '\n';
                height = lines > height ? lines : height;
        }
        return height;
}

static int table_print(const Table *table, const Layout *layout, char **ret) {
        _cleanup_(scols_unref_tablep) struct libscols_table *t = scols_new_table();

        if (!t)
                return -ENOMEM;
        for (size_t i = 0; i < layout->n_columns; i++) {
                struct libscols_column *column =
                        scols_table_new_column(t, table->cells[i], 0, SCOLS_FL_WRAP);

                if (!column || scols_column_set_wrapfunc(column, scols_wrapnl_chunksize,
                                                         scols_wrapnl_nextchunk, NULL) < 0)
                        return -ENOMEM;
        }
        for (size_t row = 1; row < table->n_cells / table->n_columns; row++) {
                struct libscols_line *line = scols_table_new_line(t, NULL);

                if (!line)
                        return -ENOMEM;
                for (size_t i = 0; i < layout->n_columns; i++) {
                        const char *cell = cell_of(table, row, i);
                        const bool colored = table->colors && i == table->state_column;
                        const char *color = colored ? color_of(cell) : NULL;
                        _cleanup_text_ Text broken = { 0 };

                        text_append(&broken, "");
                        if (layout->squeezed)
                                append_broken(&broken, cell, layout->widths[i]);
                        else
                                text_append(&broken, cell);
                        if (broken.error < 0 || scols_line_set_data(line, i, broken.data) < 0 ||
                            (color &&
                             scols_cell_set_color(scols_line_get_cell(line, i), color) < 0))
                                return -ENOMEM;
                }
        }
        if (scols_table_set_column_separator(t, "  ") < 0)
                return -ENOMEM;
        (void)scols_table_enable_noencoding(t, 1); /* escaped when it was added */
        (void)scols_table_enable_colors(t, table->colors);
        (void)scols_table_set_termforce(t, SCOLS_TERMFORCE_NEVER); /* laid out already */
        return scols_print_table_to_string(t, ret) < 0 ? -ENOMEM : 0;
}

void table_render(const Table *table, unsigned width, Text *text) {
        const size_t n = table->n_columns;
        _cleanup_free_ char *lines = NULL;
        size_t row = 0, n_lines = 0;
        locale_t utf8, former;
        Layout layout;

        if (table->error < 0)
                text->error = table->error;
        if (table->error < 0 || table->n_cells < 2 * table->n_columns)
                return;
        /* Cells are UTF-8 in any locale, but libsmartcols measures them by the user's locale. */
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
        former = uselocale(utf8);
        layout = lay_out(table, n, width);
        if (width > 0 && n > 1 && layout_sum(&layout, n) > width)
                layout = lay_out(table, n - 1, width);
        if (table_print(table, &layout, &lines) < 0)
                text->error = -ENOMEM;
        /* Without blanks at the ends of lines. What has no column is below the row. */
        for (const char *line = lines; text->error == 0 && line && *line;) {
                const size_t length = strcspn(line, "\n");
                size_t used = length;

                while (used > 0 && line[used - 1] == ' ')
                        used--;
                text_append_bytes(text, line, used);
                text_append(text, used > 0 ? "\n" : "");
                line += length + (line[length] == '\n');
                if (layout.n_columns == n || ++n_lines < row_height(table, &layout, row))
                        continue;
                if (row > 0 && *cell_of(table, row, n - 1))
                        text_appendf(text, "  %s\n", cell_of(table, row, n - 1));
                n_lines = 0;
                row++;
        }
        (void)uselocale(former);
        if (utf8)
                freelocale(utf8);
}
