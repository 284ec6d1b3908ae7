/* An irq plan as a list of single settings, each beside what stands. Pure. */
#pragma once

#include "tidbnumad/model/irq-plan.h"
#include "tidbnumad/model/setting.h"

typedef struct IrqWish {
        SettingKey key;            /* borrows from the host */
        const IrqDevice *device;   /* NULL: of the host's own; borrowed, as what follows */
        const IrqVector *vector;   /* of SETTING_VECTOR */
        const IrqPlanDevice *plan; /* beside `device` */
        SettingValue value;        /* wanted */
        bool known;                /* what stands could be read */
        SettingValue stands;
} IrqWish;

typedef struct IrqWishes {
        IrqWish *wishes; /* owned */
        size_t n_wishes, allocated;
} IrqWishes;

void irq_wishes_done(IrqWishes *wishes);
#define _cleanup_irq_wishes_ _cleanup_(irq_wishes_done)

/* All that the plan wants set: vectors that are steered, each once, then masks of queues.
 * -ENOMEM. */
int irq_wishes_build(const IrqPlan *plan, IrqWishes *ret);

const IrqWish *irq_wishes_find(const IrqWishes *wishes, const SettingKey *key);

/* What the records call a device whose vectors they speak of. */
const char *irq_device_key(const IrqDevice *device);

/* Does the interrupt still belong to the device that a key names? */
bool irq_host_has_vector(const IrqHost *host, const SettingKey *key);
