/* A plan as JSON. Key order is the order of the calls here. */
#include "tidbnumad/publish/plan-json.h"
#include "tidbnumad/publish/object.h"
#include "tidbnumad/publish/plan-words.h"

static json_t *why(const PlanReportInstance *instance) {
        _cleanup_text_ Text text = { 0 };

        plan_words_why(instance, &text);
        return text.error < 0 ? NULL : object_string(text.data);
}

static json_t *alternative(const PlacementAlternative *a) {
        Object o = object_new();

        object_set(&o, "nodes", object_list(ID_VIEW(&a->nodes)));
        object_set(&o, "criterion", object_string(placement_criterion_to_string(a->criterion)));
        object_set(&o, "rule", object_string(placement_criterion_to_rule(a->criterion)));
        object_set(&o, "chosen", object_count(a->chosen));
        object_set(&o, "other", object_count(a->other));
        return object_finish(&o);
}

static json_t *alternatives(const PlanReportInstance *instance) {
        json_t *array = json_array();

        for (size_t i = 0; i < instance->n_alternatives && array; i++)
                array = object_append(array, alternative(&instance->alternatives[i]));
        return array;
}

static json_t *refusal(const PlanReportInstance *instance) {
        return instance->basis == BASIS_REFUSED
                       ? object_string(placement_refusal_to_id(instance->refusal))
                       : json_null();
}

static void set_running(Object *o, const PlanReportInstance *i) {
        bool runs = i->pid > 0;

        object_set(o, "pid", runs ? json_integer(i->pid) : json_null());
        object_set(o, "in_force", runs ? object_list(ID_VIEW(&i->in_force)) : json_null());
        object_set(o, "move_bytes", i->cost_known ? object_count(i->cost_bytes) : json_null());
        object_set(o, "bound_by", object_string(runs ? i->bound_by : NULL));
        object_set(o, "bound_by_reason", object_string(i->bound_by_reason));
        object_set(o, "memory_policy", object_string(i->memory_policy));
        object_set(o, "state", object_string(i->state));
        object_set(o, "state_reason", object_string(i->state_reason));
        object_set(o, "cpu_bound", i->state ? json_boolean(i->cpu_bound) : json_null());
        object_set(o, "memory_bound", i->state ? json_boolean(i->memory_bound) : json_null());
}

json_t *plan_json_instance(const PlanReportInstance *i) {
        Object o = object_new();

        object_set(&o, "name", object_string(i->name));
        object_set(&o, "policy", object_string(i->policy->name));
        object_set(&o, "policy_file", object_string(i->policy->file));
        object_set(&o, "policy_line", json_integer(i->policy->line));
        object_set(&o, "unit", object_string(i->unit));
        object_set(&o, "storage", object_string(i->storage));
        object_set(&o, "device_nodes", object_list(ID_VIEW(&i->device_nodes)));
        object_set(&o, "need_bytes", i->need_bytes ? object_count(i->need_bytes) : json_null());
        object_set(&o, "nodes", object_list(ID_VIEW(&i->placement->nodes)));
        object_set(&o, "cpus", object_list(ID_VIEW(&i->placement->cpus)));
        object_set(&o, "memory_mode", object_string(memory_mode_to_string(i->placement->memory)));
        object_set(&o, "basis", object_string(placement_basis_to_string(i->basis)));
        object_set(&o, "refusal", refusal(i));
        object_set(&o, "why", why(i));
        object_set(&o, "warnings", placement_json_warnings(i->warnings));
        object_set(&o, "reserved_nodes", object_list(ID_VIEW(&i->reserved)));
        object_set(&o, "open", object_count(i->n_feasible));
        object_set(&o, "alternatives", alternatives(i));
        set_running(&o, i);
        return object_finish(&o);
}

static json_t *instances(const PlanReport *report) {
        json_t *array = json_array();

        for (size_t i = 0; i < report->n_instances && array; i++)
                array = object_append(array, plan_json_instance(&report->instances[i]));
        return array;
}

static json_t *inhabitants(const PlanReport *report, uint32_t node) {
        json_t *array = json_array();

        for (size_t i = 0; i < report->n_instances && array; i++)
                if (id_set_has(&report->instances[i].placement->nodes, node))
                        array = object_append(array, object_string(report->instances[i].name));
        return array;
}

static json_t *node_devices(const PlanReport *report, uint32_t node) {
        json_t *array = json_array();

        for (size_t i = 0; report->devices && i < report->devices->n_devices && array; i++)
                if (report->devices->devices[i].node == (int32_t)node)
                        array = object_append(array,
                                              object_string(report->devices->devices[i].name));
        return array;
}

static json_t *node(const PlanReport *report, size_t index) {
        const Node *node = &report->topology->nodes[index];
        const bool home = topology_is_home(node);
        Object o = object_new();

        object_set(&o, "id", json_integer(node->id));
        object_set(&o, "package", object_known(node->package != PACKAGE_UNKNOWN, node->package));
        object_set(&o, "cpus", object_list(ID_VIEW(&node->cpus)));
        object_set(&o, "memory_bytes", object_known(!node->memory_unknown, node->memory_bytes));
        object_set(&o, "kind", json_string(node_kind_to_string(node->kind)));
        object_set(&o, "free_bytes",
                   report->free_bytes ? object_count(report->free_bytes[index]) : json_null());
        object_set(&o, "home", json_boolean(home));
        object_set(&o, "why_no_home", home ? json_null() : json_string(topology_why_no_home(node)));
        object_set(&o, "reserved", json_boolean(id_set_has(&report->reserved, node->id)));
        object_set(&o, "devices", node_devices(report, node->id));
        object_set(&o, "instances", inhabitants(report, node->id));
        return object_finish(&o);
}

static json_t *nodes(const PlanReport *report) {
        json_t *array = json_array();

        for (size_t i = 0; i < report->topology->n_nodes && array; i++)
                array = object_append(array, node(report, i));
        return array;
}

static json_t *device(const Device *device) {
        bool net = device->kind == DEVICE_NET, known = device->node != DEVICE_NODE_UNKNOWN;
        Object o = object_new();

        object_set(&o, "name", object_string(device->name));
        object_set(&o, "kind", object_string(net ? "net" : device->nvme ? "nvme" : "disk"));
        object_set(&o, "node", known ? json_integer(device->node) : json_null());
        object_set(&o, "pci", object_string(device->pci));
        object_set(&o, "driver", object_string(device->driver));
        object_set(&o, "master", object_string(device->master));
        object_set(&o, "speed_mbps",
                   device->speed_mbps ? object_count(device->speed_mbps) : json_null());
        object_set(&o, "default_route", json_boolean(device->default_route));
        object_set(&o, "virtual_function", json_boolean(device->virtual_function));
        return object_finish(&o);
}

static json_t *devices(const PlanReport *report) {
        json_t *array = json_array();

        for (size_t i = 0; report->devices && i < report->devices->n_devices && array; i++)
                array = object_append(array, device(&report->devices->devices[i]));
        return array;
}

static json_t *score(const PlacementScore *score) {
        Object o = object_new();

        for (unsigned c = 0; c < N_CRITERIA; c++)
                object_set(&o, placement_criterion_to_string(c), object_count(score->by[c]));
        return object_finish(&o);
}

json_t *plan_json_report(const PlanReport *report) {
        Object o = object_new();

        object_set(&o, "source", object_string(report->source));
        object_set(&o, "instances", instances(report));
        object_set(&o, "nodes", nodes(report));
        object_set(&o, "devices", devices(report));
        object_set(&o, "reserved_nodes", object_list(ID_VIEW(&report->reserved)));
        object_set(&o, "reserved_cpus", object_list(ID_VIEW(&report->reserved_cpus)));
        object_set(&o, "nic_nodes", object_list(ID_VIEW(&report->nic_nodes)));
        object_set(&o, "score", score(&report->score));
        object_set(&o, "notes", object_strings(report->notes, report->n_notes));
        return object_finish(&o);
}

static json_t *change(const PlanChange *c) {
        const PlanReportInstance *after = c->after;
        Object o = object_new();

        object_set(&o, "name", object_string(c->name));
        object_set(&o, "policy_before", object_string(c->before ? c->before->policy->name : NULL));
        object_set(&o, "policy_after", object_string(after ? after->policy->name : NULL));
        object_set(&o, "from", object_list(ID_VIEW(&c->from)));
        object_set(&o, "to", object_list(ID_VIEW(&c->to)));
        object_set(&o, "move_bytes",
                   after && after->cost_known ? object_count(after->cost_bytes) : json_null());
        return object_finish(&o);
}

json_t *plan_json_changes(const PlanChange *changes, size_t n_changes) {
        json_t *array = json_array();

        for (size_t i = 0; i < n_changes && array; i++)
                array = object_append(array, change(&changes[i]));
        return array;
}
