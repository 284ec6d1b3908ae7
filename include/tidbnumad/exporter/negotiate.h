/* What a client would rather have, by its headers (RFC 9110, 12.5). */
#pragma once

#include <stdbool.h>

typedef enum MetricsFormat {
        METRICS_FORMAT_TEXT,        /* Prometheus text 0.0.4 */
        METRICS_FORMAT_OPENMETRICS, /* OpenMetrics 1.0 */
} MetricsFormat;

/* By the value of the header Accept (NULL: none). OpenMetrics only where the client would rather
 * have that; the text where it likes both alike, or neither: a body in a form that was not asked
 * for is of more use than a 406. */
MetricsFormat negotiate_format(const char *accept);

/* By the value of the header Accept-Encoding (NULL: none): whether gzip is welcome, and no less so
 * than an answer that is not compressed. */
bool negotiate_gzip(const char *accept_encoding);
