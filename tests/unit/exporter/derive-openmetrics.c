/* Standard input in Prometheus' text format to standard output as OpenMetrics. */
#include <err.h>
#include <stdio.h>

#include "tidbnumad/exporter/openmetrics.h"

int main(void) {
        static char text[1 << 20];
        const size_t size = fread(text, 1, sizeof(text), stdin);
        _cleanup_text_ Text out = { 0 };

        openmetrics_append(&out, text, size);
        text_append(&out, OPENMETRICS_EOF);
        if (out.error < 0)
                errx(1, "no memory");
        (void)fputs(out.data, stdout);
        return 0;
}
