/* Headers with any content: one of the known answers, and the same one each time. */
#include "fuzz.h"
#include "tidbnumad/exporter/negotiate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = fuzz_text(data, size); /* so that a byte too far is seen */
        MetricsFormat format;

        if (!text)
                return 0;
        format = negotiate_format(text);
        check(format == METRICS_FORMAT_TEXT ||
              (format == METRICS_FORMAT_OPENMETRICS && strchr(text, '/')));
        check(!negotiate_gzip(text) || strpbrk(text, "gG*"));
        free(text);
        return 0;
}
