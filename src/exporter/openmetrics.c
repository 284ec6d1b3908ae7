/* Line by line, without understanding samples: the two formats differ in what stands above these,
 * and in how a bucket's bound is written. */
#include <stdbool.h>
#include <string.h>

#include "tidbnumad/exporter/openmetrics.h"

/* The family that a line of HELP or TYPE is about. */
typedef struct Family {
        const char *name;
        size_t length;
        bool total; /* the name ends with "_total", which is no part of a counter's family */
        bool info;
        bool counter; /* as its TYPE said */
        bool gauge;
} Family;

static bool starts(const char *line, size_t length, const char *word) {
        return length >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

static bool ends(const char *name, size_t length, const char *suffix) {
        const size_t n = strlen(suffix);

        return length > n && memcmp(name + length - n, suffix, n) == 0;
}

static size_t line_length(const char *line, const char *end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));

        return (size_t)((newline ? newline : end) - line);
}

/* From "name rest" to its name; the rest begins at the length that is returned. */
static size_t read_name(const char *words, size_t length, Family *ret) {
        const char *blank = memchr(words, ' ', length);
        const size_t n = blank ? (size_t)(blank - words) : length;

        *ret = (Family){ .name = words,
                         .length = n,
                         .total = ends(words, n, "_total"),
                         .info = ends(words, n, "_info") };
        return blank ? n + 1 : n;
}

/* HELP stands above TYPE, and both need the name of the family: so TYPE is looked up below. */
static void find_type(const char *line, const char *end, Family *family) {
        static const char head[] = "# TYPE ";

        while (line < end) {
                const size_t length = line_length(line, end), n = sizeof(head) - 1;
                const char *type = line + n + family->length + 1;

                if (!starts(line, length, "#"))
                        return;
                if (starts(line, length, head) && length > n + family->length + 1 &&
                    memcmp(line + n, family->name, family->length) == 0 && type[-1] == ' ') {
                        const size_t left = (size_t)(line + length - type);

                        family->counter = left == 7 && memcmp(type, "counter", 7) == 0;
                        family->gauge = left == 5 && memcmp(type, "gauge", 5) == 0;
                        return;
                }
                line += length + 1;
        }
}

static void append_family(Text *text, const Family *family) {
        size_t length = family->length;

        if (family->counter && family->total)
                length -= strlen("_total");
        else if (family->gauge && family->info)
                length -= strlen("_info");
        text_append_bytes(text, family->name, length);
}

/* A counter of another name has no family in OpenMetrics: its samples would have to be renamed. */
static void append_type(Text *text, const Family *family, const char *type, size_t length) {
        text_append(text, "# TYPE ");
        append_family(text, family);
        text_append(text, " ");
        if ((family->counter && !family->total) ||
            (length == 7 && memcmp(type, "untyped", length) == 0))
                text_append(text, "unknown");
        else if (family->gauge && family->info)
                text_append(text, "info");
        else
                text_append_bytes(text, type, length);
        text_append(text, "\n");
}

/* A backslash is escaped in both formats; a quote in OpenMetrics alone. */
static void append_help(Text *text, const Family *family, const char *help, size_t length) {
        text_append(text, "# HELP ");
        append_family(text, family);
        text_append(text, " ");
        while (length > 0) {
                const char *quote = memchr(help, '"', length);
                const size_t run = quote ? (size_t)(quote - help) : length;

                text_append_bytes(text, help, run);
                if (quote)
                        text_append(text, "\\\"");
                help += run + (quote ? 1 : 0);
                length -= run + (quote ? 1 : 0);
        }
        text_append(text, "\n");
}

static void append_comment(Text *text, const char *line, size_t length, const char *end) {
        const bool help = starts(line, length, "# HELP ");
        const size_t head = strlen("# HELP ");
        Family family;
        size_t name;

        if (!help && !starts(line, length, "# TYPE "))
                return;
        name = read_name(line + head, length - head, &family);
        if (family.length == 0)
                return;
        find_type(line, end, &family);
        if (help)
                append_help(text, &family, line + head + name, length - head - name);
        else
                append_type(text, &family, line + head + name, length - head - name);
}

/* The end of a bound that is a whole number, or NULL: le="1" is the same bucket as le="1.0", which
 * alone OpenMetrics takes. */
static const char *whole_bound(const char *line, size_t length) {
        static const char label[] = "le=\"";
        const char *at = memmem(line, length, label, sizeof(label) - 1), *digits, *end;

        if (!at || at == line || (at[-1] != '{' && at[-1] != ','))
                return NULL;
        digits = at + sizeof(label) - 1;
        for (end = digits; end < line + length && *end >= '0' && *end <= '9'; end++)
                ;
        return end > digits && end < line + length && *end == '"' ? end : NULL;
}

static bool is_bucket(const char *line, size_t length) {
        const char *brace = memchr(line, '{', length);

        return brace && ends(line, (size_t)(brace - line), "_bucket");
}

/* Whether more than the line itself has to be said. */
static const char *changed_at(const char *line, size_t length) {
        return is_bucket(line, length) ? whole_bound(line, length) : NULL;
}

/* Most lines pass as they are, many at a time: `start` is the first that was not appended yet. */
void openmetrics_append(Text *text, const char *metrics, size_t length) {
        const char *end = metrics + length, *start = metrics;

        for (const char *line = metrics; line < end;) {
                const size_t n = line_length(line, end);
                const bool is_sample = n > 0 && *line != '#';
                const char *bound = is_sample ? changed_at(line, n) : NULL;

                if (!is_sample || bound) {
                        const char *upto = bound ? bound : line;

                        text_append_bytes(text, start, (size_t)(upto - start));
                        start = bound ? bound : line + n + (line + n < end ? 1 : 0);
                }
                if (bound)
                        text_append(text, ".0");
                else if (!is_sample)
                        append_comment(text, line, n, end);
                line += n + 1;
        }
        text_append_bytes(text, start, (size_t)(end - start));
        if (end > start && end[-1] != '\n')
                text_append(text, "\n");
}
