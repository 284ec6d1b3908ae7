/* What to do next about one setting: write it, restore it, or leave it to another writer. Pure.
 *
 * A value that we had set and that is different now was changed by something else. It is
 * restored, IRQ_REPAIRS_MAX times within IRQ_REPAIRS_USEC; with the next time it is conflicting,
 * and left as it is for IRQ_YIELD_USEC. Drift of an instance has no state in common with this: its
 * back-off lasts the rest of the minute of its last repair, and repairs that a daemon-reload has
 * caused are taken back from its count. A failed write is tried again at growing intervals; what
 * the kernel refuses for good (managed vectors) never. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/model/irq.h"
#include "tidbnumad/plan/pace.h"

#define IRQ_REPAIRS_MAX 3u
#define IRQ_REPAIRS_USEC (UINT64_C(60) * 1000 * 1000)
#define IRQ_YIELD_USEC (UINT64_C(600) * 1000 * 1000)
#define IRQ_RETRY_MIN_USEC (UINT64_C(5) * 1000 * 1000)
#define IRQ_RETRY_MAX_USEC (UINT64_C(60) * 1000 * 1000)

/* What a unit was started to set is ours if it shows within this time. */
#define IRQ_LATE_USEC (UINT64_C(60) * 1000 * 1000)

/* The state of one setting. Zeroed at the beginning. */
typedef struct IrqProgress {
        bool refused;        /* by the kernel, for good */
        bool written;        /* `wanted` was, as `ours`, which the kernel showed then */
        SettingValue wanted; /* at the last attempt */
        SettingValue ours;
        unsigned n_repairs; /* until `window_usec` */
        uint64_t window_usec;
        uint64_t yield_usec; /* left to the other writer until then; 0: it is not */
        Retry retry;
        int error;          /* of the last attempt; 0: none */
        uint64_t late_usec; /* until then `late`, which a unit sets, may show; 0: no such write */
        SettingValue late;
} IrqProgress;

typedef enum IrqStep {
        IRQ_STEP_IN_FORCE,
        IRQ_STEP_WRITE,
        IRQ_STEP_REPAIR, /* write it, and count it: something else has changed it */
        IRQ_STEP_YIELD,  /* it is conflicting from now on: log it */
        IRQ_STEP_WAIT,   /* conflicting, or to be tried again later */
        IRQ_STEP_NEVER,  /* refused */
} IrqStep;

/* The next step from the present value `present`; NULL: it cannot be read. `progress` counts the
 * repairs, and records that the interrupt is left to the other program that sets it. */
IrqStep irq_step_next(IrqProgress *progress, const SettingValue *wanted,
                      const SettingValue *present, uint64_t now_usec);

/* Records a successful write: the kernel shows `ours`, which is the desired value or, if that could
 * not be used in full, a part of it. */
void irq_step_done(IrqProgress *progress, const SettingValue *wanted, const SettingValue *ours);

/* Records a failed write. -EPERM and -EIO are final: the write is not tried again. -EINPROGRESS:
 * a unit was started that makes it, and when it shows is not known. */
void irq_step_failed(IrqProgress *progress, const SettingValue *wanted, int error,
                     uint64_t now_usec);

/* The driver has recreated the queues of the device: changes by this are no contention. */
void irq_step_reset_contention(IrqProgress *progress);

#define IRQ_SERIES_NEVER UINT64_MAX
#define IRQ_SERIES_BURST 20u
#define IRQ_SERIES_PAUSE_USEC (UINT64_C(1000) * 1000)

/* A series of reconciles after an event of a device, at growing intervals: drivers write masks some
 * time after the event. Zeroed at the start. */
typedef struct IrqSeries {
        bool runs;           /* a series is in progress */
        uint64_t event_usec; /* start of the series */
        unsigned n_done;     /* reconciles of the series so far */
        uint64_t due_usec;   /* of the next */
        uint64_t spent_usec; /* limits the rate of reconciles: each one adds IRQ_SERIES_PAUSE_USEC;
                              * a burst may run ahead of the clock */
} IrqSeries;

void irq_series_event(IrqSeries *series, uint64_t now_usec);

/* IRQ_SERIES_NEVER: no series is in progress. */
uint64_t irq_series_due(const IrqSeries *series);

/* To be called after every reconcile, whatever its cause: it counts for the series if one was
 * due. */
void irq_series_reconciled(IrqSeries *series, uint64_t now_usec);

typedef struct IrqDesired {
        SettingKey key;            /* borrows from the host */
        const IrqDevice *device;   /* NULL: of the host's own; borrowed, as what follows */
        const IrqVector *vector;   /* of SETTING_VECTOR */
        const IrqPlanDevice *plan; /* beside `device` */
        SettingValue value;        /* wanted */
        bool known;                /* the present value could be read */
        SettingValue present;
} IrqDesired;

typedef struct IrqDesiredList {
        IrqDesired *settings; /* owned */
        size_t n_settings, allocated;
} IrqDesiredList;

void irq_desired_done(IrqDesiredList *desired);
#define _cleanup_irq_desired_ _cleanup_(irq_desired_done)

/* All that the plan wants set: vectors that are steered, each once, then masks of queues.
 * -ENOMEM. */
int irq_desired_build(const IrqPlan *plan, IrqDesiredList *ret);

const IrqDesired *irq_desired_find(const IrqDesiredList *desired, const SettingKey *key);

/* The name of a device in the records of its vectors. */
const char *irq_device_key(const IrqDevice *device);

/* Does the interrupt still belong to the device that a key names? */
bool irq_host_has_vector(const IrqHost *host, const SettingKey *key);

/* Does an interrupt fire within its mask? Pure.
 *
 * The kernel accepts a mask at once, but moves most interrupts only when the next one arrives: an
 * interrupt that does not fire cannot be verified. An interrupt that continues to fire on other
 * CPUs although the mask is set does not follow the mask: its controller cannot move it, or its
 * driver resets the mask. */

/* Number of consecutive readings between which the interrupt fired on other CPUs. */
#define IRQ_MISPLACED_MAX 3u

typedef enum IrqCourse {
        IRQ_COURSE_UNKNOWN, /* it did not fire, or the mask is new */
        IRQ_COURSE_FOLLOWS,
        IRQ_COURSE_MISPLACED,
} IrqCourse;

/* Where the interrupt fired between two readings; `vector` is of `now`. */
IrqCourse irq_verify_course(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                            const IrqVector *vector);

/* The state of one vector. Zeroed at the beginning, and with each new mask. */
typedef struct IrqVerify {
        unsigned n_misplaced; /* consecutive readings */
} IrqVerify;

void irq_verify_note(IrqVerify *verify, IrqCourse course);
bool irq_verify_fails(const IrqVerify *verify);

/* Interrupts of a device that fired on these CPUs between two readings. `device` is of `now`. Only
 * vectors that are in both readings count, see irq_vector_growth(). */
uint64_t irq_delivered(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                       const CpuSet *cpus);
