/* Snapshot to Prometheus text 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/): one table row a metric, one
 * function a kind of sample. Writing the file is left to the daemon, serving it to the exporter. */
#include <inttypes.h>
#include <math.h>

#include "tidbnumad/publish/metrics.h"
#include "tidbnumad/publish/prometheus.h"

typedef struct Metric Metric;

struct Metric {
        const char *name;
        const char *type;
        const char *help; /* no backslash, no newline */
        void (*render)(const Metric *metric, const Snapshot *snapshot, Text *text);
        union {
                double (*number)(const Snapshot *snapshot);
                uint64_t (*policy)(const PolicySnapshot *policy);
                double (*instance)(const InstanceSnapshot *instance);
                uint64_t (*instance_count)(const InstanceSnapshot *instance);
                uint64_t (*event)(const EventSnapshot *event);
        } value;
};

static void append_instance(Text *text, const Metric *metric, const InstanceSnapshot *instance) {
        text_append(text, metric->name);
        prometheus_append_label(text, "{", "policy", instance->policy);
        prometheus_append_label(text, ",", "instance", instance->name);
}

/* --- what a metric takes from the snapshot --- */

static double ready(const Snapshot *s) {
        return s->ready;
}

static double enforcing(const Snapshot *s) {
        return s->enforcing;
}

static double load_success(const Snapshot *s) {
        return s->policy_load_success;
}

static double load_seconds(const Snapshot *s) {
        return s->policy_load_seconds;
}

static double n_policies(const Snapshot *s) {
        return (double)s->n_policies;
}

static double sample_interval(const Snapshot *s) {
        return s->sample_interval_seconds;
}

static double realtime(const Snapshot *s) {
        return s->realtime_seconds;
}

static double self_cpu(const Snapshot *s) {
        return s->self_known ? s->self.cpu_seconds : (double)NAN;
}

static double self_start(const Snapshot *s) {
        return s->self_known ? s->self.start_seconds : (double)NAN;
}

static double self_resident(const Snapshot *s) {
        return s->self_known ? (double)s->self.resident_bytes : (double)NAN;
}

static double self_fds(const Snapshot *s) {
        return s->self_known ? (double)s->self.open_fds : (double)NAN;
}

static uint64_t policy_attempts(const PolicySnapshot *p) {
        return p->bind_attempts;
}

static uint64_t policy_failures(const PolicySnapshot *p) {
        return p->bind_failures;
}

static uint64_t threads(const InstanceSnapshot *i) {
        return i->n_threads;
}

static uint64_t threads_outside(const InstanceSnapshot *i) {
        return i->n_threads_outside;
}

static double remote_ratio(const InstanceSnapshot *i) {
        return i->remote_ratio;
}

/* All bytes are counted, none sampled. */
static double remote_halfwidth(const InstanceSnapshot *i) {
        return isnan(i->remote_ratio) ? (double)NAN : 0;
}

static uint64_t migrated(const InstanceSnapshot *i) {
        return i->migrated_bytes;
}

static uint64_t pending(const InstanceSnapshot *i) {
        return i->pending_bytes;
}

static uint64_t failed_pages(const InstanceSnapshot *i) {
        return i->failed_pages;
}

static uint64_t received(const EventSnapshot *e) {
        return e->received;
}

static uint64_t lost(const EventSnapshot *e) {
        return e->lost;
}

static uint64_t rescans(const EventSnapshot *e) {
        return e->rescans;
}

/* --- samples, a kind at a time --- */

static void render_number(const Metric *metric, const Snapshot *snapshot, Text *text) {
        double value = metric->value.number(snapshot);

        if (isnan(value))
                return;
        text_appendf(text, "%s ", metric->name);
        prometheus_append_number(text, value);
        text_append(text, "\n");
}

static void render_build(const Metric *metric, const Snapshot *snapshot, Text *text) {
        text_append(text, metric->name);
        prometheus_append_label(text, "{", "version", snapshot->version);
        prometheus_append_label(text, ",", "hwloc", snapshot->hwloc_version);
        prometheus_append_label(text, ",", "systemd", snapshot->systemd_version);
        text_append(text, "} 1\n");
}

static void render_policies(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++) {
                const PolicySnapshot *policy = &snapshot->policies[i];

                text_append(text, metric->name);
                prometheus_append_label(text, "{", "policy", policy->name);
                text_appendf(text, "} %" PRIu64 "\n", metric->value.policy(policy));
        }
}

static void render_events(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_events; i++) {
                const EventSnapshot *event = &snapshot->events[i];

                text_append(text, metric->name);
                prometheus_append_label(text, "{", "source", event->source);
                text_appendf(text, "} %" PRIu64 "\n", metric->value.event(event));
        }
}

static void render_instance_counts(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];

                append_instance(text, metric, instance);
                text_appendf(text, "} %" PRIu64 "\n", metric->value.instance_count(instance));
        }
}

static void render_instance_numbers(const Metric *metric, const Snapshot *snapshot, Text *text) {
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

static void append_set(Text *text, const char *name, const IdSet *set) {
        char list[ID_SET_MAX * 5]; /* four digits and a comma each: any set fits */

        prometheus_append_label(text, ",", name,
                                id_set_render_list(set, list, sizeof(list)) < 0 ? "" : list);
}

static void render_instance_info(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];

                append_instance(text, metric, instance);
                text_appendf(text, ",pid=\"%jd\"", (intmax_t)instance->pid);
                prometheus_append_label(text, ",", "exe", instance->exe);
                prometheus_append_label(text, ",", "unit", instance->unit);
                prometheus_append_label(text, ",", "backend", instance->backend);
                append_set(text, "nodes", &instance->nodes);
                append_set(text, "cpus", &instance->cpus);
                text_append(text, "} 1\n");
        }
}

static void render_instance_bound(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceSnapshot *instance = &snapshot->instances[i];

                append_instance(text, metric, instance);
                text_appendf(text, ",kind=\"cpu\"} %d\n", instance->cpu_bound);
                append_instance(text, metric, instance);
                text_appendf(text, ",kind=\"memory\"} %d\n", instance->memory_bound);
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

static void render_instance_memory(const Metric *metric, const Snapshot *snapshot, Text *text) {
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

/* --- the catalogue --- */

#define NUMBER(f)                                                                                  \
        render_number, {                                                                           \
                .number = f                                                                        \
        }
#define POLICY(f)                                                                                  \
        render_policies, {                                                                         \
                .policy = f                                                                        \
        }
#define INSTANCE(f)                                                                                \
        render_instance_numbers, {                                                                 \
                .instance = f                                                                      \
        }
#define INSTANCE_COUNT(f)                                                                          \
        render_instance_counts, {                                                                  \
                .instance_count = f                                                                \
        }
#define EVENT(f)                                                                                   \
        render_events, {                                                                           \
                .event = f                                                                         \
        }

/* clang-format off */
static const Metric metrics[] = {
        { "tidbnumad_build_info", "gauge",
          "Versions of the daemon and of the libraries it was built with.", render_build, { 0 } },
        { "tidbnumad_ready", "gauge",
          "Whether the first look at the machine is complete.", NUMBER(ready) },
        { "tidbnumad_enforcing", "gauge",
          "Whether plans are applied (1) or only reported (0).", NUMBER(enforcing) },
        { "tidbnumad_policy_load_success", "gauge",
          "Whether the last load of the policies succeeded.", NUMBER(load_success) },
        { "tidbnumad_policy_last_load_timestamp_seconds", "gauge",
          "When the policies were last loaded, in seconds since the epoch.", NUMBER(load_seconds) },
        { "tidbnumad_policies", "gauge",
          "Policies in force.", NUMBER(n_policies) },
        { "tidbnumad_instance_info", "gauge",
          "What an instance is and where it is to run.", render_instance_info, { 0 } },
        { "tidbnumad_instance_bound", "gauge",
          "Whether the binding of an instance was verified, by kind.", render_instance_bound, { 0 } },
        { "tidbnumad_instance_threads", "gauge",
          "Threads of an instance.", INSTANCE_COUNT(threads) },
        { "tidbnumad_instance_threads_outside", "gauge",
          "Threads whose CPUs are not those the instance is to have.", INSTANCE_COUNT(threads_outside) },
        { "tidbnumad_instance_memory_bytes", "gauge",
          "Resident memory of an instance by node and kind.", render_instance_memory, { 0 } },
        { "tidbnumad_instance_remote_memory_ratio", "gauge",
          "Share of the anonymous memory of an instance that lies outside its nodes.", INSTANCE(remote_ratio) },
        { "tidbnumad_instance_remote_memory_ratio_halfwidth", "gauge",
          "Half-width of the 95 % confidence interval of the ratio, 0 where it is exact.", INSTANCE(remote_halfwidth) },
        { "tidbnumad_bind_attempts_total", "counter",
          "Attempts to bind an instance of the policy.", POLICY(policy_attempts) },
        { "tidbnumad_bind_failures_total", "counter",
          "Attempts to bind an instance of the policy that failed.", POLICY(policy_failures) },
        { "tidbnumad_migrated_bytes_total", "counter",
          "Bytes moved to the nodes of an instance.", INSTANCE_COUNT(migrated) },
        { "tidbnumad_migration_pending_bytes", "gauge",
          "Anonymous bytes of an instance that are still to be moved.", INSTANCE_COUNT(pending) },
        { "tidbnumad_migration_failed_pages_total", "counter",
          "Pages of an instance that the kernel refused to move.", INSTANCE_COUNT(failed_pages) },
        { "tidbnumad_events_total", "counter",
          "Events received, by source.", EVENT(received) },
        { "tidbnumad_events_lost_total", "counter",
          "Times that a source told of lost events.", EVENT(lost) },
        { "tidbnumad_rescans_total", "counter",
          "Full scans because a source lost events.", EVENT(rescans) },
        { "tidbnumad_sample_interval_seconds", "gauge",
          "Sampling interval in force.", NUMBER(sample_interval) },
        { "tidbnumad_snapshot_timestamp_seconds", "gauge",
          "When this snapshot was taken, in seconds since the epoch.", NUMBER(realtime) },
        { "process_cpu_seconds_total", "counter",
          "Total user and system CPU time spent in seconds.", NUMBER(self_cpu) },
        { "process_resident_memory_bytes", "gauge",
          "Resident memory size in bytes.", NUMBER(self_resident) },
        { "process_open_fds", "gauge",
          "Number of open file descriptors.", NUMBER(self_fds) },
        { "process_start_time_seconds", "gauge",
          "Start time of the process since the epoch in seconds.", NUMBER(self_start) },
};
/* clang-format on */

static void render_metric(const Metric *metric, const Snapshot *snapshot, Text *text) {
        size_t start = text->length, samples;

        text_appendf(text, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
                     metric->type);
        samples = text->length;
        metric->render(metric, snapshot, text);
        if (text->error < 0 || text->length > samples)
                return;
        text->length = start; /* no samples: no HELP and TYPE either */
        text->data[start] = '\0';
}

int metrics_render(const Snapshot *snapshot, Text *text) {
        text_reset(text);
        for (size_t i = 0; i < ELEMENTSOF(metrics); i++)
                render_metric(&metrics[i], snapshot, text);
        return text->error;
}
