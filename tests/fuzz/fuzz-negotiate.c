/* Headers with any content: one of the known answers, and the same one each time. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/exporter/negotiate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition) {
        if (!condition)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = malloc(size + 1); /* so that a byte too far is seen */
        MetricsFormat format;

        if (!text)
                return 0;
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';
        format = negotiate_format(text);
        check(format == METRICS_FORMAT_TEXT ||
              (format == METRICS_FORMAT_OPENMETRICS && strchr(text, '/')));
        check(!negotiate_gzip(text) || strpbrk(text, "gG*"));
        free(text);
        return 0;
}
