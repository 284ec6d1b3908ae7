/* Words of sizing advice: values, reasons with their placeholders, names that may hold anything. */
#include <inttypes.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/advice-text.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

static void append_scaled(Text *text, uint64_t bytes) {
        if (bytes % GIB == 0)
                text_appendf(text, "%" PRIu64 "GB", bytes / GIB);
        else if (bytes % MIB == 0)
                text_appendf(text, "%" PRIu64 "MB", bytes / MIB);
        else
                text_appendf(text, "%" PRIu64 "KB", bytes / KIB);
}

void advice_text_append_value(Text *text, const Advice *advice) {
        if (advice->unit == ADVICE_BYTES || advice->unit == ADVICE_BYTES_PER_SEC)
                append_scaled(text, advice->value);
        else if (advice->unit == ADVICE_TEXT)
                text_append_printable(text, advice->text);
        else
                text_appendf(text, "%" PRIu64, advice->value);
}

/* For reading: one decimal where it matters. Integers only, as a locale may have a comma. */
static void append_size(Text *text, uint64_t bytes) {
        const uint64_t unit = bytes >= GIB ? GIB : MIB;
        const uint64_t tenths = bytes / unit * 10 + bytes % unit * 10 / unit;

        text_appendf(text, "%" PRIu64, tenths / 10);
        if (tenths % 10 > 0 && tenths < 1000)
                text_appendf(text, ".%" PRIu64, tenths % 10);
        text_append(text, unit == GIB ? " GiB" : " MiB");
}

void advice_text_append_quoted(Text *text, const char *string) {
        _cleanup_text_ Text clean = { 0 };
        size_t length;

        utf8_sanitize(&clean, string, strlen(string));
        if (clean.error < 0)
                text->error = clean.error;
        text_append(text, "\"");
        for (const char *p = clean.data; p && *p != '\0'; p += length) {
                uint32_t c = utf8_decode(p, &length);

                if (c == '"' || c == '\\')
                        text_appendf(text, "\\%c", (int)c);
                else if (c >= 0x20 && c < 0x7f)
                        text_appendf(text, "%c", (int)c);
                else if (c <= 0xffff)
                        text_appendf(text, "\\u%04x", c);
                else
                        text_appendf(text, "\\U%08x", c);
        }
        text_append(text, "\"");
}

size_t advice_text_width(const char *string) {
        size_t width = 0;

        for (; *string != '\0'; string++)
                width += ((unsigned char)*string & 0xc0) != 0x80;
        return width;
}

void advice_text_append_wrapped(Text *text, const char *string, size_t width, const char *indent) {
        size_t column = 0;

        while (*string != '\0') {
                _cleanup_text_ Text word = { 0 };
                size_t length = strcspn(string, " ");

                text_appendf(&word, "%.*s", (int)length, string);
                if (word.error < 0)
                        text->error = word.error;
                if (word.data && length > 0) {
                        size_t columns = advice_text_width(word.data);

                        if (column > 0 && width > 0 && column + 1 + columns > width) {
                                text_appendf(text, "\n%s", indent);
                                column = 0;
                        } else if (column > 0) {
                                text_append(text, " ");
                                column++;
                        }
                        text_append(text, word.data);
                        column += columns;
                }
                string += length + (string[length] == ' ');
        }
}

static void append_nodes(Text *text, const AdviceSubject *subject) {
        char list[ID_SET_LIST_ANY];

        (void)id_set_render_list(&subject->nodes, list, sizeof(list));
        text_appendf(text, "node%s %s", id_set_count(&subject->nodes) == 1 ? "" : "s", list);
}

/* "a", "a and b", "a, b and c". */
static void append_names(Text *text, const AdviceReport *report, const size_t *indexes, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        text_append(text, i + 1 < n ? ", " : " and ");
                text_append_printable(text, report->subjects[indexes[i]].name);
        }
}

static void append_cpus(Text *text, const AdviceSubject *subject) {
        text_appendf(text, "%u CPU%s of ", subject->n_cpus, subject->n_cpus == 1 ? "" : "s");
        append_nodes(text, subject);
}

static void append_shared(Text *text, const AdviceReport *report, const AdviceSubject *subject) {
        if (subject->n_sharers == 0)
                return;
        text_append(text, ", shared with ");
        append_names(text, report, subject->sharers, subject->n_sharers);
}

static void append_cpu_part(Text *text, const AdviceReport *report, const AdviceSubject *subject) {
        const bool part = subject->cpu_share < subject->n_cpus;

        if (part)
                text_appendf(text, "%u of the ", subject->cpu_share);
        append_cpus(text, subject);
        if (part)
                append_shared(text, report, subject);
}

static void append_memory_part(Text *text, const AdviceReport *report,
                               const AdviceSubject *subject) {
        const bool part = subject->memory_share_bytes < subject->memory_bytes;

        text_append(text, part ? "its " : "the ");
        append_size(text, subject->memory_share_bytes);
        if (part) {
                text_append(text, " of the ");
                append_size(text, subject->memory_bytes);
        }
        text_append(text, " of ");
        append_nodes(text, subject);
        append_shared(text, report, subject);
}

static void append_placeholder(Text *text, const AdviceReport *report, const Advice *advice,
                               const char *name, size_t length) {
        const AdviceSubject *subject = &report->subjects[advice->subject];

#define IS(word) (length == strlen(word) && memcmp(name, word, length) == 0)
        if (IS("cpus"))
                append_cpus(text, subject);
        else if (IS("cpu_part"))
                append_cpu_part(text, report, subject);
        else if (IS("memory_part"))
                append_memory_part(text, report, subject);
        else if (IS("device"))
                text_append_printable(text, subject->device ? subject->device : "");
        else if (IS("device_sharers"))
                append_names(text, report, subject->device_sharers, subject->n_device_sharers);
        else if (IS("card"))
                text_append_printable(text, subject->card ? subject->card : "");
        else if (IS("gomaxprocs"))
                text_appendf(text, "GOMAXPROCS=%u", subject->gomaxprocs);
        else if (IS("base"))
                append_size(text, advice->base_bytes);
        else if (IS("cost"))
                append_size(text, advice->cost_bytes);
        else
                text_appendf(text, "{%.*s}", (int)length, name);
#undef IS
}

static void append_template(Text *text, const AdviceReport *report, const Advice *advice,
                            const char *template) {
        while (*template != '\0') {
                size_t plain = strcspn(template, "{"), length;

                text_appendf(text, "%.*s", (int)plain, template);
                template += plain;
                if (*template == '\0')
                        return;
                length = strcspn(++template, "}");
                append_placeholder(text, report, advice, template, length);
                template += length + (template[length] == '}');
        }
}

void advice_text_append_reason(Text *text, const AdviceReport *report, const Advice *advice) {
        append_template(text, report, advice, advice->reason);
        if (advice->note[0] != '\0')
                text_append(text, " ");
        append_template(text, report, advice, advice->note);
        if (!report->subjects[advice->subject].running)
                return;
        if (advice->effect == HOLDS_RESTART)
                text_append(text, " It takes effect after a restart.");
        else if (advice->effect == HOLDS_RELOAD)
                text_append(text, " It takes effect after a reload.");
}
