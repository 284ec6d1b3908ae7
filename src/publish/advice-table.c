/* Sizing advice as a table for the terminal. */
#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/advice-text.h"
#include "tidbnumad/publish/advice.h"
#include "tidbnumad/publish/table.h"

static void append_rows(Text *text, const AdviceReport *report, unsigned width) {
        static const char *const headings[] = { "INSTANCE", "SETTING", "VALUE", "RULE", "REASON" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < report->n_items; i++) {
                const Advice *advice = &report->items[i];

                table_add(&table, report->subjects[advice->subject].name);
                table_add(&table, advice->setting);
                advice_text_append_value(&cell, advice);
                table_add_text(&table, &cell);
                table_add(&table, advice_rule_to_id(advice->rule));
                advice_text_append_reason(&cell, report, advice);
                table_add_text(&table, &cell);
        }
        table_render(&table, width, text);
}

static void append_memory_note(Text *text, const AdviceReport *report) {
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
                text_appendf(text, "%s\n", names.data);
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

                if (subject->unplaced[0] == '\0' || !would_get_advice(subject))
                        continue;
                text_append_printable(text, subject->name);
                text_appendf(text, ": no advice: %s\n", subject->unplaced);
        }
        append_memory_note(text, report);
        return text->error;
}
