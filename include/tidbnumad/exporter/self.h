/* What the exporter tells of itself, behind the daemon's metrics. */
#pragma once

#include <stdint.h>

#include "tidbnumad/base/text.h"

typedef struct SelfNumbers {
        double snapshot_age_seconds;
        uint64_t n_scrapes; /* answers with metrics, this one included */
        uint64_t n_cut_off; /* clients that were too slow */
} SelfNumbers;

/* Appends them in Prometheus' text format, with the exporter's own process metrics, which are not
 * named process_*: those are the daemon's. What cannot be read of the process is left out. Failure
 * shows in text->error. */
void self_append_metrics(Text *text, const SelfNumbers *numbers);

/* "12.345": seconds, to a thousandth. */
void self_append_seconds(Text *text, double seconds);
