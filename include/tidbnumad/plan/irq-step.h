/* What to do next about one setting: write it, put it back, or leave it to somebody else. Pure.
 *
 * A value that stood by our doing and is another one now was changed by somebody else. It is put
 * back, IRQ_REPAIRS_MAX times within IRQ_REPAIRS_USEC; with the next time it is contested, and left
 * as it is for IRQ_YIELD_USEC. What fails is tried again ever more seldom; what the kernel refuses
 * for good (managed vectors) never. */
#pragma once

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
