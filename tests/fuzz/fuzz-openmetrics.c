/* Metrics with any content: what comes out are lines that OpenMetrics knows. */
#include "fuzz.h"
#include "tidbnumad/exporter/openmetrics.h"

static void check_line(const char *line, size_t length) {
        check(length > 0);
        check(*line != '#' || (length >= 7 && (memcmp(line, "# HELP ", 7) == 0 ||
                                               memcmp(line, "# TYPE ", 7) == 0)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = malloc(size > 0 ? size : 1);
        _cleanup_text_ Text out = { 0 };

        if (!text)
                return 0;
        if (size > 0)
                memcpy(text, data, size);
        openmetrics_append(&out, text, size);
        for (const char *line = out.data; line && *line && !memchr(text, '\0', size);) {
                const char *end = strchr(line, '\n');

                check(end != NULL);
                check_line(line, (size_t)(end - line));
                line = end + 1;
        }
        free(text);
        return 0;
}
