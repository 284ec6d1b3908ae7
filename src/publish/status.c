#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/publish/object.h"
#include "tidbnumad/publish/status-instance.h"
#include "tidbnumad/publish/status.h"

/* RFC 3339, UTC, whole seconds; the exact value is beside it as a number. */
static json_t *timestamp(double seconds) {
        char buffer[64];
        struct tm tm;
        time_t t;

        if (!(seconds >= 0 && seconds < 253402300800.0)) /* year 10000 */
                return json_null();
        t = (time_t)seconds;
        if (!gmtime_r(&t, &tm) || strftime(buffer, sizeof(buffer), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
                return json_null();
        return json_string(buffer);
}

/* Only those that have occurred. */
static json_t *failures(const PolicyInfo *policy, uint64_t *ret_sum) {
        json_t *object = json_object();

        for (Reason r = REASON_NONE + 1; r < N_REASONS; r++) {
                const uint64_t n = policy->bind_failures[r];

                *ret_sum += n;
                if (n > 0)
                        object = object_set(object, reason_to_string(r), object_count(n));
        }
        return object;
}

static json_t *policy(const PolicyInfo *policy) {
        uint64_t n_failures = 0;
        json_t *by_reason = failures(policy, &n_failures);

        return OBJECT_OF({ "name", object_string(policy->name) },
                         { "bind_attempts", object_count(policy->bind_attempts) },
                         { "bind_failures", object_count(n_failures) },
                         { "bind_failures_by_reason", by_reason },
                         { "drift_repairs",
                           OBJECT_COUNTS(N_DRIFTS, drift_to_string, policy->drift_repairs) });
}

static json_t *policies(const Snapshot *s) {
        return OBJECT_OF({ "load_success", json_boolean(s->policy_load_success) },
                         { "in_force", json_string(!s->policy_in_force ? "none"
                                                   : s->policy_kept    ? "kept"
                                                                       : "loaded") },
                         { "adopted", object_count(s->n_adopted) },
                         { "load_time", timestamp(s->policy_load_seconds) },
                         { "load_time_seconds", object_number(s->policy_load_seconds) },
                         { "errors", object_strings(s->policy_errors, s->n_policy_errors) },
                         { "warnings", object_strings(s->policy_warnings, s->n_policy_warnings) },
                         { "policies", OBJECT_ARRAY(i, s->n_policies, policy(&s->policies[i])) });
}

static json_t *distances(const Topology *t, size_t from) {
        return t->distances ? OBJECT_ARRAY(i, t->n_nodes,
                                           json_integer(t->distances[from * t->n_nodes + i]))
                            : json_null();
}

static json_t *node(const Topology *topology, size_t index) {
        const Node *node = &topology->nodes[index];

        return OBJECT_OF(
                { "id", json_integer(node->id) },
                { "package", object_known(node->package != PACKAGE_UNKNOWN, node->package) },
                { "cpus", object_list(ID_VIEW(&node->cpus)) },
                { "memory_bytes", object_known(!node->memory_unknown, node->memory_bytes) },
                { "distances", distances(topology, index) });
}

static json_t *topology(const Topology *t) {
        return t ? OBJECT_OF({ "nodes", OBJECT_ARRAY(i, t->n_nodes, node(t, i)) }) : json_null();
}

static json_t *access_sampling(const AccessInfo *access) {
        return OBJECT_OF({ "available", json_boolean(access->available) },
                         { "reason", object_string(access->reason) },
                         { "source", object_string(access->source) },
                         { "coverage", object_string(access->coverage) });
}

static json_t *ignored_process(const IgnoredInfo *process) {
        return OBJECT_OF({ "pid", json_integer(process->pid) },
                         { "exe", object_string(process->exe) },
                         { "unit", object_string(process->unit) },
                         { "policy", object_string(process->policy) },
                         { "reason", object_string(process->reason) });
}

static json_t *release(const ReleaseInfo *release) {
        return OBJECT_OF(
                { "name", object_string(release->name) }, { "unit", object_string(release->unit) },
                { "reason", object_string(release->reason) },
                { "failure", object_string(release->failure) },
                { "failure_code", object_string(reason_to_string(release->failure_code)) });
}

static json_t *unit(const UnitInfo *unit) {
        return OBJECT_OF(
                { "name", object_string(unit->name) }, { "policy", object_string(unit->policy) },
                { "state", object_string(unit->state) }, { "reason", object_string(unit->reason) },
                { "reason_code", object_string(reason_to_string(unit->code)) },
                { "remedy", object_string(reason_to_remedy(unit->code)) },
                { "nodes", object_list(ID_VIEW(&unit->nodes)) },
                { "cpus", unit->cpus ? object_list(ID_VIEW(unit->cpus)) : json_null() },
                { "memory_nodes", unit->mems ? object_list(ID_VIEW(unit->mems)) : json_null() });
}

static json_t *event(const EventInfo *event) {
        return OBJECT_OF({ "source", object_string(event->source) },
                         { "received", object_count(event->received) },
                         { "lost", object_count(event->lost) },
                         { "rescans", object_count(event->rescans) });
}

static json_t *device(const IrqDeviceInfo *d) {
        return OBJECT_OF({ "name", object_string(d->name) }, { "kind", object_string(d->kind) },
                         { "pci", object_string(d->pci) },
                         { "node", d->node < 0 ? json_null() : json_integer(d->node) },
                         { "reason_code", object_string(d->reason_id) },
                         { "reason", object_string(d->reason) },
                         { "cpus", object_list(ID_VIEW(d->cpus)) },
                         { "steered", object_count(d->vectors[IRQ_STATE_STEERED]) },
                         { "managed", object_count(d->vectors[IRQ_STATE_MANAGED]) },
                         { "contested", object_count(d->vectors[IRQ_STATE_CONTESTED]) },
                         { "failed", object_count(d->vectors[IRQ_STATE_FAILED]) },
                         { "left", object_count(d->vectors[IRQ_STATE_LEFT]) });
}

static json_t *landed(const IrqLandedInfo *l) {
        return OBJECT_OF({ "device", object_string(l->device) },
                         { "instance", object_string(l->instance) },
                         { "interrupts", object_count(l->count) });
}

static json_t *irqbalance(const IrqInfo *irq) {
        const bool sent = irq->irqbalance_sent;

        if (irq->irqbalance_pid == 0)
                return json_null();
        return OBJECT_OF(
                { "pid", json_integer(irq->irqbalance_pid) }, { "sent", json_boolean(sent) },
                { "banned_cpus", sent ? object_list(ID_VIEW(irq->irqbalance_cpus)) : json_null() },
                { "banned_interrupts", object_count(irq->n_irqbalance_irqs) });
}

static json_t *interrupts(const IrqInfo *irq) {
        return OBJECT_OF(
                { "devices", OBJECT_ARRAY(i, irq->n_devices, device(&irq->devices[i])) },
                { "on_instance_cpus", OBJECT_ARRAY(i, irq->n_landed, landed(&irq->landed[i])) },
                { "writes", object_count(irq->n_writes) },
                { "repairs", object_count(irq->n_repairs) },
                { "undo_settings", object_count(irq->undo_settings) },
                { "irqbalance", irqbalance(irq) });
}

static json_t *process(const ProcessInfo *self) {
        return OBJECT_OF({ "pid", json_integer(self->pid) },
                         { "cpu_seconds", object_number(self->cpu_seconds) },
                         { "resident_bytes", object_count(self->resident_bytes) },
                         { "open_fds", object_count(self->open_fds) },
                         { "start_time", timestamp(self->start_seconds) },
                         { "start_time_seconds", object_number(self->start_seconds) });
}

/* The list of instances is empty here: see put_instances_in(). */
static json_t *status(const Snapshot *s) {
        return OBJECT_OF(
                { "version", object_string(s->version) },
                { "hwloc_version", object_string(s->hwloc_version) },
                { "systemd_version", object_string(s->systemd_version) },
                { "time", timestamp(s->realtime_seconds) },
                { "time_seconds", object_number(s->realtime_seconds) },
                { "ready", json_boolean(s->ready) }, { "enforcing", json_boolean(s->enforcing) },
                { "backend", object_string(s->backend) },
                { s->backend_reason ? "backend_reason" : NULL, object_string(s->backend_reason) },
                { "sample_interval_seconds", object_number(s->sample_interval_seconds) },
                { "policy", policies(s) }, { "topology", topology(s->topology) },
                { "reserved_nodes", object_list(ID_VIEW(&s->reserved_nodes)) },
                { "reserved_cpus", object_list(ID_VIEW(&s->reserved_cpus)) },
                { "instances", json_array() },
                { s->n_unlisted > 0 ? "instances_unlisted" : NULL, object_count(s->n_unlisted) },
                { "units", OBJECT_ARRAY(i, s->n_units, unit(&s->units[i])) },
                { "ignored_processes", OBJECT_ARRAY(i, s->n_ignored_processes,
                                                    ignored_process(&s->ignored_processes[i])) },
                { "ignored",
                  OBJECT_COUNTS(N_IGNORED_REASONS, ignored_reason_to_string, s->ignored) },
                { s->n_releases > 0 ? "releases" : NULL,
                  OBJECT_ARRAY(i, s->n_releases, release(&s->releases[i])) },
                { s->irq.known ? "interrupts" : NULL, interrupts(&s->irq) },
                { s->access.wanted ? "access_sampling" : NULL, access_sampling(&s->access) },
                { "events", OBJECT_ARRAY(i, s->n_events, event(&s->events[i])) },
                { "process", s->self_known ? process(&s->self) : json_null() });
}

static const char place[] = "\n  \"instances\": []";

/* They are most of the whole, and rendered without an object for each of their numbers. A string in
 * JSON has no newline, so that only the key itself matches. */
static int put_instances_in(const Snapshot *snapshot, const char *around, Text *text) {
        const char *at = strstr(around, place);

        if (!at)
                return -EBADMSG;
        at += sizeof(place) - 2; /* behind the bracket */
        text_append_bytes(text, around, (size_t)(at - around));
        for (size_t i = 0; i < snapshot->n_instances; i++) {
                text_append(text, i > 0 ? ",\n" : "\n");
                status_instance_append(text, snapshot->topology, &snapshot->instances[i]);
        }
        text_append(text, snapshot->n_instances > 0 ? "\n  " : "");
        text_append(text, at);
        return text->error;
}

int status_render(const Snapshot *snapshot, char **ret_json) {
        _cleanup_free_ char *around = NULL;
        _cleanup_text_ Text text = { 0 };
        int r = object_render(status(snapshot), &around);

        if (r >= 0)
                r = put_instances_in(snapshot, around, &text);
        if (r >= 0)
                *ret_json = TAKE_PTR(text.data);
        return r;
}
