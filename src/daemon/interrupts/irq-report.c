/* What is reported of interrupts: what each reconcile has decided for a device, and how many
 * interrupts were delivered on CPUs of instances. */
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/plan/irq-step.h"
#include "tidbnumad/sys/clock.h"

/* A driver has initialized its queues within this time. */
#define RESET_USEC (UINT64_C(2000) * 1000)

/* --- interrupts on instances' CPUs --- */

static void delivered_done(IrqDelivered *l) {
        free(l->device);
        free(l->instance);
        *l = (IrqDelivered){ 0 };
}

void irq_report_delivered(Interrupts *irq, const IrqHost *host, const IrqOwner *owners,
                          size_t n_owners) {
        IrqDelivered *list = calloc(host->n_devices * n_owners + 1, sizeof(*list));
        size_t n = 0;

        if (!list)
                return;
        for (size_t d = 0; d < host->n_devices; d++) {
                const IrqDevice *device = &host->devices[d];

                for (size_t o = 0; device->n_vectors > 0 && o < n_owners; o++) {
                        IrqDelivered *l = &list[n];

                        for (size_t i = 0; i < irq->n_delivered && !l->device; i++)
                                if (text_equal(irq->delivered[i].device, device->name) &&
                                    text_equal(irq->delivered[i].instance, owners[o].name))
                                        *l = TAKE_STRUCT(irq->delivered[i]);
                        if (!l->device)
                                *l = (IrqDelivered){ .device = strdup(device->name),
                                                     .instance = strdup(owners[o].name) };
                        if (!l->device || !l->instance) {
                                delivered_done(l);
                                continue;
                        }
                        if (irq->last_known)
                                l->count +=
                                        irq_delivered(&irq->last, host, device, &owners[o].cpus);
                        n++;
                }
        }
        /* What is left are the counters of instances and devices that are gone. */
        for (size_t i = 0; i < irq->n_delivered; i++)
                delivered_done(&irq->delivered[i]);
        free(irq->delivered);
        irq->delivered = list;
        irq->n_delivered = n;
}

/* --- the devices --- */

/* The index of the device at the last reconcile; -1: it was not there. */
static int device_find_before(const Interrupts *irq, const IrqDevice *device) {
        const IrqDevice *before = irq_host_find(&irq->last, device->kind, device->name);

        return before && irq->n_devices > 0 ? (int)(before - irq->last.devices) : -1;
}

/* 0: never since the device was first seen. */
static uint64_t device_last_reset(const Interrupts *irq, const IrqDevice *d, uint64_t now_usec) {
        const int at = device_find_before(irq, d);
        const IrqDevice *before = at < 0 ? NULL : &irq->last.devices[at];

        if (!before)
                return 0;
        return before->n_tx != d->n_tx || before->n_rx != d->n_rx ||
                               before->n_vectors != d->n_vectors || before->link != d->link
                       ? now_usec
                       : irq->devices[at].reset_usec;
}

bool irq_report_was_reset(const Interrupts *irq, const IrqDevice *d, uint64_t now_usec) {
        const uint64_t since = device_last_reset(irq, d, now_usec);

        return since != 0 && now_usec < since + RESET_USEC;
}

static IrqState vector_state(const Interrupts *irq, const IrqPlanDevice *p, size_t index) {
        const IrqVector *v = &p->device->vectors[index];
        const SettingKey key = { SETTING_VECTOR, irq_device_key(p->device), v->irq };
        const IrqPlanVector *planned = &p->vectors[index];
        const IrqSetting *s = irq_setting_find(irq, &key);

        if (planned->decision == IRQ_MANAGED || (s && s->progress.refused))
                return IRQ_STATE_MANAGED;
        if (planned->decision != IRQ_STEERED)
                return IRQ_STATE_LEFT;
        if (s && s->progress.yield_usec != 0)
                return IRQ_STATE_CONTESTED;
        if (s && (s->progress.error != 0 || irq_verify_fails(&s->verify)))
                return IRQ_STATE_FAILED;
        if ((s && s->progress.written) || id_set_equal(&v->requested, &planned->cpus))
                return IRQ_STATE_STEERED;
        return IRQ_STATE_LEFT;
}

void irq_report_devices(Interrupts *irq, const IrqPlan *plan) {
        static const JournalFields fields = { .message_id = JOURNAL_IRQ_STEERED };
        IrqSummary *list = calloc(plan->n_devices + 1, sizeof(*list));

        for (size_t i = 0; list && i < plan->n_devices; i++) {
                const IrqPlanDevice *p = &plan->devices[i];
                const int at = device_find_before(irq, p->device);
                const IrqSummary *before = at < 0 ? NULL : &irq->devices[at];
                IrqSummary *now = &list[i];
                bool is_news;

                now->reason = p->reason;
                now->reset_usec = device_last_reset(irq, p->device, clock_monotonic_usec());
                for (size_t k = 0; p->vectors && k < p->device->n_vectors; k++) {
                        now->vectors[vector_state(irq, p, k)]++;
                        if (p->vectors[k].decision == IRQ_STEERED)
                                id_set_union(&now->cpus, &p->vectors[k].cpus);
                }
                /* A card that was just added has no interface yet: the next reconcile logs it. */
                now->unlogged = !before && now->reason == IRQ_REASON_OTHER_NETNS;
                if (!before || before->unlogged)
                        is_news = now->vectors[IRQ_STATE_STEERED] > 0 ||
                                  now->reason != IRQ_REASON_NO_ENTRY;
                else
                        is_news = before->reason != now->reason ||
                                  !id_set_equal(&before->cpus, &now->cpus) ||
                                  memcmp(before->vectors, now->vectors, sizeof(now->vectors)) != 0;
                if (now->unlogged || !is_news)
                        continue;
                host_queue(irq->host, HOST_WORK_PUBLISH);
                if (now->vectors[IRQ_STATE_STEERED] == 0) {
                        journal_log(&irq->host->journal, LOG_INFO, NULL,
                                    "%s: its interrupts are not changed: %s", p->device->name,
                                    irq_reason_to_string(now->reason));
                        continue;
                }
                journal_log(&irq->host->journal, LOG_INFO, &fields,
                            "%s: %llu interrupts are on CPUs %s: %s (%llu the kernel's own, %llu "
                            "contested, %llu failed)",
                            p->device->name, (unsigned long long)now->vectors[IRQ_STATE_STEERED],
                            id_set_list(&now->cpus), irq_reason_to_string(now->reason),
                            (unsigned long long)now->vectors[IRQ_STATE_MANAGED],
                            (unsigned long long)now->vectors[IRQ_STATE_CONTESTED],
                            (unsigned long long)now->vectors[IRQ_STATE_FAILED]);
        }
        free(irq->devices);
        irq->devices = list;
        irq->n_devices = list ? plan->n_devices : 0;
}

/* --- the snapshot --- */

int irq_report_fill(const Interrupts *irq, IrqInfo *ret) {
        IrqDeviceInfo *devices;
        IrqLandedInfo *landed;

        if (!irq)
                return 0;
        *ret = (IrqInfo){
                .known = irq->last_known,
                .devices = devices = calloc(irq->n_devices + 1, sizeof(*devices)),
                .landed = landed = calloc(irq->n_delivered + 1, sizeof(*landed)),
                .n_writes = irq->n_writes,
                .n_repairs = irq->n_repairs,
                .undo_settings = irq_record(irq)->n_settings,
                .host_releasing = irq_host_is_releasing(irq),
                .irqbalance_pid =
                        irq->balance.id.pid ? irq->balance.id.pid : irq->balance.socketless_pid,
                .irqbalance_sent = irq_record(irq)->irqbalance.known,
                .irqbalance_cpus = irq->balance.setup.banned_cpus,
                .n_irqbalance_irqs =
                        irq_record(irq)->irqbalance.known ? irq->balance.setup.n_banned_irqs : 0,
        };
        if (!devices || !landed)
                return -ENOMEM;
        for (; ret->n_devices < irq->n_devices; ret->n_devices++) {
                const IrqDevice *d = &irq->last.devices[ret->n_devices];
                const IrqSummary *s = &irq->devices[ret->n_devices];
                IrqDeviceInfo *device = &devices[ret->n_devices];

                *device = (IrqDeviceInfo){ .name = d->name,
                                           .kind = device_kind_to_string(d->kind),
                                           .pci = d->pci,
                                           .node = d->node,
                                           .reason_id = irq_reason_to_id(s->reason),
                                           .reason = irq_reason_to_string(s->reason),
                                           .cpus = s->cpus };
                memcpy(device->vectors, s->vectors, sizeof(device->vectors));
        }
        /* The list is of the last reconcile: an instance may have ended or been renamed since. */
        for (size_t i = 0; i < irq->n_delivered; i++)
                if (registry_find_name(irq->registry, irq->delivered[i].instance))
                        landed[ret->n_landed++] = (IrqLandedInfo){ irq->delivered[i].device,
                                                                   irq->delivered[i].instance,
                                                                   irq->delivered[i].count };
        return 0;
}

void irq_report_done(Interrupts *irq) {
        for (size_t i = 0; i < irq->n_delivered; i++)
                delivered_done(&irq->delivered[i]);
        free(irq->delivered);
        free(irq->devices);
        irq->devices = NULL;
        irq->n_devices = irq->n_delivered = 0;
}
