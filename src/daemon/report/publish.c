/* The daemon's state into the files that others read. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "tidbnumad/daemon/binding/look-say.h"
#include "tidbnumad/daemon/binding/move-progress.h"
#include "tidbnumad/daemon/interrupts/irq-report.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/roster/scope.h"
#include "tidbnumad/daemon/sampling/sample.h"
#include "tidbnumad/publish/metrics.h"
#include "tidbnumad/publish/status.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/self.h"

static void fill_instance(const Manager *m, const Instance *i, InstanceSnapshot *s) {
        const Binding *b = &i->binding.observed;
        const Verdict verdict = look_verdict(i);
        bool placed = !id_set_is_empty(&i->binding.placement.nodes);

        *s = (InstanceSnapshot){
                .name = i->name,
                .policy = i->policy->name,
                .unit = scope_of(i) ? scope_of(i) : i->unit,
                .exe = i->exe,
                .ports = i->ports,
                .n_ports = i->n_ports,
                .data_dir = i->data_dir,
                .backend = backend_name(&m->host.backend),
                .pid = i->n_processes > 0 ? i->processes[0].id.pid : 0,
                .n_processes = i->n_processes,
                .nodes = i->binding.placement.nodes,
                .cpus = i->binding.placement.cpus,
                .memory = i->binding.placement.memory,
                .basis = i->planned.basis,
                .warnings = i->planned.warnings,
                .state = verdict.state,
                .reason = verdict.reason,
                .reason_code = verdict.code,
                .bind_wanted = !i->policy->built_in && !i->undo.released,
                .cpu_bound = verdict.cpu_bound,
                .memory_bound = verdict.memory_bound,
                .n_threads = b->n_threads,
                .n_threads_outside = placed ? b->n_threads_off_cpus : 0,
                .by_node = i->sampling.memory_known || i->sampling.sampled ? i->sampling.by_node
                                                                           : NULL,
                .memory_method = i->sampling.memory_known ? "numa_stat"
                                 : i->sampling.sampled    ? "sampled"
                                                          : NULL,
                .remote_ratio = i->sampling.remote_ratio,
                .remote_ratio_halfwidth = sample_halfwidth(i),
                .bind_attempts = i->binding.bind_attempts,
                .bind_failures = i->binding.bind_failures,
                .migrated_bytes = i->binding.migrated_bytes,
                .pending_bytes = placed && i->binding.placement.memory != MEMORY_NONE
                                         ? i->binding.outside_bytes
                                         : 0,
                .failed_pages = i->binding.failed_pages,
                .migration_bytes_per_sec = move_rate_in_force(i),
                .migration_left_seconds = move_left_seconds(i, clock_monotonic_usec()),
                .memory_widened = i->binding.guard.widened,
                .memory_extra_nodes = i->binding.guard.extra,
                .memory_widenings = i->binding.guard.n_widenings,
                .bind_seconds = i->binding.bind_seconds,
        };
        access_fill_instance(&m->sampling, i, s);
}

static void fill_strangers(Manager *m, StrangerSnapshot *ret) {
        for (size_t i = 0; i < m->roster.strangers.n_strangers; i++) {
                const Stranger *s = &m->roster.strangers.strangers[i];

                ret[i] = (StrangerSnapshot){ .pid = s->process.id.pid,
                                             .exe = s->process.exe,
                                             .unit = s->process.unit,
                                             .policy = s->policy,
                                             .reason = s->reason };
        }
}

static void fill_units(const Manager *m, UnitSnapshot *ret) {
        for (size_t i = 0; i < m->units.n_units; i++) {
                const Unit *u = m->units.units[i];

                ret[i] = (UnitSnapshot){ .name = u->name,
                                         .state = u->state,
                                         .reason = u->reason,
                                         .cpus = u->known ? &u->cpus.value : NULL,
                                         .mems = u->known ? &u->mems.value : NULL };
        }
}

static int write_files(Manager *m, const Snapshot *snapshot) {
        _cleanup_free_ char *json = NULL;
        int r;

        r = metrics_render(snapshot, &m->report.metrics);
        if (r < 0)
                return r;
        r = status_render(snapshot, &json);
        if (r < 0)
                return r;
        r = atomic_file_write(m->host.runtime_fd, "status.json", json, strlen(json), 0644);
        if (r < 0)
                return r;
        return atomic_file_write(m->host.runtime_fd, "metrics.prom", m->report.metrics.data,
                                 m->report.metrics.length, 0644);
}

static void fill_releases(const Manager *m, ReleaseSnapshot *ret) {
        for (size_t i = 0; i < m->undo.releases.n; i++) {
                const Release *r = m->undo.releases.list[i];

                ret[i] = (ReleaseSnapshot){ .name = r->restore.record->instance,
                                            .unit = r->restore.record->unit,
                                            .reason = r->why,
                                            .failure = r->failure,
                                            .failure_code = r->failure_code };
        }
}

static void fill_policy(const Manager *m, size_t i, PolicySnapshot *ret) {
        const Policy *policy = &m->host.policies.policies[i];
        const PolicyCounters *counters = &m->binding.policy_counters[i];

        *ret = (PolicySnapshot){ .name = policy->name,
                                 .bind_latency = counters->bind_latency,
                                 .bind_attempts = counters->bind_attempts,
                                 .memory_widenings = counters->memory_widenings,
                                 .migrated_bytes = counters->migrated_bytes,
                                 .failed_pages = counters->failed_pages };
        memcpy(ret->bind_failures, counters->bind_failures, sizeof(ret->bind_failures));
        memcpy(ret->drift_repairs, counters->drift_repairs, sizeof(ret->drift_repairs));
        access_fill_policy(&m->sampling, policy->name, ret->accesses);
}

static void fill_self(Manager *m, Snapshot *s) {
        s->self_known = self_read(&s->self.cpu_seconds, &s->self.resident_bytes, &s->self.open_fds,
                                  &m->report.start_seconds) >= 0;
        s->self.start_seconds = m->report.start_seconds;
        s->self.pid = getpid();
}

static int publish_all(Manager *m, InstanceSnapshot *instances, PolicySnapshot *policies,
                       UnitSnapshot *units, ReleaseSnapshot *releases, NodeSnapshot *nodes) {
        _cleanup_free_ IrqDeviceSnapshot *irq_devices = NULL;
        _cleanup_free_ IrqLandedSnapshot *irq_landed = NULL;
        StrangerSnapshot strangers[STRANGERS_MAX];
        const EventSnapshot events[] = {
                { "connector", m->roster.connector_events.received, m->roster.connector_events.lost,
                  m->roster.connector_events.rescans },
                { "scan", m->roster.scan_events.received, 0, 0 },
        };
        Snapshot s = {
                .version = TIDBNUMAD_VERSION,
                .hwloc_version = TIDBNUMAD_HWLOC_VERSION,
                .systemd_version = TIDBNUMAD_SYSTEMD_VERSION,
                .realtime_seconds = clock_realtime_seconds(),
                .ready = m->host.ready,
                .enforcing = host_enforces(&m->host),
                .policy_load_success = m->host.policy_load_success,
                .policy_load_seconds = m->host.policy_load_seconds,
                .policy_errors = (const char *const *)m->host.policy_errors.messages,
                .n_policy_errors = m->host.policy_errors.n_messages,
                .policy_warnings = (const char *const *)m->host.policy_warnings.messages,
                .n_policy_warnings = m->host.policy_warnings.n_messages,
                .sample_interval_seconds = (double)sampling_interval_usec(&m->sampling) / 1e6,
                .sample_durations = m->sampling.rounds.durations,
                .topology = &m->host.topology,
                .nodes = nodes,
                .instances = instances,
                .n_instances = m->roster.n_instances,
                .units = units,
                .n_units = m->units.n_units,
                .strangers = strangers,
                .n_strangers = m->roster.strangers.n_strangers,
                .releases = releases,
                .n_releases = m->undo.releases.n,
                .undo_known = m->undo.records.dir_fd >= 0,
                .undo_records = m->undo.records.n_records,
                .n_released = m->undo.releases.n_done,
                .n_release_failures = m->undo.releases.n_failures,
                .policies = policies,
                .n_policies = policy_set_count_written(&m->host.policies),
                .events = events,
                .n_events = ELEMENTSOF(events),
        };

        fill_self(m, &s);
        if (irq_report_fill(m->irq, &s.irq, &irq_devices, &irq_landed) < 0)
                return -ENOMEM;
        access_fill(&m->sampling, &s.access);
        fill_units(m, units);
        fill_strangers(m, strangers);
        fill_releases(m, releases);
        for (size_t i = 0; i < m->roster.n_instances; i++)
                fill_instance(m, m->roster.instances[i], &instances[i]);
        for (size_t i = 0; i < s.n_policies; i++) /* built-in ones are never beside others */
                fill_policy(m, i, &policies[i]);
        return write_files(m, &s);
}

int publish_now(Manager *m) {
        _cleanup_free_ InstanceSnapshot *instances = NULL;
        _cleanup_free_ PolicySnapshot *policies = NULL;
        _cleanup_free_ UnitSnapshot *units = NULL;
        _cleanup_free_ ReleaseSnapshot *releases = NULL;
        _cleanup_free_ NodeSnapshot *nodes = NULL;
        int r = -ENOMEM;

        if (m->host.runtime_fd < 0)
                return 0;
        instances = calloc(m->roster.n_instances + 1, sizeof(*instances));
        policies = calloc(m->host.policies.n_policies + 1, sizeof(*policies));
        units = calloc(m->units.n_units + 1, sizeof(*units));
        releases = calloc(m->undo.releases.n + 1, sizeof(*releases));
        nodes = calloc(m->host.topology.n_nodes + 1, sizeof(*nodes));
        if (instances && policies && units && releases && nodes)
                r = node_load(&m->host.sysroot, &m->host.topology, &m->report.node_times, nodes);
        if (r >= 0)
                r = publish_all(m, instances, policies, units, releases, nodes);
        if (r < 0 && !m->report.failed)
                journal_log(&m->host.journal, LOG_ERR, NULL,
                            "Writing metrics.prom and status.json to %s failed: %s. It is tried "
                            "again with each sample",
                            m->host.args->runtime_dir, strerror(-r));
        if (r >= 0 && m->report.failed)
                journal_log(&m->host.journal, LOG_NOTICE, NULL, "Publishing in %s works again",
                            m->host.args->runtime_dir);
        m->report.failed = r < 0;
        return r;
}
