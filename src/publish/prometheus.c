/* The pieces of Prometheus' text format. What is said in it is left to metrics.c. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tidbnumad/base/utf8.h"
#include "tidbnumad/publish/prometheus.h"

/* A backslash, a quote and a newline are all that the format wants escaped. What drives a terminal
 * is escaped as well: metrics are read with curl too. */
static void append_label_value(Text *text, const char *value) {
        _cleanup_text_ Text well_formed = { 0 }, visible = { 0 };

        utf8_sanitize(&well_formed, value, strlen(value));
        text_append(&visible, "");
        utf8_append_visible(&visible, well_formed.data ? well_formed.data : "", well_formed.length,
                            "\n");
        if (well_formed.error < 0 || visible.error < 0) {
                text->error = -ENOMEM;
                return;
        }
        value = visible.data;
        for (;;) {
                size_t run = strcspn(value, "\\\"\n");

                text_append_bytes(text, value, run);
                value += run;
                if (*value == '\0')
                        return;
                text_append(text, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
                value++;
        }
}

void prometheus_append_label(Text *text, const char *separator, const char *name,
                             const char *value) {
        text_appendf(text, "%s%s=\"", separator, name);
        append_label_value(text, value ? value : "");
        text_append(text, "\"");
}

/* Nine decimals at most, six from a million on (a time since the epoch has no more in a double),
 * without trailing zeros. "." in every locale because the C library prints whole numbers only. */
void prometheus_append_number(Text *text, double value) {
        double magnitude = value < 0 ? -value : value;
        int digits = magnitude < 1e6 ? 9 : 6;
        uint64_t scale = magnitude < 1e6 ? UINT64_C(1000000000) : UINT64_C(1000000);
        uint64_t whole, fraction;

        if (magnitude >= 9e15) { /* nothing behind the point in a double that large */
                text_appendf(text, "%.0f", value);
                return;
        }
        whole = (uint64_t)magnitude;
        fraction = (uint64_t)((magnitude - (double)whole) * (double)scale + 0.5);
        whole += fraction / scale;
        fraction %= scale;
        text_appendf(text, "%s%" PRIu64, value < 0 ? "-" : "", whole);
        if (fraction == 0)
                return;
        for (; fraction % 10 == 0; fraction /= 10)
                digits--;
        text_appendf(text, ".%0*" PRIu64, digits, fraction);
}
