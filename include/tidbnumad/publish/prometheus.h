/* Labels and numbers of Prometheus' text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). */
#pragma once

#include "tidbnumad/base/text.h"

/* Appends `name="value"`, escaped and made UTF-8, after `separator`: "{" before the first label of
 * a sample, "," before the others. A `value` of NULL is the empty string. */
void prometheus_append_label(Text *text, const char *separator, const char *name,
                             const char *value);

/* Appends a number that is not NAN, with a point in every locale: nine decimals at most, six from a
 * million on, no trailing zeros. */
void prometheus_append_number(Text *text, double value);
