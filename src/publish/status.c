/* Snapshot to JSON, for `status.json` and those who read it. Key order is the order of the calls
 * here. Any failure is memory: a NULL among the values makes the whole of it NULL. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/publish/status.h"
#include "tidbnumad/publish/utf8.h"

/* An object being filled; `failed` once anything could not be had. */
typedef struct Object {
        json_t *json;
        bool failed;
} Object;

static Object object_new(void) {
        json_t *json = json_object();

        return (Object){ .json = json, .failed = !json };
}

/* Takes over `value`. */
static void set(Object *object, const char *key, json_t *value) {
        if (json_object_set_new(object->json, key, value) < 0)
                object->failed = true;
}

static json_t *finish(Object *object) {
        if (!object->failed)
                return object->json;
        json_decref(object->json);
        return NULL;
}

/* Takes over both. */
static json_t *append(json_t *array, json_t *value) {
        if (array && json_array_append_new(array, value) == 0)
                return array;
        if (!array)
                json_decref(value);
        json_decref(array);
        return NULL;
}

static json_t *string(const char *value) {
        _cleanup_text_ Text text = { 0 };

        if (!value)
                return json_null();
        utf8_sanitize(&text, value, strlen(value));
        if (text.error < 0)
                return NULL;
        return json_stringn(text.data ? text.data : "", text.length);
}

static json_t *count(uint64_t value) {
        return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *number(double value) {
        return isfinite(value) ? json_real(value) : json_null();
}

static json_t *list(const IdSet *ids) {
        char buffer[ID_SET_MAX * 5]; /* four digits and a comma each: any set fits */

        return id_set_render_list(ids, buffer, sizeof(buffer)) < 0 ? json_null() : string(buffer);
}

/* RFC 3339, UTC, whole seconds; the exact value stands beside it as a number. */
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

static json_t *strings(const char *const *values, size_t n) {
        json_t *array = json_array();

        for (size_t i = 0; i < n && array; i++)
                array = append(array, string(values[i]));
        return array;
}

static json_t *policy(const PolicySnapshot *policy) {
        Object o = object_new();

        set(&o, "name", string(policy->name));
        set(&o, "bind_attempts", count(policy->bind_attempts));
        set(&o, "bind_failures", count(policy->bind_failures));
        return finish(&o);
}

static json_t *policies(const Snapshot *snapshot) {
        Object o = object_new();
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_policies && array; i++)
                array = append(array, policy(&snapshot->policies[i]));
        set(&o, "load_success", json_boolean(snapshot->policy_load_success));
        set(&o, "load_time", timestamp(snapshot->policy_load_seconds));
        set(&o, "load_time_seconds", number(snapshot->policy_load_seconds));
        set(&o, "errors", strings(snapshot->policy_errors, snapshot->n_policy_errors));
        set(&o, "warnings", strings(snapshot->policy_warnings, snapshot->n_policy_warnings));
        set(&o, "policies", array);
        return finish(&o);
}

static json_t *node(const Topology *topology, size_t index) {
        const Node *node = &topology->nodes[index];
        json_t *distances = topology->distances ? json_array() : json_null();
        Object o = object_new();

        for (size_t i = 0; i < topology->n_nodes && topology->distances && distances; i++)
                distances =
                        append(distances,
                               json_integer(topology->distances[index * topology->n_nodes + i]));
        set(&o, "id", json_integer(node->id));
        set(&o, "package", json_integer(node->package));
        set(&o, "cpus", list(&node->cpus));
        set(&o, "memory_bytes", count(node->memory_bytes));
        set(&o, "distances", distances);
        return finish(&o);
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
                nodes = append(nodes, node(topology, i));
        set(&o, "nodes", nodes);
        return finish(&o);
}

static json_t *node_memory(const Node *node, const NodeMemory *memory) {
        Object o = object_new();

        set(&o, "node", json_integer(node->id));
        set(&o, "anon_bytes", count(memory->anon_bytes));
        set(&o, "file_bytes", count(memory->file_bytes));
        set(&o, "shmem_bytes", count(memory->shmem_bytes));
        return finish(&o);
}

static json_t *memory_by_node(const Topology *topology, const NodeMemory *by_node) {
        json_t *array;

        if (!topology || !by_node)
                return json_null();
        array = json_array();
        for (size_t i = 0; i < topology->n_nodes && array; i++)
                array = append(array, node_memory(&topology->nodes[i], &by_node[i]));
        return array;
}

static json_t *ports(const InstanceSnapshot *instance) {
        json_t *array = json_array();

        for (size_t i = 0; i < instance->n_ports && array; i++)
                array = append(array, json_integer(instance->ports[i]));
        return array;
}

static void set_plan(Object *o, const InstanceSnapshot *instance) {
        set(o, "name", string(instance->name));
        set(o, "policy", string(instance->policy));
        set(o, "unit", string(instance->unit));
        set(o, "exe", string(instance->exe));
        set(o, "pid", json_integer(instance->pid));
        set(o, "processes", count(instance->n_processes));
        set(o, "ports", ports(instance));
        set(o, "data_dir", string(instance->data_dir));
        set(o, "backend", string(instance->backend));
        set(o, "state", string(instance->state));
        set(o, "reason", string(instance->reason));
        set(o, "nodes", list(&instance->nodes));
        set(o, "cpus", list(&instance->cpus));
        set(o, "memory_mode", string(memory_mode_to_string(instance->memory)));
}

static json_t *instance(const Topology *topology, const InstanceSnapshot *instance) {
        Object o = object_new();

        set_plan(&o, instance);
        set(&o, "cpu_bound", json_boolean(instance->cpu_bound));
        set(&o, "memory_bound", json_boolean(instance->memory_bound));
        set(&o, "threads", count(instance->n_threads));
        set(&o, "threads_outside", count(instance->n_threads_outside));
        set(&o, "memory_by_node", memory_by_node(topology, instance->by_node));
        set(&o, "remote_memory_ratio", number(instance->remote_ratio));
        set(&o, "bind_attempts", count(instance->bind_attempts));
        set(&o, "bind_failures", count(instance->bind_failures));
        set(&o, "migrated_bytes", count(instance->migrated_bytes));
        set(&o, "pending_bytes", count(instance->pending_bytes));
        set(&o, "failed_pages", count(instance->failed_pages));
        set(&o, "bind_seconds", number(instance->bind_seconds));
        return finish(&o);
}

static json_t *instances(const Snapshot *snapshot) {
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_instances && array; i++)
                array = append(array, instance(snapshot->topology, &snapshot->instances[i]));
        return array;
}

static json_t *stranger(const StrangerSnapshot *stranger) {
        Object o = object_new();

        set(&o, "pid", json_integer(stranger->pid));
        set(&o, "exe", string(stranger->exe));
        set(&o, "unit", string(stranger->unit));
        set(&o, "policy", string(stranger->policy));
        set(&o, "reason", string(stranger->reason));
        return finish(&o);
}

static json_t *strangers(const Snapshot *snapshot) {
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_strangers && array; i++)
                array = append(array, stranger(&snapshot->strangers[i]));
        return array;
}

static json_t *unit(const UnitSnapshot *unit) {
        Object o = object_new();

        set(&o, "name", string(unit->name));
        set(&o, "state", string(unit->state));
        set(&o, "reason", string(unit->reason));
        set(&o, "cpus", unit->cpus ? list(unit->cpus) : json_null());
        set(&o, "memory_nodes", unit->mems ? list(unit->mems) : json_null());
        return finish(&o);
}

static json_t *units(const Snapshot *snapshot) {
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_units && array; i++)
                array = append(array, unit(&snapshot->units[i]));
        return array;
}

static json_t *event(const EventSnapshot *event) {
        Object o = object_new();

        set(&o, "source", string(event->source));
        set(&o, "received", count(event->received));
        set(&o, "lost", count(event->lost));
        set(&o, "rescans", count(event->rescans));
        return finish(&o);
}

static json_t *events(const Snapshot *snapshot) {
        json_t *array = json_array();

        for (size_t i = 0; i < snapshot->n_events && array; i++)
                array = append(array, event(&snapshot->events[i]));
        return array;
}

static json_t *process(const Snapshot *snapshot) {
        Object o;

        if (!snapshot->self_known)
                return json_null();
        o = object_new();
        set(&o, "cpu_seconds", number(snapshot->self.cpu_seconds));
        set(&o, "resident_bytes", count(snapshot->self.resident_bytes));
        set(&o, "open_fds", count(snapshot->self.open_fds));
        set(&o, "start_time", timestamp(snapshot->self.start_seconds));
        set(&o, "start_time_seconds", number(snapshot->self.start_seconds));
        return finish(&o);
}

static json_t *status(const Snapshot *snapshot) {
        Object o = object_new();

        set(&o, "version", string(snapshot->version));
        set(&o, "hwloc_version", string(snapshot->hwloc_version));
        set(&o, "systemd_version", string(snapshot->systemd_version));
        set(&o, "time", timestamp(snapshot->realtime_seconds));
        set(&o, "time_seconds", number(snapshot->realtime_seconds));
        set(&o, "ready", json_boolean(snapshot->ready));
        set(&o, "enforcing", json_boolean(snapshot->enforcing));
        set(&o, "sample_interval_seconds", number(snapshot->sample_interval_seconds));
        set(&o, "policy", policies(snapshot));
        set(&o, "topology", topology(snapshot->topology));
        set(&o, "instances", instances(snapshot));
        set(&o, "units", units(snapshot));
        set(&o, "strangers", strangers(snapshot));
        set(&o, "events", events(snapshot));
        set(&o, "process", process(snapshot));
        return finish(&o);
}

int status_render(const Snapshot *snapshot, char **ret_json) {
        /* 16 digits: microseconds of a time since the epoch survive, 0.1 stays 0.1. */
        const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(16);
        json_t *json = status(snapshot);
        size_t length;
        char *text;

        if (!json)
                return -ENOMEM;
        length = json_dumpb(json, NULL, 0, flags);
        text = length > 0 ? malloc(length + 2) : NULL;
        if (text) {
                (void)json_dumpb(json, text, length, flags);
                memcpy(text + length, "\n", 2);
        }
        json_decref(json);
        if (!text)
                return -ENOMEM;
        *ret_json = text;
        return 0;
}
