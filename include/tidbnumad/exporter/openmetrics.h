/* OpenMetrics 1.0 from what the daemon publishes in Prometheus' text format 0.0.4
 * (https://prometheus.io/docs/specs/om/open_metrics_spec/). */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/text.h"

/* Appends the lines of `metrics` in OpenMetrics' form: a counter's HELP and TYPE name its family,
 * without "_total"; a gauge called "_info" is of type info; quotes in HELP are escaped; the bounds
 * of buckets have a point. What OpenMetrics has no place for, blank lines and other comments, is
 * left out. Samples pass as they are, so the text must have no timestamps, as the daemon's has
 * none: their unit differs. The end mark is the caller's (OPENMETRICS_EOF), so that more can
 * follow. `metrics` is `length` bytes and may hold anything. Failure shows in text->error. */
void openmetrics_append(Text *text, const char *metrics, size_t length);

#define OPENMETRICS_EOF "# EOF\n"
