#include "tidbnumad/publish/plan-json.h"
#include "tidbnumad/publish/object.h"
#include "tidbnumad/publish/plan-words.h"

static json_t *why(const PlanReportInstance *instance) {
        _cleanup_text_ Text text = { 0 };

        plan_words_why(instance, &text);
        return text.error < 0 ? NULL : object_string(text.data);
}

static json_t *alternative(const PlacementAlternative *a) {
        return OBJECT_OF(
                { "nodes", object_list(ID_VIEW(&a->nodes)) },
                { "criterion", object_string(placement_criterion_to_string(a->criterion)) },
                { "rule", object_string(placement_criterion_to_rule(a->criterion)) },
                { "chosen", object_count(a->chosen) }, { "other", object_count(a->other) });
}

json_t *plan_json_instance(const PlanReportInstance *i) {
        const bool runs = i->pid > 0, refused = i->refusal != REFUSAL_NONE;

        return OBJECT_OF(
                { "name", object_string(i->name) }, { "policy", object_string(i->policy->name) },
                { "policy_file", object_string(i->policy->file) },
                { "policy_line", json_integer(i->policy->line) },
                { "unit", object_string(i->unit) }, { "storage", object_string(i->storage) },
                { "device_nodes", object_list(ID_VIEW(&i->device_nodes)) },
                { "need_bytes", object_known(i->need_bytes > 0, i->need_bytes) },
                { "nodes", object_list(ID_VIEW(&i->placement->nodes)) },
                { "cpus", object_list(ID_VIEW(&i->placement->cpus)) },
                { "memory_mode", object_string(memory_mode_to_string(i->placement->memory)) },
                { "basis", object_string(placement_basis_to_string(i->basis)) },
                { "refusal", object_string(refused ? placement_refusal_to_id(i->refusal) : NULL) },
                { "why", why(i) }, { "warnings", placement_json_warnings(i->warnings) },
                { "reserved_nodes", object_list(ID_VIEW(&i->reserved)) },
                { "open", object_count(i->n_feasible) },
                { "alternatives",
                  OBJECT_ARRAY(k, i->n_alternatives, alternative(&i->alternatives[k])) },
                { "pid", object_known(runs, (uint64_t)i->pid) },
                { "in_force", runs ? object_list(ID_VIEW(&i->in_force)) : json_null() },
                { "move_bytes", object_known(i->cost_known, i->cost_bytes) },
                { "bound_by", object_string(runs ? i->bound_by : NULL) },
                { "bound_by_reason", object_string(i->bound_by_reason) },
                { "memory_policy", object_string(i->memory_policy) },
                { "state", object_string(i->state) },
                { "state_reason", object_string(i->state_reason) },
                { "cpu_bound", i->state ? json_boolean(i->cpu_bound) : json_null() },
                { "memory_bound", i->state ? json_boolean(i->memory_bound) : json_null() });
}

static json_t *node(const PlanReport *report, size_t index) {
        const Device *devices = report->devices ? report->devices->devices : NULL;
        const size_t n_devices = report->devices ? report->devices->n_devices : 0;
        const Node *node = &report->topology->nodes[index];
        const bool home = topology_is_home(node);

        return OBJECT_OF(
                { "id", json_integer(node->id) },
                { "package", object_known(node->package != PACKAGE_UNKNOWN, node->package) },
                { "cpus", object_list(ID_VIEW(&node->cpus)) },
                { "memory_bytes", object_known(!node->memory_unknown, node->memory_bytes) },
                { "kind", json_string(node_kind_to_string(node->kind)) },
                { "free_bytes",
                  report->free_bytes ? object_count(report->free_bytes[index]) : json_null() },
                { "home", json_boolean(home) },
                { "why_no_home", home ? json_null() : json_string(topology_why_no_home(node)) },
                { "reserved", json_boolean(id_set_has(&report->reserved, node->id)) },
                { "devices", OBJECT_ARRAY_IF(i, n_devices, devices[i].node == (int32_t)node->id,
                                             object_string(devices[i].name)) },
                { "instances",
                  OBJECT_ARRAY_IF(i, report->n_instances,
                                  id_set_has(&report->instances[i].placement->nodes, node->id),
                                  object_string(report->instances[i].name)) });
}

static json_t *device(const Device *device) {
        bool net = device->kind == DEVICE_NET, known = device->node != DEVICE_NODE_UNKNOWN;

        return OBJECT_OF({ "name", object_string(device->name) },
                         { "kind", object_string(net            ? "net"
                                                 : device->nvme ? "nvme"
                                                                : "disk") },
                         { "node", known ? json_integer(device->node) : json_null() },
                         { "pci", object_string(device->pci) },
                         { "driver", object_string(device->driver) },
                         { "master", object_string(device->master) },
                         { "speed_mbps", object_known(device->speed_mbps > 0, device->speed_mbps) },
                         { "default_route", json_boolean(device->default_route) },
                         { "virtual_function", json_boolean(device->virtual_function) });
}

json_t *plan_json_report(const PlanReport *report) {
        const size_t n_devices = report->devices ? report->devices->n_devices : 0;

        return OBJECT_OF(
                { "source", object_string(report->source) },
                { "instances",
                  OBJECT_ARRAY(i, report->n_instances, plan_json_instance(&report->instances[i])) },
                { "nodes", OBJECT_ARRAY(i, report->topology->n_nodes, node(report, i)) },
                { "devices", OBJECT_ARRAY(i, n_devices, device(&report->devices->devices[i])) },
                { "reserved_nodes", object_list(ID_VIEW(&report->reserved)) },
                { "reserved_cpus", object_list(ID_VIEW(&report->reserved_cpus)) },
                { "nic_nodes", object_list(ID_VIEW(&report->nic_nodes)) },
                { "score",
                  OBJECT_COUNTS(N_CRITERIA, placement_criterion_to_string, report->score.by) },
                { "notes", object_strings(report->notes, report->n_notes) });
}

static json_t *change(const PlanChange *c) {
        const PlanReportInstance *after = c->after;

        return OBJECT_OF(
                { "name", object_string(c->name) },
                { "policy_before", object_string(c->before ? c->before->policy->name : NULL) },
                { "policy_after", object_string(after ? after->policy->name : NULL) },
                { "from", object_list(ID_VIEW(&c->from)) }, { "to", object_list(ID_VIEW(&c->to)) },
                { "move_bytes",
                  after && after->cost_known ? object_count(after->cost_bytes) : json_null() });
}

json_t *plan_json_changes(const PlanChange *changes, size_t n_changes) {
        return OBJECT_ARRAY(i, n_changes, change(&changes[i]));
}
