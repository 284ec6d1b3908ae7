/* Samples of metrics of nodes, interrupts and accesses. */
#include <inttypes.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/publish/metric-kinds.h"

static void append_node(const Metric *metric, const Node *node, const char *label,
                        const char *value, Text *text) {
        text_appendf(text, "%s{node=\"%" PRIu32 "\",%s=\"%s\"}", metric->name, node->id, label,
                     value);
}

static size_t n_nodes(const Snapshot *snapshot) {
        return snapshot->nodes && snapshot->topology ? snapshot->topology->n_nodes : 0;
}

void metric_render_node_memory(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < n_nodes(snapshot); i++) {
                const NodeCounters *node = &snapshot->nodes[i];
                const struct {
                        const char *state;
                        uint64_t bytes;
                } states[] = { { "total", node->total_bytes },
                               { "free", node->free_bytes },
                               { "file", node->file_bytes },
                               { "anon", node->anon_bytes } };

                for (size_t k = 0; node->memory_known && k < ELEMENTSOF(states); k++) {
                        append_node(metric, &snapshot->topology->nodes[i], "state", states[k].state,
                                    text);
                        prometheus_append_count(text, states[k].bytes);
                }
        }
}

void metric_render_node_cpu(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < n_nodes(snapshot); i++)
                for (NodeMode m = 0; snapshot->nodes[i].cpu_known && m < N_MODES; m++) {
                        append_node(metric, &snapshot->topology->nodes[i], "mode",
                                    node_mode_to_string(m), text);
                        text_append(text, " ");
                        prometheus_append_number(text, snapshot->nodes[i].cpu_seconds[m]);
                        text_append(text, "\n");
                }
}

void metric_render_node_events(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < n_nodes(snapshot); i++)
                for (NodeEvent e = 0; snapshot->nodes[i].events_known && e < N_NODE_EVENTS; e++) {
                        append_node(metric, &snapshot->topology->nodes[i], "event",
                                    node_event_to_string(e), text);
                        prometheus_append_count(text, snapshot->nodes[i].events[e]);
                }
}

/* --- interrupts --- */

static uint64_t count_vectors(const IrqDeviceInfo *d) {
        uint64_t sum = 0;

        for (unsigned s = 0; s < N_IRQ_STATES; s++)
                sum += d->vectors[s];
        return sum;
}

/* All states of each device: an alert wants to see the nought, too. */
void metric_render_irq_vectors(const Metric *metric, const Snapshot *snapshot, Text *text) {
        const IrqInfo *irq = &snapshot->irq;

        for (size_t i = 0; i < irq->n_devices; i++) {
                const IrqDeviceInfo *d = &irq->devices[i];

                for (unsigned s = 0; count_vectors(d) > 0 && s < N_IRQ_STATES; s++) {
                        metric_append_labels(text, metric, "device", d->name, "state",
                                             irq_state_to_string((IrqState)s), NULL);
                        prometheus_append_count(text, d->vectors[s]);
                }
        }
}

void metric_render_irq_landed(const Metric *metric, const Snapshot *snapshot, Text *text) {
        const IrqInfo *irq = &snapshot->irq;

        for (size_t i = 0; i < irq->n_landed; i++) {
                metric_append_labels(text, metric, "device", irq->landed[i].device, "name",
                                     irq->landed[i].instance, NULL);
                prometheus_append_count(text, irq->landed[i].count);
        }
}

/* --- accesses. Vendors count different things: the labels name them --- */

static void append_counts(Text *text, const Metric *metric, const AccessInfo *access,
                          const char *policy, const char *instance,
                          const uint64_t counts[static N_LOCALITIES]) {
        for (Locality l = 0; l < N_LOCALITIES; l++) {
                if (!access->counted[l])
                        continue;
                metric_append_labels(text, metric, "policy", policy, "name", instance, "locality",
                                     locality_to_string(l), "source", access->source, "coverage",
                                     access->coverage, NULL);
                prometheus_append_count(text, counts[l]);
        }
}

void metric_render_accesses(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceInfo *instance = &snapshot->instances[i];

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

void metric_render_access(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceInfo *instance = &snapshot->instances[i];

                if (!instance->access_known || !metric_has_value(metric, instance))
                        continue;
                metric_append_labels(text, metric, "policy", instance->policy, "name",
                                     instance->name, "source", snapshot->access.source, "coverage",
                                     snapshot->access.coverage, NULL);
                metric_append_value(metric, instance, text);
        }
}
