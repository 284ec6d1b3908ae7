/* Snapshot to Prometheus text 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/): one table row a metric. Writing
 * the file is left to the daemon, serving it to the exporter. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/metrics.h"

/* --- the text format --- */

/* `name="value"`, after "{" before the first label of a sample, or ",". A value of NULL is empty.
 * A backslash, a quote and a newline are all that the format wants escaped. What drives a terminal
 * is escaped as well: metrics are read with curl too. */
static void append_label(Text *text, const char *separator, const char *name, const char *value) {
        _cleanup_text_ Text well_formed = { 0 }, visible = { 0 };

        value = value ? value : "";
        utf8_sanitize(&well_formed, value, strlen(value));
        text_append(&visible, "");
        utf8_append_visible(&visible, text_string(&well_formed), well_formed.length, "\n");
        if (well_formed.error < 0 || visible.error < 0) {
                text->error = -ENOMEM;
                return;
        }
        text_appendf(text, "%s%s=\"", separator, name);
        for (value = visible.data;;) {
                size_t run = strcspn(value, "\\\"\n");

                text_append_bytes(text, value, run);
                value += run;
                if (*value == '\0')
                        break;
                text_append(text, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
                value++;
        }
        text_append(text, "\"");
}

/* ` NUMBER\n`, what most lines end with. */
static void append_count(Text *text, uint64_t value) {
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
static void append_number(Text *text, double value) {
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

/* --- parts of a sample --- */

typedef struct Metric {
        const char *name;
        const char *type;
        const char *labels; /* for the reference: "node, state=total|free"; "" for none */
        const char *help;   /* no backslash, no newline */
        void (*render)(const struct Metric *metric, const Snapshot *snapshot, Text *text);
        /* Where the value is in the snapshot, or in the instance, policy or source that a sample
         * is about. */
        size_t offset;
        FieldKind kind;  /* FIELD_BOOL, FIELD_COUNT; FIELD_NUMBER: of NAN there is no sample */
        size_t known[2]; /* offsets of bools of the snapshot, without which there is no sample; 0:
                            none */
        bool nan_is_0;   /* what is not known is 0, and has a sample */
        /* While it is rendered: `{policy="…",name="…"` of each instance. In the table: NULL. */
        const char *const *instances;
} Metric;

static void append_instance(Text *text, const Metric *metric, size_t index) {
        text_append(text, metric->name);
        text_append(text, metric->instances[index]);
}

/* `from` is the struct that has the value of the metric. */
static bool has_value(const Metric *metric, const void *from) {
        return metric->kind != FIELD_NUMBER || metric->nan_is_0 ||
               !isnan(*(const double *)((const char *)from + metric->offset));
}

static void append_value(const Metric *metric, const void *from, Text *text) {
        const void *field = (const char *)from + metric->offset;
        double number;

        if (metric->kind == FIELD_BOOL)
                append_count(text, *(const bool *)field);
        else if (metric->kind == FIELD_COUNT)
                append_count(text, *(const uint64_t *)field);
        else {
                number = *(const double *)field;
                text_append(text, " ");
                append_number(text, isnan(number) ? 0 : number);
                text_append(text, "\n");
        }
}

static void render_snapshot(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < ELEMENTSOF(metric->known); i++)
                if (metric->known[i] > 0 && !*((const bool *)snapshot + metric->known[i]))
                        return;
        text_append(text, metric->name);
        append_value(metric, snapshot, text);
}

/* The name of the metric and its labels: names and values in turn, and NULL behind the last one. A
 * label without a value, NULL, is left out. */
static void __attribute__((sentinel)) append_labels(Text *text, const Metric *metric, ...) {
        const char *separator = "", *name;
        va_list labels;

        text_append(text, metric->name);
        text_append(text, "{");
        va_start(labels, metric);
        while ((name = va_arg(labels, const char *))) {
                const char *value = va_arg(labels, const char *);

                if (!value)
                        continue;
                append_label(text, separator, name, value);
                separator = ",";
        }
        va_end(labels);
        text_append(text, "}");
}

static void render_build(const Metric *metric, const Snapshot *snapshot, Text *text) {
        append_labels(text, metric, "version", snapshot->version, "hwloc", snapshot->hwloc_version,
                      "systemd", snapshot->systemd_version, NULL);
        append_count(text, 1);
}

static void render_policies(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++) {
                append_labels(text, metric, "policy", snapshot->policies[i].name, NULL);
                append_value(metric, &snapshot->policies[i], text);
        }
}

/* Only those that there were: most never come. */
static void render_failures(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                for (Reason r = REASON_NONE + 1; r < N_REASONS; r++) {
                        const PolicyInfo *policy = &snapshot->policies[i];

                        if (policy->bind_failures[r] == 0)
                                continue;
                        append_labels(text, metric, "policy", policy->name, "reason",
                                      reason_to_string(r), NULL);
                        append_count(text, policy->bind_failures[r]);
                }
}

static void render_ignored(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (IgnoredReason r = 0; r < N_IGNORED_REASONS; r++) {
                append_labels(text, metric, "reason", ignored_reason_to_string(r), NULL);
                append_count(text, snapshot->ignored[r]);
        }
}

static void render_timeouts(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_job_timeouts; i++) {
                append_labels(text, metric, "job", snapshot->job_timeouts[i].job, NULL);
                append_count(text, snapshot->job_timeouts[i].n);
        }
}

static void render_drift(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                for (DriftKind k = 0; k < N_DRIFTS; k++) {
                        append_labels(text, metric, "policy", snapshot->policies[i].name, "kind",
                                      drift_to_string(k), NULL);
                        append_count(text, snapshot->policies[i].drift_repairs[k]);
                }
}

static void render_events(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_events; i++) {
                append_labels(text, metric, "source", snapshot->events[i].source, NULL);
                append_value(metric, &snapshot->events[i], text);
        }
}

static void render_instances(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                if (!has_value(metric, &snapshot->instances[i]))
                        continue;
                append_instance(text, metric, i);
                text_append(text, "}");
                append_value(metric, &snapshot->instances[i], text);
        }
}

static void append_set(Text *text, const char *name, IdView set) {
        char list[ID_SET_LIST_ANY];

        append_label(text, ",", name, id_view_render_list(set, list, sizeof(list)) < 0 ? "" : list);
}

static void render_instance_info(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceInfo *instance = &snapshot->instances[i];

                append_instance(text, metric, i);
                text_appendf(text, ",pid=\"%jd\"", (intmax_t)instance->pid);
                append_label(text, ",", "exe", instance->exe);
                append_label(text, ",", "unit", instance->unit);
                append_label(text, ",", "backend", instance->backend);
                append_set(text, "nodes", ID_VIEW(&instance->nodes));
                append_set(text, "cpus", ID_VIEW(&instance->cpus));
                text_append(text, "} 1\n");
        }
}

static void render_instance_bound(const Metric *metric, const Snapshot *snapshot, Text *text) {
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
static void render_instance_state(const Metric *metric, const Snapshot *snapshot, Text *text) {
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

/* The longest part of all metrics: no line of it is made by a format. */
static void render_instance_memory(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceInfo *instance = &snapshot->instances[i];

                for (size_t n = 0; n < instance->n_memory; n++) {
                        const InstanceMemory *memory = &instance->memory_by_node[n];
                        const struct {
                                const char *kind;
                                uint64_t bytes;
                        } kinds[] = { { "anon\"}", memory->anon_bytes },
                                      { "file\"}", memory->file_bytes },
                                      { "shmem\"}", memory->shmem_bytes } };
                        char node[40];

                        (void)snprintf(node, sizeof(node), ",node=\"%" PRIu32 "\",kind=\"",
                                       memory->node);
                        for (size_t k = 0; k < ELEMENTSOF(kinds); k++) {
                                append_instance(text, metric, i);
                                text_append(text, node);
                                text_append(text, kinds[k].kind);
                                append_count(text, kinds[k].bytes);
                        }
                }
        }
}

/* --- histograms --- */

static void append_begin(const Metric *metric, const char *part, const char *label,
                         const char *value, Text *text) {
        text_appendf(text, "%s%s", metric->name, part);
        append_label(text, "{", label, value);
}

static void append_histogram(const Metric *metric, const char *label, const char *value,
                             const Histogram *h, Text *text) {
        uint64_t below = 0;

        for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
                below += h->counts[i];
                append_begin(metric, "_bucket", label, value, text);
                text_append(text, ",le=\"");
                append_number(text, histogram_bound(i));
                text_appendf(text, "\"} %" PRIu64 "\n", below);
        }
        append_begin(metric, "_bucket", label, value, text);
        text_appendf(text, ",le=\"+Inf\"} %" PRIu64 "\n", h->n);
        append_begin(metric, "_sum", label, value, text);
        text_append(text, "} ");
        append_number(text, h->sum);
        text_append(text, "\n");
        append_begin(metric, "_count", label, value, text);
        text_appendf(text, "} %" PRIu64 "\n", h->n);
}

/* A method that was never used has no series. */
static void render_sample_durations(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (SampleMethod m = 0; snapshot->sample_durations && m < N_SAMPLE_METHODS; m++)
                if (snapshot->sample_durations[m].n > 0)
                        append_histogram(metric, "method", sample_method_to_string(m),
                                         &snapshot->sample_durations[m], text);
}

/* Also of a policy that has bound nothing yet: what begins at one, for the first time that
 * something is bound, is no increase in a query of a rate. */
static void render_bind_latency(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                append_histogram(metric, "policy", snapshot->policies[i].name,
                                 &snapshot->policies[i].bind_latency, text);
}

/* --- nodes --- */

static void append_node(const Metric *metric, const Node *node, const char *label,
                        const char *value, Text *text) {
        text_appendf(text, "%s{node=\"%" PRIu32 "\",%s=\"%s\"}", metric->name, node->id, label,
                     value);
}

static size_t n_nodes(const Snapshot *snapshot) {
        return snapshot->nodes && snapshot->topology ? snapshot->topology->n_nodes : 0;
}

static void render_node_memory(const Metric *metric, const Snapshot *snapshot, Text *text) {
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
                        append_count(text, states[k].bytes);
                }
        }
}

static void render_node_cpu(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < n_nodes(snapshot); i++)
                for (NodeMode m = 0; snapshot->nodes[i].cpu_known && m < N_MODES; m++) {
                        append_node(metric, &snapshot->topology->nodes[i], "mode",
                                    node_mode_to_string(m), text);
                        text_append(text, " ");
                        append_number(text, snapshot->nodes[i].cpu_seconds[m]);
                        text_append(text, "\n");
                }
}

static void render_node_events(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < n_nodes(snapshot); i++)
                for (NodeEvent e = 0; snapshot->nodes[i].events_known && e < N_NODE_EVENTS; e++) {
                        append_node(metric, &snapshot->topology->nodes[i], "event",
                                    node_event_to_string(e), text);
                        append_count(text, snapshot->nodes[i].events[e]);
                }
}

/* --- interrupts --- */

/* All states of each device: an alert wants to see the nought, too. */
static void render_irq_vectors(const Metric *metric, const Snapshot *snapshot, Text *text) {
        const IrqInfo *irq = &snapshot->irq;

        for (size_t i = 0; i < irq->n_devices; i++) {
                const IrqDeviceInfo *d = &irq->devices[i];
                uint64_t sum = 0;

                for (unsigned s = 0; s < N_IRQ_STATES; s++)
                        sum += d->vectors[s];
                for (unsigned s = 0; sum > 0 && s < N_IRQ_STATES; s++) {
                        append_labels(text, metric, "device", d->name, "state",
                                      irq_state_to_string((IrqState)s), NULL);
                        append_count(text, d->vectors[s]);
                }
        }
}

static void render_irq_landed(const Metric *metric, const Snapshot *snapshot, Text *text) {
        const IrqInfo *irq = &snapshot->irq;

        for (size_t i = 0; i < irq->n_landed; i++) {
                append_labels(text, metric, "device", irq->landed[i].device, "name",
                              irq->landed[i].instance, NULL);
                append_count(text, irq->landed[i].count);
        }
}

/* --- accesses. Vendors count different things: the labels name them --- */

static void append_counts(Text *text, const Metric *metric, const AccessInfo *access,
                          const char *policy, const char *instance,
                          const uint64_t counts[static N_LOCALITIES]) {
        for (Locality l = 0; l < N_LOCALITIES; l++) {
                if (!access->counted[l])
                        continue;
                append_labels(text, metric, "policy", policy, "name", instance, "locality",
                              locality_to_string(l), "source", access->source, "coverage",
                              access->coverage, NULL);
                append_count(text, counts[l]);
        }
}

static void render_accesses(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceInfo *instance = &snapshot->instances[i];

                if (instance->access_known)
                        append_counts(text, metric, &snapshot->access, instance->policy,
                                      instance->name, instance->accesses);
        }
}

static void render_policy_accesses(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_policies; i++)
                append_counts(text, metric, &snapshot->access, snapshot->policies[i].name, NULL,
                              snapshot->policies[i].accesses);
}

static void render_access(const Metric *metric, const Snapshot *snapshot, Text *text) {
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                const InstanceInfo *instance = &snapshot->instances[i];

                if (!instance->access_known || !has_value(metric, instance))
                        continue;
                append_labels(text, metric, "policy", instance->policy, "name", instance->name,
                              "source", snapshot->access.source, "coverage",
                              snapshot->access.coverage, NULL);
                append_value(metric, instance, text);
        }
}

/* --- the catalogue --- */

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a METRIC_COUNT is one of both");

/* clang-format off */
#define AT(type, name)                                                                             \
        offsetof(type, name),                                                                      \
        _Generic(((type *)0)->name, bool: FIELD_BOOL, uint64_t: FIELD_COUNT, double: FIELD_NUMBER)
#define SNAPSHOT(name) render_snapshot, AT(Snapshot, name)
#define POLICY(name) render_policies, AT(PolicyInfo, name)
#define EVENT(name) render_events, AT(EventInfo, name)
#define KNOWN(name) offsetof(Snapshot, name)
/* The rest is in the table of the fields of an instance. */
#define INSTANCE(name)                                                                             \
        .labels = "policy, name", .render = render_instances, .offset = offsetof(InstanceInfo, name)
#define ACCESS(name)                                                                               \
        .labels = "policy, name, source, coverage", .render = render_access, .offset = offsetof(InstanceInfo, name)

static const Metric metrics[] = {
        { "tidbnumad_build_info", "gauge", "version, hwloc, systemd",
          "Versions of the daemon and of the libraries that it was built with.", render_build },
        { "tidbnumad_ready", "gauge", "",
          "Whether the first scan of all processes is complete.", SNAPSHOT(ready) },
        { "tidbnumad_enforcing", "gauge", "",
          "Whether plans are applied (1) or only reported (0).", SNAPSHOT(enforcing) },
        { "tidbnumad_policy_load_success", "gauge", "",
          "Whether the last load of the policies succeeded.", SNAPSHOT(policy_load_success) },
        { "tidbnumad_policy_in_force", "gauge", "",
          "Whether policies are in force: 0 if they were refused at the start and no earlier ones were kept.", SNAPSHOT(policy_in_force) },
        { "tidbnumad_policy_kept", "gauge", "",
          "Whether the policies in force are those of before the start, because the files were refused at the start.", SNAPSHOT(policy_kept) },
        { "tidbnumad_policy_last_load_timestamp_seconds", "gauge", "",
          "When the policies were last loaded, in seconds since the epoch.", SNAPSHOT(policy_load_seconds) },
        { "tidbnumad_policies", "gauge", "",
          "Policies in force.", SNAPSHOT(n_policies) },
        { "tidbnumad_undo_records", "gauge", "",
          "Undo records: instances and units whose original binding can be restored.", SNAPSHOT(undo_records), { KNOWN(undo_known) } },
        { "tidbnumad_releases_total", "counter", "",
          "Instances and units that were released.", SNAPSHOT(n_released), { KNOWN(undo_known) } },
        { "tidbnumad_preparations_revoked_total", "counter", "",
          "Units whose preparation was taken back, because they failed or were started again within a minute of a prepared start.", SNAPSHOT(n_revoked), { KNOWN(undo_known) } },
        { "tidbnumad_release_failures_total", "counter", "",
          "Failed release attempts that will be retried.", SNAPSHOT(n_release_failures), { KNOWN(undo_known) } },
        { "tidbnumad_instances_ignored", "gauge", "reason=max_instances|process_limit|user|namespace",
          "Ignored processes whose program and unit match a policy, by reason, as of the last scan.", render_ignored },
        { "tidbnumad_instances_unlisted", "gauge", "",
          "Instances that have no series of their own, because there are too many.", SNAPSHOT(n_unlisted) },
        { "tidbnumad_worker_timeouts_total", "counter", "job",
          "Jobs that a process or its file system kept waiting until they were given up, by job.", render_timeouts },
        { "tidbnumad_instance_info", "gauge", "policy, name, pid, exe, unit, backend, nodes, cpus",
          "Process, unit, backend and place of an instance.", render_instance_info },
        { "tidbnumad_instance_bound", "gauge", "policy, name, kind=cpu|memory",
          "Whether the binding of an instance is verified, by kind.", render_instance_bound },
        { "tidbnumad_instance_state", "gauge", "policy, name, state, reason",
          "State of an instance: 1 for the present state, with its reason, 0 for all others.", render_instance_state },
        { INSTANCE(bind_wanted) },
        { INSTANCE(n_threads) },
        { INSTANCE(n_threads_outside) },
        { "tidbnumad_instance_memory_bytes", "gauge", "policy, name, node, kind=anon|file|shmem",
          "Resident memory of an instance by node and kind.", render_instance_memory },
        { INSTANCE(remote_ratio) },
        { INSTANCE(remote_ratio_halfwidth) },
        { "tidbnumad_access_sampling_available", "gauge", "",
          "Whether accesses to memory can be counted; absent if no policy asks for it.", SNAPSHOT(access.available), { KNOWN(access.wanted) } },
        { "tidbnumad_instance_dram_accesses_total", "counter", "policy, name, locality=local|remote, source, coverage",
          "Accesses of an instance to memory, local or remote.", render_accesses },
        { ACCESS(remote_access_ratio) },
        { ACCESS(access_coverage) },
        { "tidbnumad_policy_dram_accesses_total", "counter", "policy, locality=local|remote, source, coverage",
          "Accesses to memory of all instances of a policy, including those that have ended.", render_policy_accesses },
        { "tidbnumad_bind_latency_seconds", "histogram", "policy",
          "Time from the start of an instance to the verified binding of its CPUs.", render_bind_latency },
        { "tidbnumad_bind_attempts_total", "counter", "policy",
          "Attempts to bind instances of a policy.", POLICY(bind_attempts) },
        { "tidbnumad_bind_failures_total", "counter", "policy, reason",
          "Failed attempts to bind instances of a policy, by reason.", render_failures },
        { "tidbnumad_drift_repairs_total", "counter", "policy, kind",
          "Repairs of CPUs or memory nodes that something else had changed, by kind.", render_drift },
        { INSTANCE(memory_widened) },
        { INSTANCE(memory_widenings) },
        { INSTANCE(migrated_bytes) },
        { INSTANCE(pending_bytes) },
        { INSTANCE(migration_bytes_per_sec) },
        { INSTANCE(migration_left_seconds) },
        { INSTANCE(failed_pages) },
        { "tidbnumad_policy_memory_widenings_total", "counter", "policy",
          "Times that strictly bound instances of a policy got an additional memory node, including instances that have ended.", POLICY(memory_widenings) },
        { "tidbnumad_policy_migrated_bytes_total", "counter", "policy",
          "Bytes moved to the nodes of instances of a policy, including instances that have ended.", POLICY(migrated_bytes) },
        { "tidbnumad_policy_migration_failed_pages_total", "counter", "policy",
          "Pages of instances of a policy that the kernel refused to move, including instances that have ended.", POLICY(failed_pages) },
        { "tidbnumad_node_memory_bytes", "gauge", "node, state=total|free|file|anon",
          "Memory of a node by state; file is page cache without shared memory.", render_node_memory },
        { "tidbnumad_node_cpu_seconds_total", "counter", "node, mode=user|system|irq|softirq|iowait|idle|steal",
          "Time that the online CPUs of a node spent, by mode; user includes nice and guests.", render_node_cpu },
        { "tidbnumad_node_numa_events_total", "counter", "node, event=hit|miss|foreign|interleave|local|other",
          "Page allocations of a node by outcome, as in numastat; foreign: intended for this node, allocated on another.", render_node_events },
        { "tidbnumad_irq_vectors", "gauge", "device, state=steered|managed|contested|failed|left",
          "Interrupts of a device by state.", render_irq_vectors },
        { "tidbnumad_irq_on_instance_cpus_total", "counter", "device, name",
          "Interrupts of a device that fired on CPUs of an instance.", render_irq_landed },
        { "tidbnumad_irq_writes_total", "counter", "",
          "Writes to masks of interrupts and queues, and to sysctls.", SNAPSHOT(irq.n_writes), { KNOWN(undo_known), KNOWN(irq.known) } },
        { "tidbnumad_irq_repairs_total", "counter", "",
          "Writes that restored an interrupt mask, queue mask or sysctl after something else had changed it.", SNAPSHOT(irq.n_repairs), { KNOWN(undo_known), KNOWN(irq.known) } },
        { "tidbnumad_events_total", "counter", "source",
          "Events received, by source.", EVENT(received) },
        { "tidbnumad_events_lost_total", "counter", "source",
          "Times that a source reported lost events.", EVENT(lost) },
        { "tidbnumad_rescans_total", "counter", "source",
          "Full scans because a source lost events.", EVENT(rescans) },
        { "tidbnumad_sample_duration_seconds", "histogram", "method=numa_stat|sampled|counters",
          "Duration of a sample of an instance's memory or accesses, by method.", render_sample_durations },
        { "tidbnumad_sample_interval_seconds", "gauge", "",
          "Sampling interval in force.", SNAPSHOT(sample_interval_seconds) },
        { "tidbnumad_snapshot_timestamp_seconds", "gauge", "",
          "When this snapshot was taken, in seconds since the epoch.", SNAPSHOT(time_seconds) },
        { "process_cpu_seconds_total", "counter", "",
          "Total user and system CPU time spent in seconds.", SNAPSHOT(self.cpu_seconds), { KNOWN(self_known) } },
        { "process_resident_memory_bytes", "gauge", "",
          "Resident memory size in bytes.", SNAPSHOT(self.resident_bytes), { KNOWN(self_known) } },
        { "process_open_fds", "gauge", "",
          "Number of open file descriptors.", SNAPSHOT(self.open_fds), { KNOWN(self_known) } },
        { "process_start_time_seconds", "gauge", "",
          "Start time of the process since the epoch in seconds.", SNAPSHOT(self.start_seconds), { KNOWN(self_known) } },
};
/* clang-format on */

static Metric metric_of(size_t index) {
        Metric metric = metrics[index];
        const Field *field = metric.name ? NULL : instance_metric(metric.offset);

        if (field) {
                metric.name = field->metric;
                metric.type = field->type;
                metric.help = field->help;
                metric.kind = field->kind;
                metric.nan_is_0 = field->flags & FIELD_OR_ZERO;
        }
        return metric;
}

/* mdoc(7): nothing in the table begins with a point or has a backslash. */
void metrics_render_reference(Text *text) {
        for (size_t i = 0; i < ELEMENTSOF(metrics); i++) {
                const Metric m = metric_of(i);

                text_appendf(text, ".It Va %s\n", m.name);
                text_appendf(text, ".Pq %s%s%s\n", m.type, *m.labels ? "; " : "", m.labels);
                text_appendf(text, ".br\n%s\n", m.help);
        }
}

int metrics_render(const Snapshot *snapshot, Text *text) {
        _cleanup_text_ Text storage = { 0 };
        _cleanup_free_ const char **names = calloc(snapshot->n_instances + 1, sizeof(*names));
        const char *at;

        text_reset(text);
        if (!names)
                return -ENOMEM;
        /* The labels that name each instance, one behind the other, each with a NUL behind it. */
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                append_label(&storage, "{", "policy", snapshot->instances[i].policy);
                append_label(&storage, ",", "name", snapshot->instances[i].name);
                text_append_bytes(&storage, "", 1);
        }
        if (storage.error < 0)
                return storage.error;
        at = storage.data;
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                names[i] = at;
                at += strlen(at) + 1;
        }
        for (size_t i = 0; i < ELEMENTSOF(metrics); i++) {
                Metric metric = metric_of(i);
                size_t start = text->length, samples;

                metric.instances = names;
                text_appendf(text, "# HELP %s %s\n# TYPE %s %s\n", metric.name, metric.help,
                             metric.name, metric.type);
                samples = text->length;
                metric.render(&metric, snapshot, text);
                if (text->error < 0 || text->length > samples)
                        continue;
                text->length = start; /* no samples: no HELP and TYPE either */
                text->data[start] = '\0';
        }
        return text->error;
}
