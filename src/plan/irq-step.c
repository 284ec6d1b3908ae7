/* What to do next about one setting. */
#include <errno.h>

#include "tidbnumad/plan/irq-step.h"

/* As it was wanted, or as near to that as it could be had. */
static bool is_as_wanted(const IrqProgress *p, const SettingValue *wanted,
                         const SettingValue *stands) {
        return setting_value_equal(stands, wanted) ||
               (p->written && setting_value_equal(&p->wanted, wanted) &&
                setting_value_equal(stands, &p->ours));
}

/* What is wanted has not changed, and stood. */
static bool is_changed_by_others(const IrqProgress *p, const SettingValue *wanted) {
        return p->written && setting_value_equal(&p->wanted, wanted);
}

static IrqStep repair(IrqProgress *p, uint64_t now_usec) {
        if (now_usec >= p->window_usec) {
                p->n_repairs = 0;
                p->window_usec = now_usec + IRQ_REPAIRS_USEC;
        }
        if (p->n_repairs < IRQ_REPAIRS_MAX) {
                p->n_repairs++;
                return IRQ_STEP_REPAIR;
        }
        p->contested = true;
        p->yield_usec = now_usec + IRQ_YIELD_USEC;
        return IRQ_STEP_YIELD;
}

IrqStep irq_step_next(IrqProgress *p, const SettingValue *wanted, const SettingValue *stands,
                      uint64_t now_usec) {
        if (p->refused)
                return IRQ_STEP_NEVER;
        if (stands && is_as_wanted(p, wanted, stands)) {
                p->contested = false;
                p->error = 0;
                p->n_failures = 0;
                return IRQ_STEP_STANDS;
        }
        if (p->contested && now_usec < p->yield_usec)
                return IRQ_STEP_WAIT;
        if (p->contested) { /* another try */
                p->contested = false;
                p->n_repairs = 0;
        }
        if (p->error != 0 && setting_value_equal(&p->wanted, wanted) && now_usec < p->retry_usec)
                return IRQ_STEP_WAIT;
        return stands && is_changed_by_others(p, wanted) ? repair(p, now_usec) : IRQ_STEP_WRITE;
}

void irq_step_done(IrqProgress *p, const SettingValue *wanted, const SettingValue *ours) {
        p->written = true;
        p->wanted = *wanted;
        p->ours = *ours;
        p->error = 0;
        p->n_failures = 0;
}

void irq_step_failed(IrqProgress *p, const SettingValue *wanted, int error, uint64_t now_usec) {
        uint64_t wait = IRQ_RETRY_MIN_USEC << (p->n_failures < 4 ? p->n_failures : 4);

        p->refused = error == -EPERM || error == -EIO;
        p->written = false;
        p->wanted = *wanted;
        p->error = error;
        p->n_failures++;
        p->retry_usec = now_usec + (wait < IRQ_RETRY_MAX_USEC ? wait : IRQ_RETRY_MAX_USEC);
}

void irq_step_forgive(IrqProgress *p) {
        p->n_repairs = 0;
        p->contested = false;
        p->written = false;
        p->error = 0;
}
