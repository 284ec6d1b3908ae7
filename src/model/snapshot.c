/* Words, histograms and the tables of what is published. */
#include <math.h>

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

double node_softirq_ratio(const NodeCounters *before, const NodeCounters *now) {
        double all = 0;

        if (!before->cpu_known || !now->cpu_known)
                return (double)NAN;
        for (NodeMode m = 0; m < N_MODES; m++)
                all += now->cpu_seconds[m] - before->cpu_seconds[m];
        return all > 0 ? (now->cpu_seconds[MODE_SOFTIRQ] - before->cpu_seconds[MODE_SOFTIRQ]) / all
                       : (double)NAN;
}

/* --- histograms --- */

/* From 50 µs, which reading a small file takes, to the minute after which a binding is no longer
 * something that one waits for. */
static const double bounds[HISTOGRAM_BUCKETS] = { 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                                  0.005,   0.01,   0.025,   0.05,   0.1,   0.25,
                                                  0.5,     1,      2.5,     5,      10,    60 };

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

/* --- status.json, in its order --- */

static const char *const daemon_mode_strings[N_DAEMON_MODES] = {
        [DAEMON_ENFORCING] = "enforcing",
        [DAEMON_OBSERVING] = "observing",
        [DAEMON_PAUSED] = "paused",
        [DAEMON_DRY_RUN] = "dry-run",
};
DEFINE_STRING_TABLE(daemon_mode_to_string, DaemonMode, daemon_mode_strings)

/* clang-format off */
static const Field policy_rows[] = {
        FIELD("name", PolicyInfo, name),
        FIELD("bind_attempts", PolicyInfo, bind_attempts),
        FIELD_OF_KIND("bind_failures", FIELD_SUM, PolicyInfo, bind_failures),
        FIELD_OF_KIND("bind_failures_by_reason", FIELD_COUNTS, PolicyInfo, bind_failures, .to_string = reason_to_string, .n_words = N_REASONS,
                      .flags = FIELD_NOT_ZERO),
        FIELD_OF_KIND("drift_repairs", FIELD_COUNTS, PolicyInfo, drift_repairs, .to_string = drift_to_string, .n_words = N_DRIFTS),
};
static FIELD_TABLE(policy_fields, PolicyInfo, policy_rows);

static const Field load_rows[] = {
        FIELD("load_success", Snapshot, policy_load_success, .flags = FIELD_OR_TRUE),
        FIELD_OF_KIND("in_force", FIELD_IN_FORCE, Snapshot, policy_in_force),
        FIELD("adopted", Snapshot, n_adopted),
        FIELD_OF_KIND("load_time", FIELD_TIME, Snapshot, policy_load_seconds),
        FIELD("load_time_seconds", Snapshot, policy_load_seconds),
        FIELD_OF_KIND("errors", FIELD_STRINGS, Snapshot, policy_errors, .n_offset = offsetof(Snapshot, n_policy_errors)),
        FIELD_OF_KIND("warnings", FIELD_STRINGS, Snapshot, policy_warnings, .n_offset = offsetof(Snapshot, n_policy_warnings)),
        FIELD_ARRAY("policies", Snapshot, policies, policy_fields),
};
static FIELD_TABLE(load_fields, Snapshot, load_rows);

static const Field unit_rows[] = {
        FIELD("name", UnitInfo, name, .flags = FIELD_REQUIRED),
        FIELD("policy", UnitInfo, policy),
        FIELD("state", UnitInfo, state, .flags = FIELD_OR_EMPTY),
        FIELD("reason", UnitInfo, reason, .flags = FIELD_OR_EMPTY),
        FIELD_REASON("reason_code", UnitInfo, code),
        FIELD_OF_KIND("remedy", FIELD_REMEDY, UnitInfo, code, .n_offset = offsetof(UnitInfo, name)),
        FIELD("nodes", UnitInfo, nodes),
        FIELD("cpus", UnitInfo, cpus, .flags = FIELD_ELSE_NULL, FIELD_WHEN(UnitInfo, limits_known)),
        FIELD("memory_nodes", UnitInfo, mems, .flags = FIELD_ELSE_NULL, FIELD_WHEN(UnitInfo, limits_known)),
        FIELD("memory_limit_bytes", UnitInfo, memory_limit_bytes, FIELD_WHEN(UnitInfo, memory_limit_bytes)),
};
static FIELD_TABLE(unit_fields, UnitInfo, unit_rows);

static const Field ignored_rows[] = {
        FIELD_OF_KIND("pid", FIELD_PID, IgnoredInfo, pid),
        FIELD("exe", IgnoredInfo, exe, .flags = FIELD_OR_EMPTY),
        FIELD("unit", IgnoredInfo, unit),
        FIELD("policy", IgnoredInfo, policy, .flags = FIELD_OR_EMPTY),
        FIELD("reason", IgnoredInfo, reason, .flags = FIELD_OR_EMPTY),
};
static FIELD_TABLE(ignored_fields, IgnoredInfo, ignored_rows);

static const Field release_rows[] = {
        FIELD("name", ReleaseInfo, name, .flags = FIELD_REQUIRED),
        FIELD("unit", ReleaseInfo, unit),
        FIELD("reason", ReleaseInfo, reason),
        FIELD("failure", ReleaseInfo, failure),
        FIELD_REASON("failure_code", ReleaseInfo, failure_code),
};
static FIELD_TABLE(release_fields, ReleaseInfo, release_rows);

#define VECTORS(key, state) FIELD(key, IrqDeviceInfo, vectors[state])
static const Field irq_device_rows[] = {
        FIELD("name", IrqDeviceInfo, name, .flags = FIELD_REQUIRED),
        FIELD("kind", IrqDeviceInfo, kind),
        FIELD("pci", IrqDeviceInfo, pci),
        FIELD_OF_KIND("node", FIELD_NODE, IrqDeviceInfo, node),
        FIELD("reason_code", IrqDeviceInfo, reason_id),
        FIELD("reason", IrqDeviceInfo, reason, .flags = FIELD_OR_EMPTY),
        FIELD("cpus", IrqDeviceInfo, cpus),
        VECTORS("steered", IRQ_STATE_STEERED),
        VECTORS("managed", IRQ_STATE_MANAGED),
        VECTORS("contested", IRQ_STATE_CONTESTED),
        VECTORS("failed", IRQ_STATE_FAILED),
        VECTORS("left", IRQ_STATE_LEFT),
};
static FIELD_TABLE(irq_device_fields, IrqDeviceInfo, irq_device_rows);

static const Field irq_landed_rows[] = {
        FIELD("device", IrqLandedInfo, device),
        FIELD("instance", IrqLandedInfo, instance),
        FIELD("interrupts", IrqLandedInfo, count),
};
static FIELD_TABLE(irq_landed_fields, IrqLandedInfo, irq_landed_rows);

static const Field irqbalance_rows[] = {
        FIELD_OF_KIND("pid", FIELD_PID, IrqInfo, irqbalance_pid),
        FIELD("sent", IrqInfo, irqbalance_sent),
        FIELD("banned_cpus", IrqInfo, irqbalance_cpus, .flags = FIELD_ELSE_NULL, FIELD_WHEN(IrqInfo, irqbalance_sent)),
        FIELD("banned_interrupts", IrqInfo, n_irqbalance_irqs),
};
static FIELD_TABLE(irqbalance_fields, IrqInfo, irqbalance_rows);

#define PART(key, type, member, table, ...) FIELD_OF_KIND(key, FIELD_OBJECT, type, member, .of = &(table), __VA_ARGS__)
static const Field irq_rows[] = {
        FIELD_ARRAY("devices", IrqInfo, devices, irq_device_fields),
        FIELD_ARRAY("on_instance_cpus", IrqInfo, landed, irq_landed_fields),
        FIELD("writes", IrqInfo, n_writes),
        FIELD("repairs", IrqInfo, n_repairs),
        FIELD("undo_settings", IrqInfo, undo_settings),
        { "irqbalance", FIELD_OBJECT, FIELD_ELSE_NULL, .of = &irqbalance_fields, FIELD_WHEN(IrqInfo, irqbalance_pid) },
};
static FIELD_TABLE(irq_fields, IrqInfo, irq_rows);

static const Field access_rows[] = {
        FIELD("available", AccessInfo, available),
        FIELD("reason", AccessInfo, reason),
        FIELD("source", AccessInfo, source),
        FIELD("coverage", AccessInfo, coverage),
};
static FIELD_TABLE(access_fields, AccessInfo, access_rows);

static const Field event_rows[] = {
        FIELD("source", EventInfo, source),
        FIELD("received", EventInfo, received),
        FIELD("lost", EventInfo, lost),
        FIELD("rescans", EventInfo, rescans),
};
static FIELD_TABLE(event_fields, EventInfo, event_rows);

static const Field process_rows[] = {
        FIELD_OF_KIND("pid", FIELD_PID, ProcessInfo, pid),
        FIELD("cpu_seconds", ProcessInfo, cpu_seconds),
        FIELD("resident_bytes", ProcessInfo, resident_bytes),
        FIELD("open_fds", ProcessInfo, open_fds),
        FIELD_OF_KIND("start_time", FIELD_TIME, ProcessInfo, start_seconds),
        FIELD("start_time_seconds", ProcessInfo, start_seconds),
};
static FIELD_TABLE(process_fields, ProcessInfo, process_rows);

static const Field rows[] = {
        FIELD("version", Snapshot, version),
        FIELD("hwloc_version", Snapshot, hwloc_version),
        FIELD("systemd_version", Snapshot, systemd_version),
        FIELD_OF_KIND("time", FIELD_TIME, Snapshot, time_seconds),
        FIELD("time_seconds", Snapshot, time_seconds, .flags = FIELD_REQUIRED),
        FIELD("ready", Snapshot, ready),
        FIELD("enforcing", Snapshot, enforcing),
        FIELD_ENUM("mode", Snapshot, mode, daemon_mode_to_string, N_DAEMON_MODES),
        FIELD_ENUM("trial", Snapshot, trial, trial_request_to_string, N_TRIAL_REQUESTS, FIELD_WHEN(Snapshot, trial)),
        FIELD("backend", Snapshot, backend),
        FIELD("backend_reason", Snapshot, backend_reason, FIELD_WHEN(Snapshot, backend_reason)),
        FIELD("sample_interval_seconds", Snapshot, sample_interval_seconds, .flags = FIELD_REQUIRED),
        { "policy", FIELD_OBJECT, .of = &load_fields },
        FIELD_OF_KIND("topology", FIELD_TOPOLOGY, Snapshot, topology, .flags = FIELD_ELSE_NULL, FIELD_WHEN(Snapshot, topology)),
        FIELD("reserved_nodes", Snapshot, reserved_nodes),
        FIELD("reserved_cpus", Snapshot, reserved_cpus),
        FIELD_ARRAY("instances", Snapshot, instances, instance_fields, .flags = FIELD_REQUIRED),
        FIELD("instances_unlisted", Snapshot, n_unlisted, FIELD_WHEN(Snapshot, n_unlisted)),
        FIELD_ARRAY("units", Snapshot, units, unit_fields),
        FIELD_ARRAY("ignored_processes", Snapshot, ignored_processes, ignored_fields),
        FIELD_OF_KIND("ignored", FIELD_COUNTS, Snapshot, ignored, .to_string = ignored_reason_to_string, .n_words = N_IGNORED_REASONS),
        FIELD_ARRAY("releases", Snapshot, releases, release_fields, FIELD_WHEN(Snapshot, n_releases)),
        PART("interrupts", Snapshot, irq, irq_fields, FIELD_WHEN(Snapshot, irq.known)),
        PART("access_sampling", Snapshot, access, access_fields, FIELD_WHEN(Snapshot, access.wanted)),
        FIELD_ARRAY("events", Snapshot, events, event_fields),
        PART("process", Snapshot, self, process_fields, .flags = FIELD_ELSE_NULL, FIELD_WHEN(Snapshot, self_known)),
};
/* clang-format on */
FIELD_TABLE(snapshot_fields, Snapshot, rows);
