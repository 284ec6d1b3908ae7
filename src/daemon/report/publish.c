#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/report/listed.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/publish/metrics.h"
#include "tidbnumad/publish/status.h"
#include "tidbnumad/publish/table.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/self.h"

/* The verdict has a constant; what limits the instance is its own. */
static const char *reason_of(const Instance *i, const Verdict *verdict) {
        const char *constant = placement_refusal_to_string(i->planned.refusal);

        return *i->planned.refused && verdict->reason && strcmp(verdict->reason, constant) == 0
                       ? i->planned.refused
                       : verdict->reason;
}

static void fill_instance(const Report *report, const Instance *i, InstanceInfo *s) {
        const Binding *b = &i->binding.observed;
        const Verdict verdict = reconcile_verdict(report->binding, i);
        const BackendOps *ops = instance_ops(i, &report->host->backend);
        const StartLimits *start = units_start_limits(report->units, i->unit);
        bool placed = !id_set_is_empty(&i->binding.placement.nodes);

        *s = (InstanceInfo){
                .name = i->name,
                .policy = i->policy->name,
                .unit = scope_of(i) ? scope_of(i) : i->unit,
                .exe = i->exe,
                .ports = i->ports,
                .n_ports = i->n_ports,
                .data_dir = i->data_dir,
                .storage = i->storage,
                .storage_nodes = i->storage_nodes,
                .backend = ops ? ops->name : "none",
                .bound_by = rung_to_string(i->binding.ladder.rung),
                .bound_by_reason = i->binding.ladder.why,
                .bound_by_code = i->binding.ladder.code,
                .start_cpus_by = start ? start_source_to_string(start->cpu_source) : NULL,
                .start_memory_by = start ? start_source_to_string(start->memory_source) : NULL,
                .pid = i->n_members > 0 ? i->members[0].process.id.pid : 0,
                .n_processes = i->n_members,
                .nodes = i->binding.placement.nodes,
                .cpus = i->binding.placement.cpus,
                .memory = i->binding.placement.memory,
                .basis = i->planned.basis,
                .warnings = i->planned.warnings,
                .state = verdict.state,
                .reason = reason_of(i, &verdict),
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
                .remote_ratio_halfwidth =
                        isnan(i->sampling.remote_ratio) ? (double)NAN : sample_halfwidth(i),
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
                .bound_after_start = i->binding.late_pid > 0 && i->n_members > 0 &&
                                     i->members[0].process.id.pid == i->binding.late_pid,
        };
        access_fill_instance(report->sampling, i, s);
}

static void fill_ignored(const IgnoredList *ignored, Snapshot *s, IgnoredInfo *ret) {
        s->ignored[IGNORED_MAX_INSTANCES] = ignored_count(ignored, MATCH_FULL);
        s->ignored[IGNORED_PROCESS_LIMIT] = ignored_count(ignored, MATCH_CROWDED);
        s->ignored[IGNORED_USER] = ignored_count(ignored, MATCH_OTHER_USER);
        s->ignored[IGNORED_NAMESPACE] = ignored_count(ignored, MATCH_FOREIGN);
        for (size_t i = 0; i < ignored->n_processes; i++) {
                const IgnoredProcess *p = &ignored->processes[i];

                ret[i] = (IgnoredInfo){ .pid = p->process.id.pid,
                                        .exe = p->process.exe,
                                        .unit = p->process.unit,
                                        .policy = p->policy,
                                        .reason = p->reason };
        }
}

static void fill_units(const Report *report, UnitInfo *ret) {
        for (size_t i = 0; i < report->units->n_units; i++) {
                const Unit *u = report->units->units[i];
                const Policy *policy;
                const char *why;
                CpuSet cpus;

                policy = known_unit_policy(&report->host->policies, u->place.name,
                                           u->place.uid_known, u->place.uid, &why);
                id_set_convert(&u->place.cpus.value, &cpus);
                ret[i] = (UnitInfo){ .name = u->place.name,
                                     .policy = policy ? policy->name : NULL,
                                     .state = u->state,
                                     .reason = u->reason,
                                     .code = u->code,
                                     .nodes = topology_nodes_of(&report->host->topology, &cpus),
                                     .cpus = u->place.known ? &u->place.cpus.value : NULL,
                                     .mems = u->place.known ? &u->mems.value : NULL };
        }
}

static int write_files(Report *report, const Snapshot *snapshot) {
        _cleanup_free_ char *json = NULL;
        int r;

        r = metrics_render(snapshot, &report->metrics);
        if (r < 0)
                return r;
        r = status_render(snapshot, &json);
        if (r < 0)
                return r;
        r = atomic_file_write(report->host->runtime_fd, "status.json", json, strlen(json), 0644);
        if (r < 0)
                return r;
        return atomic_file_write(report->host->runtime_fd, "metrics.prom", report->metrics.data,
                                 report->metrics.length, 0644);
}

/* Returns their number. `ret` has room for one more than `undo` releases. */
static size_t fill_releases(const Report *report, bool host_releasing, ReleaseInfo *ret) {
        size_t n = report->undo->releases.n;

        for (size_t i = 0; i < report->undo->releases.n; i++) {
                const UndoRelease *r = report->undo->releases.list[i];

                ret[i] = (ReleaseInfo){ .name = r->restore.record->instance,
                                        .unit = r->restore.record->unit,
                                        .reason = r->why,
                                        .failure = r->failure,
                                        .failure_code = r->failure_code };
        }
        if (host_releasing)
                ret[n++] = (ReleaseInfo){ .name = RELEASE_HOST, .reason = "it was requested" };
        return n;
}

static void fill_policy(const Report *report, size_t i, PolicyInfo *ret) {
        const Policy *policy = &report->host->policies.policies[i];
        const PolicyCounters *counters = &report->binding->policy_counters[i];

        *ret = (PolicyInfo){ .name = policy->name,
                             .bind_latency = counters->bind_latency,
                             .bind_attempts = counters->bind_attempts,
                             .memory_widenings = counters->memory_widenings,
                             .migrated_bytes = counters->migrated_bytes,
                             .failed_pages = counters->failed_pages };
        memcpy(ret->bind_failures, counters->bind_failures, sizeof(ret->bind_failures));
        memcpy(ret->drift_repairs, counters->drift_repairs, sizeof(ret->drift_repairs));
        memcpy(ret->accesses, report->sampling->access.policy_counts[i].by, sizeof(ret->accesses));
}

static void fill_self(Report *report, Snapshot *s) {
        s->self_known = self_read(&s->self.cpu_seconds, &s->self.resident_bytes, &s->self.open_fds,
                                  &report->start_seconds) >= 0;
        s->self.start_seconds = report->start_seconds;
        s->self.pid = getpid();
}

static void fill_timeouts(const Report *report, JobTimeouts *ret) {
        for (WorkerJob job = WORKER_ARGS; job < N_WORKER_JOBS; job++)
                ret[job - WORKER_ARGS] =
                        (JobTimeouts){ .job = worker_job_to_string(job),
                                       .n = report->host->workers.n_timeouts[job] };
}

static void fill_load(const Host *host, Snapshot *s) {
        s->policy_load_success = host->policy_load_success;
        s->policy_in_force = host->policies_known;
        s->policy_kept = host->policies_kept;
        s->n_adopted = host->n_adopted;
        s->policy_load_seconds = host->policy_load_seconds;
        s->policy_errors = (const char *const *)host->policy_errors.messages;
        s->n_policy_errors = host->policy_errors.n_messages;
        s->policy_warnings = (const char *const *)host->policy_warnings.messages;
        s->n_policy_warnings = host->policy_warnings.n_messages;
}

static void fill_undo(const Undoing *undo, Snapshot *s) {
        s->undo_known = undo->records.dir_fd >= 0;
        s->undo_records = undo->records.n_records;
        s->n_released = undo->releases.n_done;
        s->n_release_failures = undo->releases.n_failures;
}

static int publish_all(Report *report, const Instance *const *listed, size_t n_listed,
                       InstanceInfo *instances, PolicyInfo *policies, UnitInfo *units,
                       ReleaseInfo *releases, NodeCounters *nodes) {
        _cleanup_free_ IrqDeviceInfo *irq_devices = NULL;
        _cleanup_free_ IrqLandedInfo *irq_landed = NULL;
        IgnoredInfo processes[IGNORED_MAX];
        JobTimeouts timeouts[N_WORKER_JOBS - WORKER_ARGS];
        const EventInfo events[] = {
                { "connector", report->roster->connector_events.received,
                  report->roster->connector_events.lost, report->roster->connector_events.rescans },
                { "scan", report->roster->scan_events.received, 0, 0 },
        };
        Snapshot s = {
                .version = TIDBNUMAD_VERSION,
                .hwloc_version = TIDBNUMAD_HWLOC_VERSION,
                .systemd_version = TIDBNUMAD_SYSTEMD_VERSION,
                .realtime_seconds = clock_realtime_seconds(),
                .ready = report->host->ready,
                .enforcing = host_enforces(report->host),
                .backend = backend_name(&report->host->backend),
                .backend_reason = report->host->backend.ops ? report->host->backend.weaker
                                                            : report->host->backend.why_not,
                .sample_interval_seconds = (double)sampling_interval_usec(report->sampling) / 1e6,
                .sample_durations = report->sampling->rounds.durations,
                .topology = &report->host->topology,
                .reserved_nodes = report->binding->placing->reserved,
                .reserved_cpus = report->binding->placing->reserved_cpus,
                .nodes = nodes,
                .instances = instances,
                .n_instances = n_listed,
                .n_unlisted = report->roster->n_instances - n_listed,
                .units = units,
                .n_units = report->units->n_units,
                .ignored_processes = processes,
                .n_ignored_processes = report->roster->ignored.n_processes,
                .releases = releases,
                .policies = policies,
                .n_policies = policy_set_count_written(&report->host->policies),
                .job_timeouts = timeouts,
                .n_job_timeouts = ELEMENTSOF(timeouts),
                .events = events,
                .n_events = ELEMENTSOF(events),
        };

        fill_self(report, &s);
        fill_load(report->host, &s);
        fill_timeouts(report, timeouts);
        if (irq_report_fill(*report->irq, &s.irq, &irq_devices, &irq_landed) < 0)
                return -ENOMEM;
        access_fill(report->sampling, &s.access);
        fill_units(report, units);
        fill_ignored(&report->roster->ignored, &s, processes);
        s.n_releases = fill_releases(report, s.irq.host_releasing, releases);
        fill_undo(report->undo, &s);
        s.n_revoked = report->units->n_revoked;
        for (size_t i = 0; i < n_listed; i++)
                fill_instance(report, listed[i], &instances[i]);
        /* Built-in policies are never in force together with others. */
        for (size_t i = 0; i < s.n_policies; i++)
                fill_policy(report, i, &policies[i]);
        return write_files(report, &s);
}

int publish_now(Report *report) {
        _cleanup_free_ InstanceInfo *instances = NULL;
        _cleanup_free_ PolicyInfo *policies = NULL;
        _cleanup_free_ UnitInfo *units = NULL;
        _cleanup_free_ ReleaseInfo *releases = NULL;
        _cleanup_free_ NodeCounters *nodes = NULL;
        _cleanup_free_ const Instance **listed = NULL;
        size_t n_listed;
        int r;

        if (report->host->runtime_fd < 0)
                return 0;
        r = listed_choose(report->roster, report->host->topology.n_nodes, &listed, &n_listed);
        instances = r < 0 ? NULL : calloc(n_listed + 1, sizeof(*instances));
        policies = calloc(report->host->policies.n_policies + 1, sizeof(*policies));
        units = calloc(report->units->n_units + 1, sizeof(*units));
        releases = calloc(report->undo->releases.n + 1, sizeof(*releases));
        nodes = calloc(report->host->topology.n_nodes + 1, sizeof(*nodes));
        r = instances && policies && units && releases && nodes ? 0 : -ENOMEM;
        if (r >= 0)
                r = node_load(&report->host->sysroot, &report->host->topology, &report->node_times,
                              nodes);
        if (r >= 0)
                r = publish_all(report, listed, n_listed, instances, policies, units, releases,
                                nodes);
        if (r < 0 && report->error == 0)
                journal_log(&report->host->journal, LOG_ERR, NULL,
                            "Writing metrics.prom and status.json to %s failed: %s. It is tried "
                            "again with each sample",
                            report->host->args->runtime_dir, strerror(-r));
        if (r >= 0 && report->error < 0)
                journal_log(&report->host->journal, LOG_NOTICE, NULL,
                            "Publishing in %s works again", report->host->args->runtime_dir);
        report->error = r < 0 ? r : 0;
        return r;
}

void report_done(Report *report) {
        sd_event_source_unref(report->timer);
        node_times_done(&report->node_times);
        text_done(&report->metrics);
        *report = (Report){ .host = NULL };
}

/* --- the table of a dry run --- */

static void add_ids(IdView ids, Table *table) {
        char list[ID_SET_LIST_MAX];

        (void)id_view_render_list(ids, list, sizeof(list));
        table_add(table, list[0] ? list : "-");
}

static void add_row(const Report *report, const Instance *i, Table *table) {
        const Verdict verdict = reconcile_verdict(report->binding, i);

        table_add(table, i->name);
        table_add(table, i->policy->name);
        table_add(table, instance_state_to_string(verdict.state));
        add_ids(ID_VIEW(&i->binding.placement.nodes), table);
        add_ids(ID_VIEW(&i->binding.placement.cpus), table);
        table_add(table, reason_of(i, &verdict));
}

void dry_run_render(const Report *report, Text *text) {
        static const char *const headings[] = { "INSTANCE", "POLICY", "STATE",
                                                "NODES",    "CPUS",   "REASON" };
        _cleanup_table_ Table table = { 0 };

        if (report->roster->n_instances == 0) {
                text_append(text, "No running process matches a policy.\n");
                return;
        }
        table_init(&table, headings, ELEMENTSOF(headings));
        ROSTER_FOREACH(i, report->roster)
                add_row(report, i, &table);
        table_render(&table, 0, text);
}
