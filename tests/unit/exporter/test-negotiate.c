/* Headers of scrapers as they are sent, and the odd ones. */

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/exporter/negotiate.h"

static void check_all(const char *const *accepts, size_t n, MetricsFormat expected) {
        for (size_t i = 0; i < n; i++)
                if (negotiate_format(accepts[i]) != expected)
                        fail_msg("Accept: %s", accepts[i] ? accepts[i] : "(none)");
}

TEST(openmetrics) {
        static const char *const accepts[] = {
                /* Prometheus 2.42, 2.50, 3.0 */
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version="
                "0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                "application/openmetrics-text;version=1.0.0;q=0.5,application/"
                "openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/"
                "openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-"
                "utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                "application/openmetrics-text",
                " Application/OpenMetrics-Text ; Version=1.0.0 ; Q=0.001 ",
                "application/*, text/*;q=0.9",
                "text/plain;q=0, */*;q=0.1", /* the text by its name: not at all */
                "text/html, application/openmetrics-text;q=0.2",
                /* What is quoted is no element. */
                "application/openmetrics-text;x=\",text/plain,\";q=0.5",
                "application/openmetrics-text;x=\"\\\",text/plain,\";q=0.5",
                "text/plain;version=1.0.0, application/openmetrics-text;q=0.1",
        };

        check_all(accepts, ELEMENTSOF(accepts), METRICS_FORMAT_OPENMETRICS);
}

TEST(text) {
        static const char *const accepts[] = {
                NULL,
                "",
                "*/*", /* curl */
                "text/html,application/xhtml+xml,*/*;q=0.8",
                "text/plain;version=0.0.4",
                "text/plain, application/openmetrics-text", /* both alike */
                "application/openmetrics-text;q=0.4, text/plain;q=0.5",
                "application/openmetrics-text;q=0.09, text/plain;q=0.1",
                "application/openmetrics-text;q=0",
                "application/openmetrics-text;q=0, application/*",
                "application/openmetrics-text;version=0.0.1",
                "application/openmetrics-text;version=2.0.0, */*;q=0.1",
                "application/openmetrics-text-x, x",
                "application/json",
                /* No quality: the element counts for nothing. */
                "application/openmetrics-text;q=",
                "application/openmetrics-text;q=2",
                "application/openmetrics-text;q=1.5",
                "application/openmetrics-text;q=-1",
                "application/openmetrics-text;q=.5",
                "application/openmetrics-text;q=0.5555",
                "application/openmetrics-text;q=0,5",
                ",;=,;;q=,=;q,\"",
                "\"application/openmetrics-text",
        };

        check_all(accepts, ELEMENTSOF(accepts), METRICS_FORMAT_TEXT);
}

TEST(gzip) {
        static const char *const yes[] = { "gzip",
                                           "GZIP",
                                           "deflate, gzip, br, zstd",
                                           "x-gzip",
                                           "*",
                                           "gzip;q=0.5",
                                           "gzip, identity",
                                           "identity;q=0.5, *;q=0.5",
                                           "br;q=1.0, gzip ; q=0.8, *;q=0.1" };
        static const char *const no[] = { NULL,          "",
                                          "identity",    "deflate",
                                          "gzip;q=0",    "gzip;q=0.000",
                                          "gzip;q=0, *", "*;q=0",
                                          "gzip;q=x",    "identity, gzip;q=0.5",
                                          "gzipped",     "gzi" };

        for (size_t i = 0; i < ELEMENTSOF(yes); i++)
                if (!negotiate_gzip(yes[i]))
                        fail_msg("Accept-Encoding: %s", yes[i]);
        for (size_t i = 0; i < ELEMENTSOF(no); i++)
                if (negotiate_gzip(no[i]))
                        fail_msg("Accept-Encoding: %s", no[i] ? no[i] : "(none)");
}
