/* Snapshot to JSON, for `status.json` and its readers. Key order is the order of the calls here. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/publish/object.h"
#include "tidbnumad/publish/plan-words.h"
#include "tidbnumad/publish/status-instance.h"
#include "tidbnumad/publish/status-irq.h"
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

static json_t *failures(const PolicySnapshot *policy, uint64_t *ret_sum) {
        Object o = object_new();

        for (Reason r = REASON_NONE + 1; r < N_REASONS; r++) {
                *ret_sum += policy->bind_failures[r];
                if (policy->bind_failures[r] > 0)
                        object_set(&o, reason_to_string(r), object_count(policy->bind_failures[r]));
        }
        return object_finish(&o);
}

static json_t *repairs(const PolicySnapshot *policy) {
        Object o = object_new();

        for (DriftKind k = 0; k < N_DRIFTS; k++)
                object_set(&o, drift_to_string(k), object_count(policy->drift_repairs[k]));
        return object_finish(&o);
}

static json_t *policy(const PolicySnapshot *policy) {
        uint64_t n_failures = 0;
        json_t *by_reason = failures(policy, &n_failures);
        Object o = object_new();

        object_set(&o, "name", object_string(policy->name));
        object_set(&o, "bind_attempts", object_count(policy->bind_attempts));
        object_set(&o, "bind_failures", object_count(n_failures));
        object_set(&o, "bind_failures_by_reason", by_reason);
        object_set(&o, "drift_repairs", repairs(policy));
        return object_finish(&o);
}

static json_t *policies(const Snapshot *snapshot) {
        Object o = object_new();
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_policies && array; i++)
                array = object_append(array, policy(&snapshot->policies[i]));
        object_set(&o, "load_success", json_boolean(snapshot->policy_load_success));
        object_set(&o, "load_time", timestamp(snapshot->policy_load_seconds));
        object_set(&o, "load_time_seconds", object_number(snapshot->policy_load_seconds));
        object_set(&o, "errors",
                   object_strings(snapshot->policy_errors, snapshot->n_policy_errors));
        object_set(&o, "warnings",
                   object_strings(snapshot->policy_warnings, snapshot->n_policy_warnings));
        object_set(&o, "policies", array);
        return object_finish(&o);
}

static json_t *node(const Topology *topology, size_t index) {
        const Node *node = &topology->nodes[index];
        json_t *distances = topology->distances ? json_array() : json_null();
        Object o = object_new();

        for (size_t i = 0; i < topology->n_nodes && topology->distances && distances; i++)
                distances = object_append(
                        distances,
                        json_integer(topology->distances[index * topology->n_nodes + i]));
        object_set(&o, "id", json_integer(node->id));
        object_set(&o, "package", object_known(node->package != PACKAGE_UNKNOWN, node->package));
        object_set(&o, "cpus", object_list(ID_VIEW(&node->cpus)));
        object_set(&o, "memory_bytes", object_known(!node->memory_unknown, node->memory_bytes));
        object_set(&o, "distances", distances);
        return object_finish(&o);
}

static json_t *topology(const Topology *topology) {
        Object o = object_new();
        json_t *nodes;

        if (!topology) {
                json_decref(o.json);
                return json_null();
        }
        nodes = json_array();
        for (size_t i = 0; i < topology->n_nodes && nodes; i++)
                nodes = object_append(nodes, node(topology, i));
        object_set(&o, "nodes", nodes);
        return object_finish(&o);
}

static json_t *access_sampling(const AccessSnapshot *access) {
        Object o = object_new();

        object_set(&o, "available", json_boolean(access->available));
        object_set(&o, "reason", object_string(access->reason));
        object_set(&o, "source", object_string(access->source));
        object_set(&o, "coverage", object_string(access->coverage));
        return object_finish(&o);
}

static json_t *ignored_process(const IgnoredSnapshot *process) {
        Object o = object_new();

        object_set(&o, "pid", json_integer(process->pid));
        object_set(&o, "exe", object_string(process->exe));
        object_set(&o, "unit", object_string(process->unit));
        object_set(&o, "policy", object_string(process->policy));
        object_set(&o, "reason", object_string(process->reason));
        return object_finish(&o);
}

static json_t *ignored_processes(const Snapshot *snapshot) {
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_ignored_processes && array; i++)
                array = object_append(array, ignored_process(&snapshot->ignored_processes[i]));
        return array;
}

static json_t *ignored(const Snapshot *snapshot) {
        Object o = object_new();

        for (IgnoredReason r = 0; r < N_IGNORED_REASONS; r++)
                object_set(&o, ignored_reason_to_string(r), object_count(snapshot->ignored[r]));
        return object_finish(&o);
}

static json_t *release(const ReleaseSnapshot *release) {
        Object o = object_new();

        object_set(&o, "name", object_string(release->name));
        object_set(&o, "unit", object_string(release->unit));
        object_set(&o, "reason", object_string(release->reason));
        object_set(&o, "failure", object_string(release->failure));
        object_set(&o, "failure_code", object_string(reason_to_string(release->failure_code)));
        return object_finish(&o);
}

static json_t *releases(const Snapshot *snapshot) {
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_releases && array; i++)
                array = object_append(array, release(&snapshot->releases[i]));
        return array;
}

static json_t *unit(const UnitSnapshot *unit) {
        Object o = object_new();

        object_set(&o, "name", object_string(unit->name));
        object_set(&o, "state", object_string(unit->state));
        object_set(&o, "reason", object_string(unit->reason));
        object_set(&o, "cpus", unit->cpus ? object_list(ID_VIEW(unit->cpus)) : json_null());
        object_set(&o, "memory_nodes", unit->mems ? object_list(ID_VIEW(unit->mems)) : json_null());
        return object_finish(&o);
}

static json_t *units(const Snapshot *snapshot) {
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_units && array; i++)
                array = object_append(array, unit(&snapshot->units[i]));
        return array;
}

static json_t *event(const EventSnapshot *event) {
        Object o = object_new();

        object_set(&o, "source", object_string(event->source));
        object_set(&o, "received", object_count(event->received));
        object_set(&o, "lost", object_count(event->lost));
        object_set(&o, "rescans", object_count(event->rescans));
        return object_finish(&o);
}

static json_t *events(const Snapshot *snapshot) {
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_events && array; i++)
                array = object_append(array, event(&snapshot->events[i]));
        return array;
}

static json_t *process(const Snapshot *snapshot) {
        Object o;

        if (!snapshot->self_known)
                return json_null();
        o = object_new();
        object_set(&o, "pid", json_integer(snapshot->self.pid));
        object_set(&o, "cpu_seconds", object_number(snapshot->self.cpu_seconds));
        object_set(&o, "resident_bytes", object_count(snapshot->self.resident_bytes));
        object_set(&o, "open_fds", object_count(snapshot->self.open_fds));
        object_set(&o, "start_time", timestamp(snapshot->self.start_seconds));
        object_set(&o, "start_time_seconds", object_number(snapshot->self.start_seconds));
        return object_finish(&o);
}

static json_t *status(const Snapshot *snapshot) {
        Object o = object_new();

        object_set(&o, "version", object_string(snapshot->version));
        object_set(&o, "hwloc_version", object_string(snapshot->hwloc_version));
        object_set(&o, "systemd_version", object_string(snapshot->systemd_version));
        object_set(&o, "time", timestamp(snapshot->realtime_seconds));
        object_set(&o, "time_seconds", object_number(snapshot->realtime_seconds));
        object_set(&o, "ready", json_boolean(snapshot->ready));
        object_set(&o, "enforcing", json_boolean(snapshot->enforcing));
        object_set(&o, "backend", object_string(snapshot->backend));
        object_set(&o, "sample_interval_seconds", object_number(snapshot->sample_interval_seconds));
        object_set(&o, "policy", policies(snapshot));
        object_set(&o, "topology", topology(snapshot->topology));
        object_set(&o, "reserved_nodes", object_list(ID_VIEW(&snapshot->reserved_nodes)));
        object_set(&o, "reserved_cpus", object_list(ID_VIEW(&snapshot->reserved_cpus)));
        object_set(&o, "instances", json_array()); /* see put_instances_in() */
        if (snapshot->n_unlisted > 0)
                object_set(&o, "instances_unlisted", object_count(snapshot->n_unlisted));
        object_set(&o, "units", units(snapshot));
        object_set(&o, "strangers", ignored_processes(snapshot));
        object_set(&o, "ignored", ignored(snapshot));
        if (snapshot->n_releases > 0) /* seldom, and for seconds */
                object_set(&o, "releases", releases(snapshot));
        if (snapshot->irq.known)
                object_set(&o, "interrupts", status_irq(&snapshot->irq));
        if (snapshot->access.wanted)
                object_set(&o, "access_sampling", access_sampling(&snapshot->access));
        object_set(&o, "events", events(snapshot));
        object_set(&o, "process", process(snapshot));
        return object_finish(&o);
}

static const char place[] = "\n  \"instances\": []";

/* They are most of the whole, and rendered without an object for each of their numbers. A string in
 * JSON has no newline: the place is where the key stands. */
static int put_instances_in(const Snapshot *snapshot, const char *around, Text *text) {
        const char *at = strstr(around, place);

        if (!at)
                return -ENOMEM;
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
