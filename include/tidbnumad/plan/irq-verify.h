/* Does an interrupt fire within its mask? Pure.
 *
 * The kernel takes a mask at once, and moves most interrupts only as the next one arrives: an
 * interrupt that does not fire cannot be judged. One that continues to fire elsewhere although
 * the mask is set does not follow: its controller cannot, or its driver undoes it (irq.md). */
#pragma once

#include "tidbnumad/model/irq.h"

/* So many looks in a row between which it fired elsewhere. */
#define IRQ_ASTRAY_LOOKS 3u

typedef enum IrqCourse {
        IRQ_COURSE_UNKNOWN, /* it did not fire, or the mask is new */
        IRQ_COURSE_FOLLOWS,
        IRQ_COURSE_ASTRAY,
} IrqCourse;

/* From one look to the next; `vector` is of `now`. */
IrqCourse irq_verify_course(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                            const IrqVector *vector);

/* The state of one vector. Zeroed at the beginning, and with each new mask. */
typedef struct IrqVerify {
        unsigned n_astray; /* looks in a row */
} IrqVerify;

void irq_verify_note(IrqVerify *verify, IrqCourse course);
bool irq_verify_fails(const IrqVerify *verify);

/* Interrupts of a device that fired on these CPUs between two looks. `device` is of `now`. Vectors
 * that are in both count, as irq_vector_growth() has it. */
uint64_t irq_landed(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                    const CpuSet *cpus);
