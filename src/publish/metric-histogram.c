/* Histograms: buckets that hold all below them, then the sum and the count. */
#include <inttypes.h>

#include "tidbnumad/publish/metric-kinds.h"
#include "tidbnumad/publish/prometheus.h"

static void append_begin(const Metric *metric, const char *part, const char *label,
                         const char *value, Text *text) {
        text_appendf(text, "%s%s", metric->name, part);
        prometheus_append_label(text, "{", label, value);
}

static void append_bucket(const Metric *metric, const char *label, const char *value, double bound,
                          uint64_t count, Text *text) {
        append_begin(metric, "_bucket", label, value, text);
        text_append(text, ",le=\"");
        prometheus_append_number(text, bound);
        text_appendf(text, "\"} %" PRIu64 "\n", count);
}

static void append_histogram(const Metric *metric, const char *label, const char *value,
                             const Histogram *h, Text *text) {
        uint64_t below = 0;

        for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
                below += h->counts[i];
                append_bucket(metric, label, value, histogram_bound(i), below, text);
        }
        append_begin(metric, "_bucket", label, value, text);
        text_appendf(text, ",le=\"+Inf\"} %" PRIu64 "\n", h->n);
        append_begin(metric, "_sum", label, value, text);
        text_append(text, "} ");
        prometheus_append_number(text, h->sum);
        text_append(text, "\n");
        append_begin(metric, "_count", label, value, text);
        text_appendf(text, "} %" PRIu64 "\n", h->n);
}

/* A method that was never used has no series. */
void metric_render_sample_durations(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (SampleMethod m = 0; snapshot->sample_durations && m < N_SAMPLE_METHODS; m++)
                if (snapshot->sample_durations[m].n > 0)
                        append_histogram(metric, "method", sample_method_to_string(m),
                                         &snapshot->sample_durations[m], text);
}

/* Also of a policy that has bound nothing yet: what begins at one, for the first time that
 * something is bound, is no increase to those who ask for a rate. */
void metric_render_bind_latency(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                append_histogram(metric, "policy", snapshot->policies[i].name,
                                 &snapshot->policies[i].bind_latency, text);
}
