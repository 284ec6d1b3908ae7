/* The text format of Prometheus, and samples of one kind of metric at a time; metrics.c has the
 * kind of each metric. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/metric-kinds.h"

static void append_instance(Text *text, const Metric *metric, size_t index) {
        text_append(text, metric->name);
        text_append(text, metric->instances[index]);
}

static const void *field_of(const Metric *metric, const void *from) {
        return (const char *)from + metric->offset;
}

bool metric_has_value(const Metric *metric, const void *from) {
        return metric->field != METRIC_NUMBER || !isnan(*(const double *)field_of(metric, from));
}

void metric_append_value(const Metric *metric, const void *from, Text *text) {
        const void *field = field_of(metric, from);
        double number;

        if (metric->field == METRIC_BOOL)
                prometheus_append_count(text, *(const bool *)field);
        else if (metric->field == METRIC_COUNT)
                prometheus_append_count(text, *(const uint64_t *)field);
        else {
                number = *(const double *)field;
                text_append(text, " ");
                prometheus_append_number(text, isnan(number) ? 0 : number);
                text_append(text, "\n");
        }
}

void metric_render_snapshot(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < ELEMENTSOF(metric->known); i++)
                if (metric->known[i] > 0 && !*((const bool *)snapshot + metric->known[i]))
                        return;
        text_append(text, metric->name);
        metric_append_value(metric, snapshot, text);
}

void metric_append_labels(Text *text, const Metric *metric, ...) {
        const char *separator = "", *name;
        va_list labels;

        text_append(text, metric->name);
        text_append(text, "{");
        va_start(labels, metric);
        while ((name = va_arg(labels, const char *))) {
                const char *value = va_arg(labels, const char *);

                if (!value)
                        continue;
                prometheus_append_label(text, separator, name, value);
                separator = ",";
        }
        va_end(labels);
        text_append(text, "}");
}

void metric_render_build(const Metric *metric, const Snapshot *snapshot, Text *text) {
        metric_append_labels(text, metric, "version", snapshot->version, "hwloc",
                             snapshot->hwloc_version, "systemd", snapshot->systemd_version, NULL);
        prometheus_append_count(text, 1);
}

void metric_render_policies(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++) {
                metric_append_labels(text, metric, "policy", snapshot->policies[i].name, NULL);
                metric_append_value(metric, &snapshot->policies[i], text);
        }
}

/* Only those that there were: most never come. */
void metric_render_failures(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                for (Reason r = REASON_NONE + 1; r < N_REASONS; r++) {
                        const PolicyInfo *policy = &snapshot->policies[i];

                        if (policy->bind_failures[r] == 0)
                                continue;
                        metric_append_labels(text, metric, "policy", policy->name, "reason",
                                             reason_to_string(r), NULL);
                        prometheus_append_count(text, policy->bind_failures[r]);
                }
}

void metric_render_ignored(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (IgnoredReason r = 0; r < N_IGNORED_REASONS; r++) {
                metric_append_labels(text, metric, "reason", ignored_reason_to_string(r), NULL);
                prometheus_append_count(text, snapshot->ignored[r]);
        }
}

void metric_render_timeouts(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_job_timeouts; i++) {
                metric_append_labels(text, metric, "job", snapshot->job_timeouts[i].job, NULL);
                prometheus_append_count(text, snapshot->job_timeouts[i].n);
        }
}

void metric_render_drift(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                for (DriftKind k = 0; k < N_DRIFTS; k++) {
                        metric_append_labels(text, metric, "policy", snapshot->policies[i].name,
                                             "kind", drift_to_string(k), NULL);
                        prometheus_append_count(text, snapshot->policies[i].drift_repairs[k]);
                }
}

void metric_render_events(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_events; i++) {
                metric_append_labels(text, metric, "source", snapshot->events[i].source, NULL);
                metric_append_value(metric, &snapshot->events[i], text);
        }
}

void metric_render_instances(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                if (!metric_has_value(metric, &snapshot->instances[i]))
                        continue;
                append_instance(text, metric, i);
                text_append(text, "}");
                metric_append_value(metric, &snapshot->instances[i], text);
        }
}

static void append_set(Text *text, const char *name, IdView set) {
        char list[ID_SET_LIST_ANY];

        prometheus_append_label(text, ",", name,
                                id_view_render_list(set, list, sizeof(list)) < 0 ? "" : list);
}

void metric_render_instance_info(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceInfo *instance = &snapshot->instances[i];

                append_instance(text, metric, i);
                text_appendf(text, ",pid=\"%jd\"", (intmax_t)instance->pid);
                prometheus_append_label(text, ",", "exe", instance->exe);
                prometheus_append_label(text, ",", "unit", instance->unit);
                prometheus_append_label(text, ",", "backend", instance->backend);
                append_set(text, "nodes", ID_VIEW(&instance->nodes));
                append_set(text, "cpus", ID_VIEW(&instance->cpus));
                text_append(text, "} 1\n");
        }
}

void metric_render_instance_bound(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceInfo *instance = &snapshot->instances[i];

                append_instance(text, metric, i);
                text_append(text,
                            instance->cpu_bound ? ",kind=\"cpu\"} 1\n" : ",kind=\"cpu\"} 0\n");
                append_instance(text, metric, i);
                text_append(text, instance->memory_bound ? ",kind=\"memory\"} 1\n"
                                                         : ",kind=\"memory\"} 0\n");
        }
}

/* The reason is a label of the one that is 1, so that the others keep their series when it changes.
 */
void metric_render_instance_state(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceInfo *instance = &snapshot->instances[i];

                for (InstanceState s = 0; s < N_INSTANCE_STATES; s++) {
                        append_instance(text, metric, i);
                        text_append(text, ",state=\"");
                        text_append(text, instance_state_to_string(s));
                        text_append(text, "\",reason=\"");
                        if (s == instance->state)
                                text_append(text, reason_to_string(instance->reason_code));
                        text_append(text, s == instance->state ? "\"} 1\n" : "\"} 0\n");
                }
        }
}

static void append_node_memory(const Metric *metric, size_t instance, const char *node,
                               const NodeMemory *memory, Text *text) {
        const struct {
                const char *kind;
                uint64_t bytes;
        } kinds[] = { { "anon\"}", memory->anon_bytes },
                      { "file\"}", memory->file_bytes },
                      { "shmem\"}", memory->shmem_bytes } };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                append_instance(text, metric, instance);
                text_append(text, node);
                text_append(text, kinds[i].kind);
                prometheus_append_count(text, kinds[i].bytes);
        }
}

/* The longest part of all metrics: no line of it is made by a format. */
void metric_render_instance_memory(const Metric *metric, const Snapshot *snapshot, Text *text) {
        const Topology *topology = snapshot->topology;

        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const NodeMemory *by_node = snapshot->instances[i].by_node;

                for (size_t n = 0; by_node && topology && n < topology->n_nodes; n++) {
                        char node[40];

                        (void)snprintf(node, sizeof(node), ",node=\"%" PRIu32 "\",kind=\"",
                                       topology->nodes[n].id);
                        append_node_memory(metric, i, node, &by_node[n], text);
                }
        }
}

/* --- histograms --- */

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
 * something is bound, is no increase in a query of a rate. */
void metric_render_bind_latency(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                append_histogram(metric, "policy", snapshot->policies[i].name,
                                 &snapshot->policies[i].bind_latency, text);
}

/* --- the text format --- */

/* A backslash, a quote and a newline are all that the format wants escaped. What drives a terminal
 * is escaped as well: metrics are read with curl too. */
static void append_label_value(Text *text, const char *value) {
        _cleanup_text_ Text well_formed = { 0 }, visible = { 0 };

        utf8_sanitize(&well_formed, value, strlen(value));
        text_append(&visible, "");
        utf8_append_visible(&visible, well_formed.data ? well_formed.data : "", well_formed.length,
                            "\n");
        if (well_formed.error < 0 || visible.error < 0) {
                text->error = -ENOMEM;
                return;
        }
        value = visible.data;
        for (;;) {
                size_t run = strcspn(value, "\\\"\n");

                text_append_bytes(text, value, run);
                value += run;
                if (*value == '\0')
                        return;
                text_append(text, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
                value++;
        }
}

void prometheus_append_label(Text *text, const char *separator, const char *name,
                             const char *value) {
        text_appendf(text, "%s%s=\"", separator, name);
        append_label_value(text, value ? value : "");
        text_append(text, "\"");
}

void prometheus_append_instance(Text *text, const InstanceInfo *instance) {
        prometheus_append_label(text, "{", "policy", instance->policy);
        prometheus_append_label(text, ",", "name", instance->name);
}

void prometheus_append_count(Text *text, uint64_t value) {
        char line[24], *at = line + sizeof(line);

        *--at = '\n';
        do
                *--at = (char)('0' + value % 10);
        while (value /= 10);
        *--at = ' ';
        text_append_bytes(text, at, (size_t)(line + sizeof(line) - at));
}

/* Nine decimals at most, six from a million on (a time since the epoch has no more in a double),
 * without trailing zeros. "." in every locale because the C library prints whole numbers only. */
void prometheus_append_number(Text *text, double value) {
        double magnitude = value < 0 ? -value : value;
        int digits = magnitude < 1e6 ? 9 : 6;
        uint64_t scale = magnitude < 1e6 ? UINT64_C(1000000000) : UINT64_C(1000000);
        uint64_t whole, fraction;

        if (magnitude >= 9e15) { /* nothing behind the point in a double that large */
                text_appendf(text, "%.0f", value);
                return;
        }
        whole = (uint64_t)magnitude;
        fraction = (uint64_t)((magnitude - (double)whole) * (double)scale + 0.5);
        whole += fraction / scale;
        fraction %= scale;
        text_appendf(text, "%s%" PRIu64, value < 0 ? "-" : "", whole);
        if (fraction == 0)
                return;
        for (; fraction % 10 == 0; fraction /= 10)
                digits--;
        text_appendf(text, ".%0*" PRIu64, digits, fraction);
}
