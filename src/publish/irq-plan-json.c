#include "tidbnumad/publish/irq-plan-json.h"
#include "tidbnumad/publish/object.h"

static json_t *vector(const IrqVector *v, const IrqPlanVector *planned) {
        return OBJECT_OF(
                { "irq", json_integer(v->irq) }, { "handler", object_string(v->name) },
                { "role", object_string(irq_role_to_string(v->role)) },
                { "queue", v->queue < 0 ? json_null() : json_integer(v->queue) },
                { "now", v->mask_known ? object_list(ID_VIEW(&v->requested)) : json_null() },
                { "effective",
                  v->effective_known ? object_list(ID_VIEW(&v->effective)) : json_null() },
                { "decision", object_string(irq_decision_to_string(planned->decision)) },
                { "cpus", planned->decision == IRQ_STEERED ? object_list(ID_VIEW(&planned->cpus))
                                                           : json_null() });
}

static json_t *masks(const CpuSet *sets, size_t n) {
        return sets ? OBJECT_ARRAY(i, n, object_list(ID_VIEW(&sets[i]))) : json_null();
}

static const char *steer_to_string(IrqSteer steer) {
        static const char *const names[] = {
                [STEER_AUTO] = "auto", [STEER_RESERVED] = "reserved", [STEER_LOCAL] = "local",
                [STEER_AWAY] = "away", [STEER_LEAVE] = "leave",       [STEER_CPUS] = "cpus",
        };

        return names[steer];
}

static json_t *device(const IrqPlanDevice *d) {
        const IrqDevice *device = d->device;

        return OBJECT_OF(
                { "name", object_string(device->name) },
                { "kind", object_string(irq_device_kind_to_string(device->kind)) },
                { "node", device->node < 0 ? json_null() : json_integer(device->node) },
                { "pci", object_string(device->pci) }, { "driver", object_string(device->driver) },
                { "master", object_string(device->master) },
                { "virtual_function_of", object_string(device->physfn) },
                { "speed_mbps", object_known(device->speed_mbps > 0, device->speed_mbps) },
                { "link", device->link == IRQ_LINK_UNKNOWN
                                  ? json_null()
                                  : json_boolean(device->link == IRQ_LINK_UP) },
                { "in_other_netns", json_boolean(device->in_other_netns) },
                { "policy_file", object_string(d->policy ? d->policy->file : NULL) },
                { "policy_line", d->policy ? json_integer(d->policy->line) : json_null() },
                { "steer", object_string(steer_to_string(d->steer)) },
                { "reason", object_string(irq_reason_to_id(d->reason)) },
                { "rule", object_string(irq_reason_to_rule(d->reason)) },
                { "why", object_string(irq_reason_to_string(d->reason)) },
                { "cpus", OBJECT_ARRAY(i, d->n_order, json_integer(d->order[i])) },
                { "vectors",
                  OBJECT_ARRAY(i, device->n_vectors, vector(&device->vectors[i], &d->vectors[i])) },
                { "xps", masks(d->xps, device->n_tx) }, { "rps", masks(d->rps, device->n_rx) });
}

static json_t *irqbalance(const IrqHost *host, const IrqPlanBalance *balance) {
        return OBJECT_OF({ "runs", json_boolean(host->irqbalance.pid > 0) },
                         { "sent", json_boolean(balance->sent) },
                         { "banned_cpus", object_list(ID_VIEW(&balance->banned_cpus)) },
                         { "banned_irqs", OBJECT_ARRAY(i, balance->n_banned_irqs,
                                                       json_integer(balance->banned_irqs[i])) });
}

json_t *irq_plan_json(const IrqHost *host, const IrqPlan *plan) {
        return OBJECT_OF({ "devices", OBJECT_ARRAY(i, plan->n_devices, device(&plan->devices[i])) },
                         { "irqbalance", irqbalance(host, &plan->irqbalance) });
}
