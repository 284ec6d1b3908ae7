#include "tidbnumad/publish/tiup-fill.h"
#include "tidbnumad/publish/advice.h"
#include "tidbnumad/publish/plan-text.h"

/* On a line of its own, below the one that it follows. */
static void append_line(Text *text, uint32_t column) {
        text_appendf(text, "\n%*s", (int)column - 1, "");
}

/* numactl would take ranges too; the list is the form of TiUP's own examples. */
static void append_nodes(Text *text, const NodeSet *nodes) {
        const char *separator = "";

        text_append(text, "\"");
        ID_SET_FOREACH(id, nodes) {
                text_appendf(text, "%s%d", separator, id);
                separator = ",";
        }
        text_append(text, "\"");
}

static int replace_nodes(const TiupServer *server, const AdviceSubject *subject,
                         SourceEditList *edits) {
        _cleanup_text_ Text text = { 0 };

        append_nodes(&text, &subject->nodes);
        return source_edit_add(edits, server->numa_at, &text);
}

static bool is_wanted(const TiupServer *server, const Advice *advice, size_t index) {
        return advice->subject == index && advice->where == IN_CONFIG &&
               !tiup_server_sets(server, advice->setting);
}

static void append_setting(Text *text, const Advice *advice) {
        const char *quote = advice->unit == ADVICE_INTEGER ? "" : "\"";

        text_appendf(text, "%s: %s", advice->setting, quote);
        advice_text_append_value(text, advice);
        text_append(text, quote);
}

/* Inserts before the first key of the existing `config`. */
static int extend_config(const TiupServer *server, const AdviceReport *report, size_t index,
                         SourceEditList *edits) {
        const SourceSpan at = { server->config_at.line, server->config_at.column, 0 };
        _cleanup_text_ Text text = { 0 };

        for (size_t i = 0; i < report->n_items; i++) {
                if (!is_wanted(server, &report->items[i], index))
                        continue;
                append_setting(&text, &report->items[i]);
                append_line(&text, at.column);
        }
        return text.length == 0 && text.error == 0 ? 0 : source_edit_add(edits, at, &text);
}

static size_t count_kept(const TiupServer *server, const AdviceReport *report, size_t index) {
        size_t n = 0;

        for (size_t i = 0; i < report->n_items; i++)
                n += report->items[i].subject == index && report->items[i].where == IN_CONFIG &&
                     tiup_server_sets(server, report->items[i].setting);
        return n;
}

int tiup_fill(const TiupServer *server, const AdviceReport *report, size_t index, bool afresh,
              SourceEditList *edits, TiupFilled *ret) {
        const AdviceSubject *subject = &report->subjects[index];
        const SourceSpan below = { server->host_at.line, SOURCE_EDIT_LINE_END, 0 };
        const bool binds = !report->daemon_binds && subject->memory == MEMORY_BIND &&
                           product_info(server->product)->tiup.has_numa_node;
        _cleanup_text_ Text text = { 0 };
        int r = 0;

        *ret = (TiupFilled){ 0 };
        if (server->on_each_host)
                return 0;
        *ret = (TiupFilled){ .skipped = !server->in_lines || !server->config_fits,
                             .n_kept = count_kept(server, report, index) };
        if (!server->in_lines || subject->unplaced[0] != '\0')
                return 0;
        append_line(&text, server->at.column);
        text_append(&text, "# tidbnumad: ");
        plan_words_nodes(&subject->nodes, &text);
        text_appendf(&text, ", %u CPUs", subject->n_cpus);
        if (subject->memory_bytes > 0) {
                text_append(&text, ", ");
                plan_words_bytes(subject->memory_bytes, &text);
        }
        if (server->nodes_unknown && !afresh)
                text_append(&text, ", if numa_node did not say otherwise");
        else if (binds && server->numa_at.line > 0)
                r = replace_nodes(server, subject, edits);
        else if (binds) {
                append_line(&text, server->at.column);
                text_append(&text, "numa_node: ");
                append_nodes(&text, &subject->nodes);
        }
        if (r >= 0 && server->config_fits && server->config_at.line > 0)
                r = extend_config(server, report, index, edits);
        else if (server->config_fits) {
                bool open = false;

                for (size_t i = 0; i < report->n_items; i++) {
                        if (!is_wanted(server, &report->items[i], index))
                                continue;
                        if (!open) {
                                append_line(&text, server->at.column);
                                text_append(&text, "config:");
                        }
                        open = true;
                        append_line(&text, server->at.column + 2);
                        append_setting(&text, &report->items[i]);
                }
        }
        return r < 0 ? r : source_edit_add(edits, below, &text);
}
