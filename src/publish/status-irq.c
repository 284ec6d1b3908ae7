/* Interrupts, for status.json. */
#include "tidbnumad/publish/status-irq.h"

static json_t *device(const IrqDeviceSnapshot *d) {
        Object o = object_new();

        object_set(&o, "name", object_string(d->name));
        object_set(&o, "kind", object_string(d->kind));
        object_set(&o, "pci", object_string(d->pci));
        object_set(&o, "node", d->node < 0 ? json_null() : json_integer(d->node));
        object_set(&o, "reason_code", object_string(d->reason_id));
        object_set(&o, "reason", object_string(d->reason));
        object_set(&o, "cpus", object_list(ID_VIEW(d->cpus)));
        for (unsigned s = 0; s < N_IRQ_STATES; s++)
                object_set(&o, irq_state_to_string((IrqState)s), object_count(d->vectors[s]));
        return object_finish(&o);
}

static json_t *landed(const IrqLandedSnapshot *l) {
        Object o = object_new();

        object_set(&o, "device", object_string(l->device));
        object_set(&o, "instance", object_string(l->instance));
        object_set(&o, "interrupts", object_count(l->count));
        return object_finish(&o);
}

static json_t *irqbalance(const IrqSnapshot *irq) {
        Object o;

        if (irq->irqbalance_pid == 0)
                return json_null();
        o = object_new();
        object_set(&o, "pid", json_integer(irq->irqbalance_pid));
        object_set(&o, "told", json_boolean(irq->irqbalance_sent));
        object_set(&o, "banned_cpus",
                   irq->irqbalance_sent ? object_list(ID_VIEW(irq->irqbalance_cpus)) : json_null());
        object_set(&o, "banned_interrupts", object_count(irq->n_irqbalance_irqs));
        return object_finish(&o);
}

json_t *status_irq(const IrqSnapshot *irq) {
        json_t *devices = json_array(), *on_instances = json_array();
        Object o = object_new();

        for (size_t i = 0; i < irq->n_devices && devices; i++)
                devices = object_append(devices, device(&irq->devices[i]));
        for (size_t i = 0; i < irq->n_landed && on_instances; i++)
                on_instances = object_append(on_instances, landed(&irq->landed[i]));
        object_set(&o, "devices", devices);
        object_set(&o, "on_instance_cpus", on_instances);
        object_set(&o, "writes", object_count(irq->n_writes));
        object_set(&o, "repairs", object_count(irq->n_repairs));
        object_set(&o, "undo_settings", object_count(irq->undo_settings));
        object_set(&o, "irqbalance", irqbalance(irq));
        return object_finish(&o);
}
