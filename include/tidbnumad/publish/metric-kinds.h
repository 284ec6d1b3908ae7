/* A row of the catalogue of metrics, and the kinds of samples that rows have. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/snapshot.h"

typedef enum MetricField {
        METRIC_BOOL,
        METRIC_COUNT,       /* uint64_t */
        METRIC_NUMBER,      /* double; NAN: there is no sample */
        METRIC_NUMBER_OR_0, /* double; NAN is 0 */
} MetricField;

typedef struct Metric {
        const char *name;
        const char *type;
        const char *labels; /* for the reference: "node, state=total|free"; "" for none */
        const char *help;   /* no backslash, no newline */
        void (*render)(const struct Metric *metric, const Snapshot *snapshot, Text *text);
        /* Where the value is in the snapshot, or in the instance, policy or source that a sample
         * is about. */
        size_t offset;
        MetricField field;
        size_t known[2]; /* offsets of bools of the snapshot, without which there is no sample; 0:
                            none */
        /* While it is rendered: `{policy="…",name="…"` of each instance. In the table: NULL. */
        const char *const *instances;
} Metric;

/* Each renders all samples of one metric. */
void metric_render_snapshot(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_build(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_policies(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_failures(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_ignored(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_timeouts(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_drift(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_events(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_sample_durations(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_bind_latency(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_node_memory(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_node_cpu(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_node_events(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_irq_vectors(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_irq_landed(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_accesses(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_policy_accesses(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_access(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_instances(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_instance_info(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_instance_bound(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_instance_state(const Metric *metric, const Snapshot *snapshot, Text *text);
void metric_render_instance_memory(const Metric *metric, const Snapshot *snapshot, Text *text);

/* Appends `name="value"`, escaped and made UTF-8, after `separator`: "{" before the first label of
 * a sample, "," before the others. A `value` of NULL is the empty string. */
void prometheus_append_label(Text *text, const char *separator, const char *name,
                             const char *value);

/* The labels that name an instance, without the closing brace. */
void prometheus_append_instance(Text *text, const InstanceInfo *instance);

/* `from` is the struct that has the value of the metric. Is there a sample? Appends its value as
 * ` NUMBER\n`, behind the name and the labels. */
bool metric_has_value(const Metric *metric, const void *from);
void metric_append_value(const Metric *metric, const void *from, Text *text);

/* Appends the name of the metric and its labels: names and values in turn, and NULL behind the last
 * one. A label without a value, NULL, is left out. */
void metric_append_labels(Text *text, const Metric *metric, ...) __attribute__((sentinel));

/* Appends ` NUMBER\n`, what most lines end with. */
void prometheus_append_count(Text *text, uint64_t value);

/* Appends a number that is not NAN, with a point in every locale: nine decimals at most, six from a
 * million on, no trailing zeros. */
void prometheus_append_number(Text *text, double value);
