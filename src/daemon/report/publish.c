/* Publishes: gathers a snapshot from all modules and writes it to the two files; and the table of a
 * dry run. publish/ has the formats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/publish/metrics.h"
#include "tidbnumad/publish/status.h"
#include "tidbnumad/publish/table.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/self.h"

/* --- the instances that are listed --- */

/* Approximate size of an instance in metrics.prom: its series, those of each node, and its name in
 * each. */
enum { SERIES_BYTES = 2048, NODE_BYTES = 400, N_NAMES = 50 };

static size_t text_length(const char *text) {
        return text ? strlen(text) : 0;
}

/* Services first, because only root can create them; then the oldest instances. */
static int compare_importance(const void *a, const void *b) {
        const Instance *x = *(const Instance *const *)a, *y = *(const Instance *const *)b;
        const int services = instance_is_service(y) - instance_is_service(x);

        if (services != 0)
                return services;
        if (x->first_seen_usec != y->first_seen_usec)
                return x->first_seen_usec < y->first_seen_usec ? -1 : 1;
        return strcmp(x->name, y->name);
}

static int compare_name(const void *a, const void *b) {
        const Instance *x = *(const Instance *const *)a, *y = *(const Instance *const *)b;

        return strcmp(x->name, y->name);
}

int listed_choose(const Registry *registry, size_t n_nodes, const Instance ***ret, size_t *ret_n) {
        const Instance **list = calloc(registry->n_instances + 1, sizeof(*list));
        size_t n = 0, bytes = 0;

        if (!list)
                return -ENOMEM;
        for (size_t k = 0; k < registry->n_instances; k++)
                list[k] = registry->instances[k];
        qsort(list, registry->n_instances, sizeof(*list), compare_importance);
        for (; n < registry->n_instances; n++) {
                const Instance *i = list[n];

                bytes += SERIES_BYTES + n_nodes * NODE_BYTES + N_NAMES * text_length(i->name) +
                         text_length(i->exe) + text_length(i->unit) + text_length(i->data_dir);
                if (bytes > LISTED_BYTES_MAX)
                        break;
        }
        qsort(list, n, sizeof(*list), compare_name);
        *ret = list;
        *ret_n = n;
        return 0;
}

/* --- what is published --- */

/* The verdict has a constant; what limits the instance is its own. */
static const char *instance_reason(const Instance *i, const Verdict *verdict) {
        const char *constant = placement_refusal_to_string(i->planned.refusal);

        return i->planned.refused && verdict->reason && strcmp(verdict->reason, constant) == 0
                       ? i->planned.refused
                       : verdict->reason;
}

/* `memory` has room for each node. */
static void fill_instance(const Report *report, const Instance *i, InstanceMemory *memory,
                          InstanceInfo *s) {
        const Topology *topology = &report->host->topology;
        const Binding *b = &i->binding.observed;
        const Verdict verdict = reconcile_verdict(report->binding, i);
        const BackendOps *ops = instance_ops(i, &report->host->backend);
        const StartLimits *start = units_start_limits(report->units, i->unit);
        bool placed = !id_set_is_empty(&i->binding.placement.nodes);

        *s = (InstanceInfo){
                .identity = i->identity,
                .policy = i->policy->name,
                .backend = ops ? ops->name : "none",
                .bound_by = bind_method_to_string(i->binding.means.method),
                .bound_by_reason = i->binding.means.why,
                .bound_by_code = i->binding.means.code,
                .start_cpus_by = start ? start_source_to_string(start->cpu_source) : NULL,
                .start_memory_by = start ? start_source_to_string(start->memory_source) : NULL,
                .pid = i->n_members > 0 ? i->members[0].process.id.pid : 0,
                .n_processes = i->n_members,
                .nodes = i->binding.placement.nodes,
                .cpus = i->binding.placement.cpus,
                .memory = i->binding.placement.memory,
                .basis = i->planned.basis,
                .refusal = i->planned.refusal,
                /* Of a place that it has; that it moves is past once it is there. */
                .warnings = !placed             ? 0
                            : verdict.cpu_bound ? i->planned.warnings & ~(uint32_t)WARN_MOVED
                                                : i->planned.warnings,
                .state = verdict.state,
                .reason = instance_reason(i, &verdict),
                .reason_code = verdict.code,
                .bind_wanted = !i->policy->built_in && !i->undo.released,
                .cpu_bound = verdict.cpu_bound,
                .memory_bound = verdict.memory_bound,
                .n_threads = b->n_threads,
                .n_threads_outside = placed ? b->n_threads_off_cpus : 0,
                .memory_method = i->memory_known       ? "numa_stat"
                                 : i->sampling.sampled ? "sampled"
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
                .memory_limit_state = i->binding.limit.state,
                .memory_limit_bytes = i->binding.limit.wanted_bytes,
                .changed = i->undo.record && undo_record_has_changes(i->undo.record),
                .bound_after_start = i->binding.late_pid > 0 && i->n_members > 0 &&
                                     i->members[0].process.id.pid == i->binding.late_pid,
        };
        if (scope_of(i))
                s->unit = (char *)scope_of(i); /* borrowed, as all of it is */
        if (s->memory_method) {
                s->memory_by_node = memory;
                s->n_memory = topology->n_nodes;
        }
        for (size_t n = 0; n < s->n_memory; n++)
                memory[n] = (InstanceMemory){ .node = topology->nodes[n].id,
                                              .anon_bytes = i->by_node[n].anon_bytes,
                                              .file_bytes = i->by_node[n].file_bytes,
                                              .shmem_bytes = i->by_node[n].shmem_bytes };
        access_fill_instance(report->sampling, i, s);
}

static void fill_ignored(const IgnoredList *ignored, Snapshot *s, IgnoredInfo *list) {
        s->ignored[IGNORED_MAX_INSTANCES] = ignored_count(ignored, MATCH_FULL);
        s->ignored[IGNORED_PROCESS_LIMIT] = ignored_count(ignored, MATCH_CROWDED);
        s->ignored[IGNORED_USER] = ignored_count(ignored, MATCH_OTHER_USER);
        s->ignored[IGNORED_NAMESPACE] = ignored_count(ignored, MATCH_FOREIGN);
        for (size_t i = 0; i < ignored->n_processes; i++) {
                const IgnoredProcess *p = &ignored->processes[i];

                list[s->n_ignored_processes++] = (IgnoredInfo){ .pid = p->process.id.pid,
                                                                .exe = p->process.exe,
                                                                .unit = p->process.unit,
                                                                .policy = p->policy,
                                                                .reason = p->reason };
        }
}

static void fill_units(const Report *report, Snapshot *s, UnitInfo *list) {
        s->n_revoked = report->units->n_revoked;
        for (; s->n_units < report->units->n_units; s->n_units++) {
                const Unit *u = report->units->units[s->n_units];
                UnitInfo *unit = &list[s->n_units];
                const Policy *policy;
                const char *why;

                policy = known_unit_policy(&report->host->policies, u->place.name,
                                           u->place.uid_known, u->place.uid, u->place.container,
                                           &why);
                *unit = (UnitInfo){ .name = u->place.name,
                                    .policy = policy ? policy->name : NULL,
                                    .state = u->state,
                                    .reason = u->reason,
                                    .code = u->code,
                                    .limits_known = u->place.known,
                                    .memory_limit_bytes = unit_limit_of_ours(u) };
                id_set_convert(&u->place.now[UNIT_CPUS], &unit->cpus);
                id_set_convert(&u->place.now[UNIT_MEMS], &unit->mems);
                unit->nodes = topology_nodes_of(&report->host->topology, &unit->cpus);
        }
}

static void fill_releases(const Undoing *undo, Snapshot *s, ReleaseInfo *list) {
        s->undo_known = undo->records.dir_fd >= 0;
        s->undo_records = undo->records.n_records;
        s->n_released = undo->releases.n_done;
        s->n_release_failures = undo->releases.n_failures;
        for (size_t i = 0; i < undo->releases.n; i++) {
                const UndoRelease *r = undo->releases.list[i];

                list[s->n_releases++] = (ReleaseInfo){ .name = r->restore.record->instance,
                                                       .unit = r->restore.record->unit,
                                                       .reason = r->why,
                                                       .failure = r->failure.sentence,
                                                       .failure_code = r->failure_code };
        }
        if (s->irq.host_releasing)
                list[s->n_releases++] =
                        (ReleaseInfo){ .name = RELEASE_HOST, .reason = "it was requested" };
}

static void fill_policies(const Report *report, Snapshot *s, PolicyInfo *list) {
        const Host *host = report->host;

        s->policy_load_success = host->policy_load_success;
        s->policy_in_force = host->policies_known;
        s->policy_kept = host->policies_kept;
        s->n_adopted = host->n_adopted;
        s->policy_load_seconds = host->policy_load_seconds;
        s->policy_errors = (const char *const *)host->policy_errors.messages;
        s->n_policy_errors = host->policy_errors.n_messages;
        s->policy_warnings = (const char *const *)host->policy_warnings.messages;
        s->n_policy_warnings = host->policy_warnings.n_messages;
        /* Built-in policies are never in force together with others. */
        s->n_policies = policy_set_count_written(&host->policies);
        for (size_t i = 0; i < s->n_policies; i++) {
                list[i] = host->policy_counters[i];
                list[i].name = host->policies.policies[i].name;
        }
}

static void lists_done(Snapshot *s) {
        const void *const lists[] = { s->instances,   s->ignored_processes, s->units,
                                      s->releases,    s->policies,          s->nodes,
                                      s->irq.devices, s->irq.landed };

        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                free((void *)lists[i]);
}

/* Gathers a snapshot, and renders it to the buffers of both files. */
static int snapshot_render(Report *report) {
        const Host *host = report->host;
        const EventInfo events[] = { report->registry->connector_events,
                                     report->registry->scan_events };
        JobTimeouts timeouts[N_WORKER_JOBS - WORKER_ARGS];
        const size_t n_nodes = host->topology.n_nodes;
        _cleanup_free_ const Instance **listed = NULL;
        _cleanup_free_ InstanceMemory *memory = NULL;
        InstanceInfo *instances;
        IgnoredInfo *ignored;
        UnitInfo *units;
        ReleaseInfo *releases;
        PolicyInfo *policies;
        NodeCounters *nodes;
        size_t n_listed;
        _cleanup_(lists_done) Snapshot s = {
                .version = TIDBNUMAD_VERSION,
                .hwloc_version = TIDBNUMAD_HWLOC_VERSION,
                .systemd_version = TIDBNUMAD_SYSTEMD_VERSION,
                .time_seconds = clock_realtime_seconds(),
                .ready = host->ready,
                .enforcing = host_enforces(host),
                .mode = host_mode(host),
                .trial = host->requests.trial,
                .backend = backend_name(&host->backend),
                .backend_reason = host->backend.ops ? host->backend.weaker : host->backend.why_not,
                .sample_interval_seconds = (double)sampling_interval_usec(report->sampling) / 1e6,
                .sample_durations = report->sampling->rounds.durations,
                .topology = &host->topology,
                .reserved_nodes = report->binding->placing->reserved,
                .reserved_cpus = report->binding->placing->reserved_cpus,
                .job_timeouts = timeouts,
                .n_job_timeouts = ELEMENTSOF(timeouts),
                .events = events,
                .n_events = ELEMENTSOF(events),
        };
        int r;

        s.self_known = self_read(&s.self.cpu_seconds, &s.self.resident_bytes, &s.self.open_fds,
                                 &report->start_seconds) >= 0;
        s.self.start_seconds = report->start_seconds;
        s.self.pid = getpid();
        for (WorkerJob job = WORKER_ARGS; job < N_WORKER_JOBS; job++)
                timeouts[job - WORKER_ARGS] =
                        (JobTimeouts){ .job = worker_jobs[job].name,
                                       .n = workers_count_timeouts(host->workers, job) };
        access_fill(report->sampling, &s.access);
        r = irq_report_fill(*report->irq, &s.irq);
        if (r >= 0)
                r = listed_choose(report->registry, n_nodes, &listed, &n_listed);
        if (r < 0)
                return r;
        s.instances = instances = calloc(n_listed + 1, sizeof(*instances));
        s.ignored_processes = ignored =
                calloc(report->registry->ignored.n_processes + 1, sizeof(*ignored));
        s.units = units = calloc(report->units->n_units + 1, sizeof(*units));
        /* One more: the host's. */
        s.releases = releases = calloc(report->undo->releases.n + 1, sizeof(*releases));
        s.policies = policies = calloc(host->policies.n_policies + 1, sizeof(*policies));
        s.nodes = nodes = calloc(n_nodes + 1, sizeof(*nodes));
        memory = calloc(n_listed * n_nodes + 1, sizeof(*memory));
        if (!instances || !ignored || !units || !releases || !policies || !nodes || !memory)
                return -ENOMEM;
        for (; s.n_instances < n_listed; s.n_instances++)
                fill_instance(report, listed[s.n_instances], memory + s.n_instances * n_nodes,
                              &instances[s.n_instances]);
        s.n_unlisted = report->registry->n_instances - n_listed;
        fill_ignored(&report->registry->ignored, &s, ignored);
        fill_units(report, &s, units);
        fill_releases(report->undo, &s, releases);
        fill_policies(report, &s, policies);
        r = node_load(&host->sysroot, &host->topology, &report->node_times, nodes);
        if (r >= 0)
                r = metrics_render(&s, &report->metrics);
        if (r >= 0)
                r = status_render(&s, &report->status);
        return r;
}

int publish_now(Report *report) {
        const int dir_fd = report->host->runtime_fd;
        int r;

        if (dir_fd < 0)
                return 0;
        r = snapshot_render(report);
        if (r >= 0)
                r = atomic_file_write(dir_fd, "status.json", report->status.data,
                                      report->status.length, 0644);
        if (r >= 0)
                r = atomic_file_write(dir_fd, "metrics.prom", report->metrics.data,
                                      report->metrics.length, 0644);
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
        sd_event_source_unref(report->clock_set);
        node_times_done(&report->node_times);
        text_done(&report->metrics);
        text_done(&report->status);
        *report = (Report){ .host = NULL };
}

/* --- the table of a dry run --- */

static void table_add_ids(IdView ids, Table *table) {
        char list[ID_SET_LIST_MAX];

        (void)id_view_render_list(ids, list, sizeof(list));
        table_add(table, list[0] ? list : "-");
}

void dry_run_render(const Report *report, Text *text) {
        static const char *const headings[] = { "INSTANCE", "POLICY", "STATE",
                                                "NODES",    "CPUS",   "REASON" };
        _cleanup_table_ Table table = { 0 };

        if (report->registry->n_instances == 0) {
                text_append(text, "No running process matches a policy.\n");
                return;
        }
        table_init(&table, headings, ELEMENTSOF(headings));
        REGISTRY_FOREACH(i, report->registry) {
                const Verdict verdict = reconcile_verdict(report->binding, i);

                table_add(&table, i->name);
                table_add(&table, i->policy->name);
                table_add(&table, instance_state_to_string(verdict.state));
                table_add_ids(ID_VIEW(&i->binding.placement.nodes), &table);
                table_add_ids(ID_VIEW(&i->binding.placement.cpus), &table);
                table_add(&table, instance_reason(i, &verdict));
        }
        table_render(&table, 0, text);
}
