/* Samples of the metrics of accesses. Vendors count different things: which, the labels tell. */
#include <inttypes.h>
#include <math.h>

#include "tidbnumad/publish/metric-kinds.h"
#include "tidbnumad/publish/prometheus.h"

static void append_labels(Text *text, const Metric *metric, const char *policy,
                          const char *instance) {
        text_append(text, metric->name);
        prometheus_append_label(text, "{", "policy", policy);
        if (instance)
                prometheus_append_label(text, ",", "name", instance);
}

static void append_source(Text *text, const AccessSnapshot *access) {
        prometheus_append_label(text, ",", "source", access->source);
        prometheus_append_label(text, ",", "coverage", access->coverage);
}

static void append_counts(Text *text, const Metric *metric, const AccessSnapshot *access,
                          const char *policy, const char *instance,
                          const uint64_t counts[static N_LOCALITIES]) {
        for (Locality l = 0; l < N_LOCALITIES; l++) {
                if (!access->counted[l])
                        continue;
                append_labels(text, metric, policy, instance);
                prometheus_append_label(text, ",", "locality", locality_to_string(l));
                append_source(text, access);
                text_appendf(text, "} %" PRIu64 "\n", counts[l]);
        }
}

void metric_render_accesses(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];

                if (instance->access_known)
                        append_counts(text, metric, &snapshot->access, instance->policy,
                                      instance->name, instance->accesses);
        }
}

void metric_render_policy_accesses(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                append_counts(text, metric, &snapshot->access, snapshot->policies[i].name, NULL,
                              snapshot->policies[i].accesses);
}

void metric_render_access_numbers(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];
                const double value = metric->value.instance(instance);

                if (!instance->access_known || isnan(value))
                        continue;
                append_labels(text, metric, instance->policy, instance->name);
                append_source(text, &snapshot->access);
                text_append(text, "} ");
                prometheus_append_number(text, value);
                text_append(text, "\n");
        }
}
