/* A plan of interrupts as JSON. */
#include "tidbnumad/publish/irq-plan-json.h"
#include "tidbnumad/publish/object.h"

static json_t *vector(const IrqVector *v, const IrqPlanVector *planned) {
        Object o = object_new();

        object_set(&o, "irq", json_integer(v->irq));
        object_set(&o, "handler", object_string(v->name));
        object_set(&o, "role", object_string(irq_role_to_string(v->role)));
        object_set(&o, "queue", v->queue < 0 ? json_null() : json_integer(v->queue));
        object_set(&o, "now", v->mask_known ? object_list(ID_VIEW(&v->requested)) : json_null());
        object_set(&o, "effective",
                   v->effective_known ? object_list(ID_VIEW(&v->effective)) : json_null());
        object_set(&o, "decision", object_string(irq_decision_to_string(planned->decision)));
        object_set(&o, "cpus",
                   planned->decision == IRQ_STEERED ? object_list(ID_VIEW(&planned->cpus))
                                                    : json_null());
        return object_finish(&o);
}

static json_t *vectors(const IrqPlanDevice *device) {
        json_t *array = json_array();

        for (size_t i = 0; i < device->device->n_vectors && array; i++)
                array = object_append(array,
                                      vector(&device->device->vectors[i], &device->vectors[i]));
        return array;
}

static json_t *masks(const CpuSet *sets, size_t n) {
        json_t *array;

        if (!sets)
                return json_null();
        array = json_array();
        for (size_t i = 0; i < n && array; i++)
                array = object_append(array, object_list(ID_VIEW(&sets[i])));
        return array;
}

static json_t *order(const IrqPlanDevice *device) {
        json_t *array = json_array();

        for (size_t i = 0; i < device->n_order && array; i++)
                array = object_append(array, json_integer(device->order[i]));
        return array;
}

static const char *steer_to_string(IrqSteer steer) {
        static const char *const names[] = {
                [STEER_AUTO] = "auto", [STEER_RESERVED] = "reserved", [STEER_LOCAL] = "local",
                [STEER_AWAY] = "away", [STEER_LEAVE] = "leave",       [STEER_CPUS] = "cpus",
        };

        return names[steer];
}

static void set_device(const IrqDevice *device, Object *o) {
        object_set(o, "name", object_string(device->name));
        object_set(o, "kind", object_string(irq_device_kind_to_string(device->kind)));
        object_set(o, "node", device->node < 0 ? json_null() : json_integer(device->node));
        object_set(o, "pci", object_string(device->pci));
        object_set(o, "driver", object_string(device->driver));
        object_set(o, "master", object_string(device->master));
        object_set(o, "virtual_function_of", object_string(device->physfn));
        object_set(o, "speed_mbps",
                   device->speed_mbps ? object_count(device->speed_mbps) : json_null());
        object_set(o, "link",
                   device->link == IRQ_LINK_UNKNOWN ? json_null()
                                                    : json_boolean(device->link == IRQ_LINK_UP));
        object_set(o, "in_other_netns", json_boolean(device->in_other_netns));
}

static json_t *device(const IrqPlanDevice *d) {
        Object o = object_new();

        set_device(d->device, &o);
        object_set(&o, "policy_file", object_string(d->policy ? d->policy->file : NULL));
        object_set(&o, "policy_line", d->policy ? json_integer(d->policy->line) : json_null());
        object_set(&o, "steer", object_string(steer_to_string(d->steer)));
        object_set(&o, "reason", object_string(irq_reason_to_id(d->reason)));
        object_set(&o, "rule", object_string(irq_reason_to_rule(d->reason)));
        object_set(&o, "why", object_string(irq_reason_to_string(d->reason)));
        object_set(&o, "cpus", order(d));
        object_set(&o, "vectors", vectors(d));
        object_set(&o, "xps", masks(d->xps, d->device->n_tx));
        object_set(&o, "rps", masks(d->rps, d->device->n_rx));
        return object_finish(&o);
}

static json_t *balance(const IrqHost *host, const IrqPlanBalance *balance) {
        json_t *irqs = json_array();
        Object o = object_new();

        for (size_t i = 0; i < balance->n_banned_irqs && irqs; i++)
                irqs = object_append(irqs, json_integer(balance->banned_irqs[i]));
        object_set(&o, "runs", json_boolean(host->irqbalance.pid > 0));
        object_set(&o, "told", json_boolean(balance->sent));
        object_set(&o, "banned_cpus", object_list(ID_VIEW(&balance->banned_cpus)));
        object_set(&o, "banned_irqs", irqs);
        return object_finish(&o);
}

json_t *irq_plan_json(const IrqHost *host, const IrqPlan *plan) {
        json_t *devices = json_array();
        Object o = object_new();

        for (size_t i = 0; i < plan->n_devices && devices; i++)
                devices = object_append(devices, device(&plan->devices[i]));
        object_set(&o, "devices", devices);
        object_set(&o, "irqbalance", balance(host, &plan->irqbalance));
        return object_finish(&o);
}
