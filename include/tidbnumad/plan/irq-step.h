/* What to do next about one setting: write it, put it back, or leave it to somebody else. Pure.
 *
 * A value that stood by our doing and is another one now was changed by somebody else. It is put
 * back, IRQ_REPAIRS_MAX times within IRQ_REPAIRS_USEC; with the next time it is contested, and left
 * as it is for IRQ_YIELD_USEC. What fails is tried again ever more seldom; what the kernel refuses
 * for good (managed vectors) never. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/model/irq-plan.h"
#include "tidbnumad/model/setting.h"

#define IRQ_REPAIRS_MAX 3u
#define IRQ_REPAIRS_USEC (UINT64_C(60) * 1000 * 1000)
#define IRQ_YIELD_USEC (UINT64_C(600) * 1000 * 1000)
#define IRQ_RETRY_MIN_USEC (UINT64_C(5) * 1000 * 1000)
#define IRQ_RETRY_MAX_USEC (UINT64_C(60) * 1000 * 1000)

/* Of one setting, as far as it has come. Zeroed at the begin. */
typedef struct IrqProgress {
        bool refused;        /* by the kernel, for good */
        bool written;        /* `wanted` was, as `ours`, which the kernel showed then */
        SettingValue wanted; /* at the last attempt */
        SettingValue ours;
        unsigned n_repairs; /* until `window_usec` */
        uint64_t window_usec;
        bool contested; /* left to somebody else until `yield_usec` */
        uint64_t yield_usec;
        unsigned n_failures; /* in a row */
        int error;           /* of the last attempt; 0: none */
        uint64_t retry_usec;
} IrqProgress;

typedef enum IrqStep {
        IRQ_STEP_STANDS,
        IRQ_STEP_WRITE,
        IRQ_STEP_REPAIR, /* write it, and count it: somebody else has changed it */
        IRQ_STEP_YIELD,  /* it is contested from now on: say so */
        IRQ_STEP_WAIT,   /* contested, or to be tried again later */
        IRQ_STEP_NEVER,  /* refused */
} IrqStep;

/* `stands` NULL: it cannot be read. Counts repairs, and keeps that it yields. */
IrqStep irq_step_next(IrqProgress *progress, const SettingValue *wanted, const SettingValue *stands,
                      uint64_t now_usec);

/* It was written, and the kernel shows `ours`, which is what was wanted or, where that had no room,
 * a part of it. */
void irq_step_done(IrqProgress *progress, const SettingValue *wanted, const SettingValue *ours);

/* It was not. -EPERM and -EIO are for good. */
void irq_step_failed(IrqProgress *progress, const SettingValue *wanted, int error,
                     uint64_t now_usec);

/* Its driver has made its queues anew: what has changed with that, nobody contests. */
void irq_step_forgive(IrqProgress *progress);

#define IRQ_AGAIN_NEVER UINT64_MAX
#define IRQ_AGAIN_BURST 20u
#define IRQ_AGAIN_PAUSE_USEC (UINT64_C(1000) * 1000)

/* Zeroed at the begin. */
typedef struct IrqAgain {
        bool runs;           /* a series does */
        uint64_t event_usec; /* from when it counts */
        unsigned n_looks;    /* of it, so far */
        uint64_t due_usec;   /* of the next */
        uint64_t spent_usec; /* looks are paid for until then; a burst goes ahead of the clock */
} IrqAgain;

void irq_again_event(IrqAgain *again, uint64_t now_usec);

/* IRQ_AGAIN_NEVER: no series runs. */
uint64_t irq_again_due(const IrqAgain *again);

/* There was a look, for whatever cause: it counts for the series if one was due. */
void irq_again_looked(IrqAgain *again, uint64_t now_usec);

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
