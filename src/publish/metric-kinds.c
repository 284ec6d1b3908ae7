/* Samples of metrics, a kind at a time. Which metric is of which kind, metrics.c tells. */
#include <inttypes.h>
#include <math.h>

#include "tidbnumad/publish/metric-kinds.h"
#include "tidbnumad/publish/prometheus.h"

static void append_instance(Text *text, const Metric *metric, const InstanceSnapshot *instance) {
        text_append(text, metric->name);
        prometheus_append_label(text, "{", "policy", instance->policy);
        prometheus_append_label(text, ",", "name", instance->name);
}

void metric_render_number(const Metric *metric, const Snapshot *snapshot, Text *text) {
        double value = metric->value.number(snapshot);

        if (isnan(value))
                return;
        text_appendf(text, "%s ", metric->name);
        prometheus_append_number(text, value);
        text_append(text, "\n");
}

void metric_render_build(const Metric *metric, const Snapshot *snapshot, Text *text) {
        text_append(text, metric->name);
        prometheus_append_label(text, "{", "version", snapshot->version);
        prometheus_append_label(text, ",", "hwloc", snapshot->hwloc_version);
        prometheus_append_label(text, ",", "systemd", snapshot->systemd_version);
        text_append(text, "} 1\n");
}

void metric_render_policies(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++) {
                const PolicySnapshot *policy = &snapshot->policies[i];

                text_append(text, metric->name);
                prometheus_append_label(text, "{", "policy", policy->name);
                text_appendf(text, "} %" PRIu64 "\n", metric->value.policy(policy));
        }
}

static void append_policy(const Metric *metric, const PolicySnapshot *policy, const char *label,
                          const char *value, uint64_t count, Text *text) {
        text_append(text, metric->name);
        prometheus_append_label(text, "{", "policy", policy->name);
        prometheus_append_label(text, ",", label, value);
        text_appendf(text, "} %" PRIu64 "\n", count);
}

/* Only those that there were: most never come. */
void metric_render_failures(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                for (Reason r = REASON_NONE + 1; r < N_REASONS; r++)
                        if (snapshot->policies[i].bind_failures[r] > 0)
                                append_policy(metric, &snapshot->policies[i], "reason",
                                              reason_to_string(r),
                                              snapshot->policies[i].bind_failures[r], text);
}

void metric_render_ignored(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (IgnoredReason r = 0; r < N_IGNORED_REASONS; r++) {
                text_append(text, metric->name);
                prometheus_append_label(text, "{", "reason", ignored_reason_to_string(r));
                text_appendf(text, "} %" PRIu64 "\n", snapshot->ignored[r]);
        }
}

void metric_render_timeouts(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_job_timeouts; i++) {
                text_append(text, metric->name);
                prometheus_append_label(text, "{", "job", snapshot->job_timeouts[i].job);
                text_appendf(text, "} %" PRIu64 "\n", snapshot->job_timeouts[i].n);
        }
}

void metric_render_drift(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                for (DriftKind k = 0; k < N_DRIFTS; k++)
                        append_policy(metric, &snapshot->policies[i], "kind", drift_to_string(k),
                                      snapshot->policies[i].drift_repairs[k], text);
}

void metric_render_events(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_events; i++) {
                const EventSnapshot *event = &snapshot->events[i];

                text_append(text, metric->name);
                prometheus_append_label(text, "{", "source", event->source);
                text_appendf(text, "} %" PRIu64 "\n", metric->value.event(event));
        }
}

void metric_render_instance_counts(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];

                append_instance(text, metric, instance);
                text_appendf(text, "} %" PRIu64 "\n", metric->value.instance_count(instance));
        }
}

void metric_render_instance_numbers(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];
                double value = metric->value.instance(instance);

                if (isnan(value))
                        continue;
                append_instance(text, metric, instance);
                text_append(text, "} ");
                prometheus_append_number(text, value);
                text_append(text, "\n");
        }
}

static void append_set(Text *text, const char *name, IdView set) {
        char list[ID_SET_LIST_ANY];

        prometheus_append_label(text, ",", name,
                                id_view_render_list(set, list, sizeof(list)) < 0 ? "" : list);
}

void metric_render_instance_info(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];

                append_instance(text, metric, instance);
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
                const InstanceSnapshot *instance = &snapshot->instances[i];

                append_instance(text, metric, instance);
                text_appendf(text, ",kind=\"cpu\"} %d\n", instance->cpu_bound);
                append_instance(text, metric, instance);
                text_appendf(text, ",kind=\"memory\"} %d\n", instance->memory_bound);
        }
}

/* The reason is a label of the one that is 1, so that the others keep their series when it changes.
 */
void metric_render_instance_state(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];

                for (InstanceState s = 0; s < N_INSTANCE_STATES; s++) {
                        const bool is_in = s == instance->state;

                        append_instance(text, metric, instance);
                        prometheus_append_label(text, ",", "state", instance_state_to_string(s));
                        prometheus_append_label(text, ",", "reason",
                                                is_in ? reason_to_string(instance->reason_code)
                                                      : "");
                        text_appendf(text, "} %d\n", is_in);
                }
        }
}

static void append_node_memory(const Metric *metric, const InstanceSnapshot *instance,
                               const Node *node, const NodeMemory *memory, Text *text) {
        const struct {
                const char *kind;
                uint64_t bytes;
        } kinds[] = { { "anon", memory->anon_bytes },
                      { "file", memory->file_bytes },
                      { "shmem", memory->shmem_bytes } };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                append_instance(text, metric, instance);
                text_appendf(text, ",node=\"%" PRIu32 "\",kind=\"%s\"} %" PRIu64 "\n", node->id,
                             kinds[i].kind, kinds[i].bytes);
        }
}

void metric_render_instance_memory(const Metric *metric, const Snapshot *snapshot, Text *text) {
        const Topology *topology = snapshot->topology;

        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];

                if (!instance->by_node || !topology)
                        continue;
                for (size_t n = 0; n < topology->n_nodes; n++)
                        append_node_memory(metric, instance, &topology->nodes[n],
                                           &instance->by_node[n], text);
        }
}
