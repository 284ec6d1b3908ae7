/* Words and histograms of a snapshot. */
#include "tidbnumad/model/snapshot.h"

static const char *const sample_method_strings[N_SAMPLE_METHODS] = {
        [SAMPLE_NUMA_STAT] = "numa_stat",
        [SAMPLE_DRAWN] = "sampled",
        [SAMPLE_COUNTERS] = "counters",
};
DEFINE_STRING_TABLE(sample_method_to_string, SampleMethod, sample_method_strings)

static const char *const ignored_reason_strings[N_IGNORED_REASONS] = {
        [IGNORED_MAX_INSTANCES] = "max_instances",
        [IGNORED_PROCESS_LIMIT] = "process_limit",
        [IGNORED_USER] = "user",
        [IGNORED_NAMESPACE] = "namespace",
};
DEFINE_STRING_TABLE(ignored_reason_to_string, IgnoredReason, ignored_reason_strings)

static const char *const node_mode_strings[N_MODES] = {
        [MODE_USER] = "user",       [MODE_SYSTEM] = "system", [MODE_IRQ] = "irq",
        [MODE_SOFTIRQ] = "softirq", [MODE_IOWAIT] = "iowait", [MODE_IDLE] = "idle",
        [MODE_STEAL] = "steal",
};
DEFINE_STRING_TABLE(node_mode_to_string, NodeMode, node_mode_strings)

static const char *const node_event_strings[N_NODE_EVENTS] = {
        [EVENT_HIT] = "hit",         [EVENT_MISS] = "miss",
        [EVENT_FOREIGN] = "foreign", [EVENT_INTERLEAVE] = "interleave",
        [EVENT_LOCAL] = "local",     [EVENT_OTHER] = "other",
};
DEFINE_STRING_TABLE(node_event_to_string, NodeEvent, node_event_strings)

static const char *const irq_state_strings[N_IRQ_STATES] = {
        [IRQ_STATE_STEERED] = "steered",     [IRQ_STATE_MANAGED] = "managed",
        [IRQ_STATE_CONTESTED] = "contested", [IRQ_STATE_FAILED] = "failed",
        [IRQ_STATE_LEFT] = "left",
};
DEFINE_STRING_TABLE(irq_state_to_string, IrqState, irq_state_strings)

/* --- histograms --- */

static const double bounds[HISTOGRAM_BUCKETS] = HISTOGRAM_BOUNDS;

double histogram_bound(size_t bucket) {
        return bounds[bucket];
}

void histogram_add(Histogram *histogram, double seconds) {
        for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
                if (seconds <= bounds[i]) {
                        histogram->counts[i]++;
                        break;
                }
        histogram->n++;
        histogram->sum += seconds;
}
