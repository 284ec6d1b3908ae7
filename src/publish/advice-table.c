/* Sizing advice as a table for the terminal. */
#include "tidbnumad/base/utf8.h"
#include "tidbnumad/publish/advice-text.h"
#include "tidbnumad/publish/advice.h"

#define REASON_WIDTH_MIN 24u

enum { COLUMN_INSTANCE, COLUMN_SETTING, COLUMN_VALUE, COLUMN_RULE, COLUMN_REASON, N_COLUMNS };

/* The cells of a row, one after the other in one text. */
typedef struct Row {
        Text cells[N_COLUMNS];
} Row;

static void row_done(Row *row) {
        for (unsigned i = 0; i < N_COLUMNS; i++)
                text_done(&row->cells[i]);
}
#define _cleanup_row_ _cleanup_(row_done)

static const char *cell(const Row *row, unsigned column) {
        return row->cells[column].data ? row->cells[column].data : "";
}

static int row_render(const AdviceReport *report, const Advice *advice, Row *row) {
        text_append_printable(&row->cells[COLUMN_INSTANCE], report->subjects[advice->subject].name);
        text_append(&row->cells[COLUMN_SETTING], advice->setting);
        advice_text_append_value(&row->cells[COLUMN_VALUE], advice);
        text_append(&row->cells[COLUMN_RULE], advice_rule_to_id(advice->rule));
        advice_text_append_reason(&row->cells[COLUMN_REASON], report, advice);
        for (unsigned i = 0; i < N_COLUMNS; i++)
                if (row->cells[i].error < 0)
                        return row->cells[i].error;
        return 0;
}

static void header_render(Row *row) {
        static const char *const titles[N_COLUMNS] = { "INSTANCE", "SETTING", "VALUE", "RULE",
                                                       "REASON" };

        for (unsigned i = 0; i < N_COLUMNS; i++)
                text_append(&row->cells[i], titles[i]);
}

static void widen(size_t *widths, const Row *row) {
        for (unsigned i = 0; i < COLUMN_REASON; i++) {
                size_t width = advice_text_width(cell(row, i));

                if (width > widths[i])
                        widths[i] = width;
        }
}

static void append_spaces(Text *text, size_t n) {
        while (n-- > 0)
                text_append(text, " ");
}

static void append_row(Text *text, const Row *row, const size_t *widths, size_t reason_width) {
        _cleanup_text_ Text indent = { 0 };

        for (unsigned i = 0; i < COLUMN_REASON; i++) {
                text_append(text, cell(row, i));
                append_spaces(text, widths[i] + 2 - advice_text_width(cell(row, i)));
                append_spaces(&indent, widths[i] + 2);
        }
        if (indent.error < 0)
                text->error = indent.error;
        advice_text_append_wrapped(text, cell(row, COLUMN_REASON), reason_width,
                                   indent.data ? indent.data : "");
        text_append(text, "\n");
}

static size_t reason_width(const size_t *widths, unsigned width) {
        size_t before = 0;

        if (width == 0)
                return 0;
        for (unsigned i = 0; i < COLUMN_REASON; i++)
                before += widths[i] + 2;
        return width > before + REASON_WIDTH_MIN ? width - before : REASON_WIDTH_MIN;
}

static void append_rows(Text *text, const AdviceReport *report, unsigned width) {
        _cleanup_row_ Row header = { 0 };
        size_t widths[COLUMN_REASON] = { 0 };

        header_render(&header);
        widen(widths, &header);
        for (size_t i = 0; i < report->n_items; i++) {
                _cleanup_row_ Row row = { 0 };

                if (row_render(report, &report->items[i], &row) < 0)
                        text->error = -ENOMEM;
                widen(widths, &row);
        }
        append_row(text, &header, widths, 0);
        for (size_t i = 0; i < report->n_items; i++) {
                _cleanup_row_ Row row = { 0 };

                if (row_render(report, &report->items[i], &row) < 0)
                        text->error = -ENOMEM;
                append_row(text, &row, widths, reason_width(widths, width));
        }
}

static void append_memory_note(Text *text, const AdviceReport *report, unsigned width) {
        _cleanup_text_ Text names = { 0 };

        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *subject = &report->subjects[i];

                if (subject->unplaced[0] != '\0' || subject->memory_bytes > 0 ||
                    !advice_product_is_heavy(subject->product))
                        continue;
                text_append(&names, names.length > 0 ? ", " : "");
                text_append_printable(&names, subject->name);
        }
        if (names.length == 0)
                return;
        text_append(&names, ": no advice on memory: the size of the nodes' memory is unknown");
        if (names.error < 0)
                text->error = names.error;
        else
                advice_text_append_wrapped(text, names.data, width, "  ");
        text_append(text, "\n");
}

/* PD and JVMs would get none either way. */
static bool would_get_advice(const AdviceSubject *subject) {
        return advice_product_is_heavy(subject->product) || subject->product == PRODUCT_HAPROXY;
}

int advice_render_table(const AdviceReport *report, unsigned width, Text *text) {
        text_reset(text);
        if (report->n_items > 0)
                append_rows(text, report, width);
        else
                text_append(text, "No advice: no TiDB, TiKV or HAProxy instance has a place.\n");
        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *subject = &report->subjects[i];
                _cleanup_text_ Text line = { 0 };

                if (subject->unplaced[0] == '\0' || !would_get_advice(subject))
                        continue;
                text_append_printable(&line, subject->name);
                text_appendf(&line, ": no advice: %s", subject->unplaced);
                if (line.error < 0)
                        text->error = line.error;
                else
                        advice_text_append_wrapped(text, line.data, width, "  ");
                text_append(text, "\n");
        }
        append_memory_note(text, report, width);
        return text->error;
}
