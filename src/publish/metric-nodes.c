/* Samples of metrics of the nodes. */
#include <inttypes.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/publish/metric-kinds.h"
#include "tidbnumad/publish/prometheus.h"

static void append_node(const Metric *metric, const Node *node, const char *label,
                        const char *value, Text *text) {
        text_appendf(text, "%s{node=\"%" PRIu32 "\",%s=\"%s\"} ", metric->name, node->id, label,
                     value);
}

static size_t n_nodes(const Snapshot *snapshot) {
        return snapshot->nodes && snapshot->topology ? snapshot->topology->n_nodes : 0;
}

void metric_render_node_memory(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < n_nodes(snapshot); i++) {
                const NodeSnapshot *node = &snapshot->nodes[i];
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
                        text_appendf(text, "%" PRIu64 "\n", states[k].bytes);
                }
        }
}

void metric_render_node_cpu(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < n_nodes(snapshot); i++)
                for (NodeMode m = 0; snapshot->nodes[i].cpu_known && m < N_MODES; m++) {
                        append_node(metric, &snapshot->topology->nodes[i], "mode",
                                    node_mode_to_string(m), text);
                        prometheus_append_number(text, snapshot->nodes[i].cpu_seconds[m]);
                        text_append(text, "\n");
                }
}

void metric_render_node_events(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < n_nodes(snapshot); i++)
                for (NodeEvent e = 0; snapshot->nodes[i].events_known && e < N_NODE_EVENTS; e++) {
                        append_node(metric, &snapshot->topology->nodes[i], "event",
                                    node_event_to_string(e), text);
                        text_appendf(text, "%" PRIu64 "\n", snapshot->nodes[i].events[e]);
                }
}
