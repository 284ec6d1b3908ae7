/* Snapshot to Prometheus text 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/): one table row a metric. Writing
 * the file is left to the daemon, serving it to the exporter. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/publish/metric-kinds.h"
#include "tidbnumad/publish/metrics.h"

/* --- the catalogue --- */

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a METRIC_COUNT is one of both");

/* clang-format off */
#define FIELD(type, name)                                                                          \
        offsetof(type, name),                                                                      \
        _Generic(((type *)0)->name, bool: METRIC_BOOL, uint64_t: METRIC_COUNT, double: METRIC_NUMBER)
#define SNAPSHOT(name) metric_render_snapshot, FIELD(Snapshot, name)
#define POLICY(name) metric_render_policies, FIELD(PolicyInfo, name)
#define INSTANCE(name) metric_render_instances, FIELD(InstanceInfo, name)
#define INSTANCE_OR_0(name)                                                                        \
        metric_render_instances, offsetof(InstanceInfo, name), METRIC_NUMBER_OR_0
#define ACCESS(name) metric_render_access, FIELD(InstanceInfo, name)
#define EVENT(name) metric_render_events, FIELD(EventInfo, name)
#define KNOWN(name) offsetof(Snapshot, name)

static const Metric metrics[] = {
        { "tidbnumad_build_info", "gauge", "version, hwloc, systemd",
          "Versions of the daemon and of the libraries that it was built with.", metric_render_build },
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
          "Ignored processes whose program and unit match a policy, by reason, as of the last scan.", metric_render_ignored },
        { "tidbnumad_instances_unlisted", "gauge", "",
          "Instances that have no series of their own, because there are too many.", SNAPSHOT(n_unlisted) },
        { "tidbnumad_worker_timeouts_total", "counter", "job",
          "Jobs that a process or its file system kept waiting until they were given up, by job.", metric_render_timeouts },
        { "tidbnumad_instance_info", "gauge", "policy, name, pid, exe, unit, backend, nodes, cpus",
          "Process, unit, backend and place of an instance.", metric_render_instance_info },
        { "tidbnumad_instance_bound", "gauge", "policy, name, kind=cpu|memory",
          "Whether the binding of an instance is verified, by kind.", metric_render_instance_bound },
        { "tidbnumad_instance_state", "gauge", "policy, name, state, reason",
          "State of an instance: 1 for the present state, with its reason, 0 for all others.", metric_render_instance_state },
        { "tidbnumad_instance_bind_wanted", "gauge", "policy, name",
          "Whether an instance is to be bound: 0 without a written policy or when released on request.", INSTANCE(bind_wanted) },
        { "tidbnumad_instance_threads", "gauge", "policy, name",
          "Threads of an instance.", INSTANCE(n_threads) },
        { "tidbnumad_instance_threads_outside", "gauge", "policy, name",
          "Threads of an instance that may run on CPUs outside its place.", INSTANCE(n_threads_outside) },
        { "tidbnumad_instance_memory_bytes", "gauge", "policy, name, node, kind=anon|file|shmem",
          "Resident memory of an instance by node and kind.", metric_render_instance_memory },
        { "tidbnumad_instance_remote_memory_ratio", "gauge", "policy, name",
          "Share of the anonymous memory of an instance that is outside its nodes.", INSTANCE(remote_ratio) },
        { "tidbnumad_instance_remote_memory_ratio_halfwidth", "gauge", "policy, name",
          "Half-width of the 95 % confidence interval of the remote memory ratio, 0 if that is exact.", INSTANCE(remote_ratio_halfwidth) },
        { "tidbnumad_access_sampling_available", "gauge", "",
          "Whether accesses to memory can be counted; absent if no policy asks for it.", SNAPSHOT(access.available), { KNOWN(access.wanted) } },
        { "tidbnumad_instance_dram_accesses_total", "counter", "policy, name, locality=local|remote, source, coverage",
          "Accesses of an instance to memory, local or remote.", metric_render_accesses },
        { "tidbnumad_instance_remote_access_ratio", "gauge", "policy, name, source, coverage",
          "Share of the memory accesses of an instance that were remote, in the last sampling interval.", ACCESS(remote_access_ratio) },
        { "tidbnumad_instance_access_coverage_ratio", "gauge", "policy, name, source, coverage",
          "Share of the thread time of an instance that was covered by counters, in the last sampling interval.", ACCESS(access_coverage) },
        { "tidbnumad_policy_dram_accesses_total", "counter", "policy, locality=local|remote, source, coverage",
          "Accesses to memory of all instances of a policy, including those that have ended.", metric_render_policy_accesses },
        { "tidbnumad_bind_latency_seconds", "histogram", "policy",
          "Time from the start of an instance to the verified binding of its CPUs.", metric_render_bind_latency },
        { "tidbnumad_bind_attempts_total", "counter", "policy",
          "Attempts to bind instances of a policy.", POLICY(bind_attempts) },
        { "tidbnumad_bind_failures_total", "counter", "policy, reason",
          "Failed attempts to bind instances of a policy, by reason.", metric_render_failures },
        { "tidbnumad_drift_repairs_total", "counter", "policy, kind",
          "Repairs of CPUs or memory nodes that something else had changed, by kind.", metric_render_drift },
        { "tidbnumad_memory_widened", "gauge", "policy, name",
          "Whether a strictly bound instance may use other nodes because its own are or were nearly full.", INSTANCE(memory_widened) },
        { "tidbnumad_memory_widenings_total", "counter", "policy, name",
          "Times that a strictly bound instance got an additional memory node because its own were nearly full.", INSTANCE(memory_widenings) },
        { "tidbnumad_migrated_bytes_total", "counter", "policy, name",
          "Bytes moved to the nodes of an instance.", INSTANCE(migrated_bytes) },
        { "tidbnumad_migration_pending_bytes", "gauge", "policy, name",
          "Anonymous memory of an instance that has yet to be moved.", INSTANCE(pending_bytes) },
        { "tidbnumad_migration_rate_bytes_per_second", "gauge", "policy, name",
          "Present rate limit for moving memory of an instance; 0 if no move is in progress.", INSTANCE(migration_bytes_per_sec) },
        { "tidbnumad_migration_left_seconds", "gauge", "policy, name",
          "Estimated time until the memory of an instance is moved; 0 if no move is in progress.", INSTANCE_OR_0(migration_left_seconds) },
        { "tidbnumad_migration_failed_pages_total", "counter", "policy, name",
          "Pages of an instance that the kernel refused to move.", INSTANCE(failed_pages) },
        { "tidbnumad_policy_memory_widenings_total", "counter", "policy",
          "Times that strictly bound instances of a policy got an additional memory node, including instances that have ended.", POLICY(memory_widenings) },
        { "tidbnumad_policy_migrated_bytes_total", "counter", "policy",
          "Bytes moved to the nodes of instances of a policy, including instances that have ended.", POLICY(migrated_bytes) },
        { "tidbnumad_policy_migration_failed_pages_total", "counter", "policy",
          "Pages of instances of a policy that the kernel refused to move, including instances that have ended.", POLICY(failed_pages) },
        { "tidbnumad_node_memory_bytes", "gauge", "node, state=total|free|file|anon",
          "Memory of a node by state; file is page cache without shared memory.", metric_render_node_memory },
        { "tidbnumad_node_cpu_seconds_total", "counter", "node, mode=user|system|irq|softirq|iowait|idle|steal",
          "Time that the online CPUs of a node spent, by mode; user includes nice and guests.", metric_render_node_cpu },
        { "tidbnumad_node_numa_events_total", "counter", "node, event=hit|miss|foreign|interleave|local|other",
          "Page allocations of a node by outcome, as in numastat; foreign: intended for this node, allocated on another.", metric_render_node_events },
        { "tidbnumad_irq_vectors", "gauge", "device, state=steered|managed|contested|failed|left",
          "Interrupts of a device by state.", metric_render_irq_vectors },
        { "tidbnumad_irq_on_instance_cpus_total", "counter", "device, name",
          "Interrupts of a device that fired on CPUs of an instance.", metric_render_irq_landed },
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
          "Duration of a sample of an instance's memory or accesses, by method.", metric_render_sample_durations },
        { "tidbnumad_sample_interval_seconds", "gauge", "",
          "Sampling interval in force.", SNAPSHOT(sample_interval_seconds) },
        { "tidbnumad_snapshot_timestamp_seconds", "gauge", "",
          "When this snapshot was taken, in seconds since the epoch.", SNAPSHOT(realtime_seconds) },
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

/* mdoc(7): nothing in the table begins with a point or has a backslash. */
void metrics_render_reference(Text *text) {
        for (size_t i = 0; i < ELEMENTSOF(metrics); i++) {
                const Metric *m = &metrics[i];

                text_appendf(text, ".It Va %s\n", m->name);
                text_appendf(text, ".Pq %s%s%s\n", m->type, *m->labels ? "; " : "", m->labels);
                text_appendf(text, ".br\n%s\n", m->help);
        }
}

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

/* The labels that name each instance, one behind the other, each with a NUL behind it. */
static int render_names(const Snapshot *snapshot, Text *text, const char ***ret) {
        const char **names = calloc(snapshot->n_instances + 1, sizeof(*names)), *at;

        if (!names)
                return -ENOMEM;
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                prometheus_append_instance(text, &snapshot->instances[i]);
                text_append_bytes(text, "", 1);
        }
        at = text->data;
        for (size_t i = 0; i < snapshot->n_instances && text->error == 0; i++) {
                names[i] = at;
                at += strlen(at) + 1;
        }
        *ret = names;
        return text->error;
}

int metrics_render(const Snapshot *snapshot, Text *text) {
        _cleanup_text_ Text storage = { 0 };
        _cleanup_free_ const char **names = NULL;
        int r = render_names(snapshot, &storage, &names);

        text_reset(text);
        for (size_t i = 0; i < ELEMENTSOF(metrics) && r >= 0; i++) {
                Metric metric = metrics[i];

                metric.instances = names;
                render_metric(&metric, snapshot, text);
        }
        return r < 0 ? r : text->error;
}
