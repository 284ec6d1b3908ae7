/* Interrupts as single settings: what is to be set, and what to do next about each. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/plan/irq-step.h"

IrqStep irq_step_next(IrqProgress *p, const SettingValue *wanted, const SettingValue *present,
                      uint64_t now_usec) {
        if (p->refused)
                return IRQ_STEP_NEVER;
        /* As it was wanted, or as near to that as it could be had. */
        if (present && (setting_value_equal(present, wanted) ||
                        (p->written && setting_value_equal(&p->wanted, wanted) &&
                         setting_value_equal(present, &p->ours)))) {
                p->yield_usec = 0;
                p->error = 0;
                p->retry.failures = 0;
                return IRQ_STEP_IN_FORCE;
        }
        if (now_usec < p->yield_usec)
                return IRQ_STEP_WAIT;
        if (p->yield_usec != 0) { /* another try */
                p->yield_usec = 0;
                p->n_repairs = 0;
        }
        if (p->error != 0 && setting_value_equal(&p->wanted, wanted) &&
            now_usec < p->retry.due_usec)
                return IRQ_STEP_WAIT;
        /* An earlier write of our own that took effect after this one. */
        if (present && now_usec < p->late_usec && setting_value_equal(&p->late, present)) {
                p->late_usec = 0;
                return IRQ_STEP_WRITE;
        }
        /* The desired value was in force: something else has changed it. */
        if (present && p->written && setting_value_equal(&p->wanted, wanted)) {
                if (now_usec >= p->window_usec) {
                        p->n_repairs = 0;
                        p->window_usec = now_usec + IRQ_REPAIRS_USEC;
                }
                if (p->n_repairs < IRQ_REPAIRS_MAX) {
                        p->n_repairs++;
                        return IRQ_STEP_REPAIR;
                }
                p->yield_usec = now_usec + IRQ_YIELD_USEC;
                return IRQ_STEP_YIELD;
        }
        return IRQ_STEP_WRITE;
}

void irq_step_done(IrqProgress *p, const SettingValue *wanted, const SettingValue *ours) {
        p->written = true;
        p->wanted = *wanted;
        p->ours = *ours;
        p->error = 0;
        p->retry.failures = 0;
}

void irq_step_failed(IrqProgress *p, const SettingValue *wanted, int error, uint64_t now_usec) {
        if (error == -EINPROGRESS) {
                p->late = *wanted;
                p->late_usec = now_usec + IRQ_LATE_USEC;
        }
        p->refused = error == -EPERM || error == -EIO;
        p->written = false;
        p->wanted = *wanted;
        p->error = error;
        retry_failed(&p->retry, IRQ_RETRY_MIN_USEC, IRQ_RETRY_MAX_USEC, now_usec);
}

void irq_step_reset_contention(IrqProgress *p) {
        p->n_repairs = 0;
        p->yield_usec = 0;
        p->written = false;
        p->error = 0;
}

/* --- the series of reconciles after an event --- */

#define MSEC UINT64_C(1000)

/* Delays after the last event. The first delay collects the events that arrive together. */
static const uint64_t DELAYS_USEC[] = { 30 * MSEC, 150 * MSEC, 400 * MSEC, 900 * MSEC,
                                        1900 * MSEC };

static uint64_t no_earlier_than_paid(const IrqSeries *a, uint64_t due_usec) {
        const uint64_t credit = IRQ_SERIES_BURST * IRQ_SERIES_PAUSE_USEC;
        const uint64_t earliest = a->spent_usec > credit ? a->spent_usec - credit : 0;

        return due_usec > earliest ? due_usec : earliest;
}

void irq_series_event(IrqSeries *a, uint64_t now_usec) {
        uint64_t due = no_earlier_than_paid(a, now_usec + DELAYS_USEC[0]);

        /* A reconcile that is due soon is not put off: events may arrive without a pause. */
        if (!a->runs || due < a->due_usec)
                a->due_usec = due;
        a->runs = true;
        a->event_usec = now_usec;
        a->n_done = 0;
}

uint64_t irq_series_due(const IrqSeries *a) {
        return a->runs ? a->due_usec : IRQ_SERIES_NEVER;
}

void irq_series_reconciled(IrqSeries *a, uint64_t now_usec) {
        if (!a->runs || now_usec < a->due_usec)
                return;
        a->spent_usec =
                (a->spent_usec > now_usec ? a->spent_usec : now_usec) + IRQ_SERIES_PAUSE_USEC;
        /* A late reconcile replaces the earlier ones of the series. */
        while (a->n_done < ELEMENTSOF(DELAYS_USEC) &&
               a->event_usec + DELAYS_USEC[a->n_done] <= now_usec)
                a->n_done++;
        a->runs = a->n_done < ELEMENTSOF(DELAYS_USEC);
        if (a->runs)
                a->due_usec = no_earlier_than_paid(a, a->event_usec + DELAYS_USEC[a->n_done]);
}

/* --- what is to be set --- */

void irq_desired_done(IrqDesiredList *desired) {
        free(desired->settings);
        *desired = (IrqDesiredList){ 0 };
}

const char *irq_device_key(const IrqDevice *device) {
        return device->pci ? device->pci : device->name;
}

const IrqDesired *irq_desired_find(const IrqDesiredList *desired, const SettingKey *key) {
        for (size_t i = 0; i < desired->n_settings; i++)
                if (setting_key_equal(&desired->settings[i].key, key))
                        return &desired->settings[i];
        return NULL;
}

static int irq_desired_add(IrqDesiredList *list, const IrqDesired *setting) {
        if (ARRAY_RESERVE(list->settings, list->allocated, list->n_settings + 1) < 0)
                return -ENOMEM;
        list->settings[list->n_settings++] = *setting;
        return 0;
}

static int irq_desired_add_queues(IrqDesiredList *list, const IrqPlanDevice *p, SettingKind kind,
                                  const CpuSet *wanted, const IrqQueue *queues, size_t n) {
        for (size_t i = 0; wanted && i < n; i++) {
                const IrqDesired setting = { .key = { kind, p->device->name, (uint32_t)i,
                                                      p->device->ifindex },
                                             .device = p->device,
                                             .plan = p,
                                             .value.cpus = wanted[i],
                                             .known = true,
                                             .present.cpus = queues[i].cpus };

                /* A card with one queue has none of these files. */
                if (queues[i].mask_known && p->device->ifindex > 0 &&
                    irq_desired_add(list, &setting) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int irq_desired_build(const IrqPlan *plan, IrqDesiredList *ret) {
        _cleanup_irq_desired_ IrqDesiredList list = { 0 };

        for (size_t i = 0; i < plan->n_devices; i++) {
                const IrqPlanDevice *p = &plan->devices[i];
                const IrqDevice *d = p->device;

                for (size_t k = 0; p->vectors && k < d->n_vectors; k++) {
                        const IrqVector *v = &d->vectors[k];
                        const IrqDesired setting = {
                                .key = { SETTING_VECTOR, irq_device_key(d), v->irq },
                                .device = d,
                                .vector = v,
                                .plan = p,
                                .value.cpus = p->vectors[k].cpus,
                                .known = v->mask_known,
                                .present.cpus = v->requested,
                        };
                        bool there = false;

                        /* Two cards of one PCI function show the same vectors. */
                        for (size_t j = 0; j < list.n_settings; j++)
                                there |= list.settings[j].key.kind == SETTING_VECTOR &&
                                         list.settings[j].key.number == v->irq;
                        if (p->vectors[k].decision == IRQ_STEERED && !there &&
                            irq_desired_add(&list, &setting) < 0)
                                return -ENOMEM;
                }
        }
        for (size_t i = 0; i < plan->n_devices; i++) {
                const IrqPlanDevice *p = &plan->devices[i];
                const IrqDevice *d = p->device;

                if (irq_desired_add_queues(&list, p, SETTING_XPS, p->xps, d->tx, d->n_tx) < 0 ||
                    irq_desired_add_queues(&list, p, SETTING_RPS, p->rps, d->rx, d->n_rx) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_STRUCT(list);
        return 0;
}

bool irq_host_has_vector(const IrqHost *host, const SettingKey *key) {
        for (size_t i = 0; i < host->n_devices; i++) {
                const IrqDevice *d = &host->devices[i];

                if (strcmp(irq_device_key(d), key->device) == 0 &&
                    irq_device_vector(d, key->number))
                        return true;
        }
        return false;
}

IrqCourse irq_verify_course(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                            const IrqVector *vector) {
        const IrqDevice *same = irq_host_find(before, device->kind, device->name);
        const IrqVector *old = same ? irq_device_vector(same, vector->irq) : NULL;
        /* Some kernels show no effective mask, or an empty one. */
        const bool has_effective = vector->effective_known && !id_set_is_empty(&vector->effective);
        CpuSet rest = { 0 };

        if (!old || !old->mask_known || !vector->mask_known ||
            !id_set_equal(&old->requested, &vector->requested))
                return IRQ_COURSE_UNKNOWN;
        /* By the effective mask: an interrupt that fired on another CPU since then may be the last
         * one before the kernel moved it. */
        if (has_effective ? id_set_is_subset(&vector->effective, &vector->requested)
                          : irq_vector_growth(before, old, now, vector, &vector->requested) > 0)
                return IRQ_COURSE_FOLLOWS;
        for (size_t i = 0; i < now->n_cpus; i++)
                if (!id_set_has(&vector->requested, now->cpus[i]))
                        id_set_add(&rest, now->cpus[i]);
        return irq_vector_growth(before, old, now, vector, &rest) > 0 ? IRQ_COURSE_MISPLACED
                                                                      : IRQ_COURSE_UNKNOWN;
}

void irq_verify_note(IrqVerify *f, IrqCourse course) {
        if (course == IRQ_COURSE_FOLLOWS)
                f->n_misplaced = 0;
        else if (course == IRQ_COURSE_MISPLACED && f->n_misplaced < IRQ_MISPLACED_MAX)
                f->n_misplaced++;
}

bool irq_verify_fails(const IrqVerify *f) {
        return f->n_misplaced >= IRQ_MISPLACED_MAX;
}

uint64_t irq_delivered(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                       const CpuSet *cpus) {
        const IrqDevice *old = irq_host_find(before, device->kind, device->name);
        uint64_t sum = 0;

        for (size_t i = 0; old && i < device->n_vectors; i++) {
                const IrqVector *v = &device->vectors[i], *o = irq_device_vector(old, v->irq);

                if (o)
                        sum += irq_vector_growth(before, o, now, v, cpus);
        }
        return sum;
}
