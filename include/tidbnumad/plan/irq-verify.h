/* Does an interrupt fire within its mask? Pure.
 *
 * The kernel accepts a mask at once, but moves most interrupts only when the next one arrives: an
 * interrupt that does not fire cannot be verified. An interrupt that continues to fire on other
 * CPUs although the mask is set does not follow the mask: its controller cannot move it, or its
 * driver resets the mask. */
#pragma once

#include "tidbnumad/model/irq.h"

/* Number of consecutive readings between which the interrupt fired on other CPUs. */
#define IRQ_ASTRAY_MAX 3u

typedef enum IrqCourse {
        IRQ_COURSE_UNKNOWN, /* it did not fire, or the mask is new */
        IRQ_COURSE_FOLLOWS,
        IRQ_COURSE_ASTRAY,
} IrqCourse;

/* Where the interrupt fired between two readings; `vector` is of `now`. */
IrqCourse irq_verify_course(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                            const IrqVector *vector);

/* The state of one vector. Zeroed at the beginning, and with each new mask. */
typedef struct IrqVerify {
        unsigned n_astray; /* consecutive readings */
} IrqVerify;

void irq_verify_note(IrqVerify *verify, IrqCourse course);
bool irq_verify_fails(const IrqVerify *verify);

/* Interrupts of a device that fired on these CPUs between two readings. `device` is of `now`. Only
 * vectors that are in both readings count, see irq_vector_growth(). */
uint64_t irq_landed(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                    const CpuSet *cpus);
