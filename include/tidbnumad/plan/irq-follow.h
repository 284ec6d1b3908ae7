/* Does an interrupt fire where its mask says? Pure.
 *
 * The kernel takes a mask at once, and moves most interrupts only as the next one arrives: of one
 * that does not fire, nothing can be said. One that goes on firing elsewhere although the mask
 * stands does not follow: its controller cannot, or its driver undoes it (irq.md). */
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
IrqCourse irq_follow_course(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                            const IrqVector *vector);

/* Of one vector, as far as it has come. Zeroed at the begin, and with each new mask. */
typedef struct IrqFollow {
        unsigned n_astray; /* looks in a row */
} IrqFollow;

void irq_follow_note(IrqFollow *follow, IrqCourse course);
bool irq_follow_fails(const IrqFollow *follow);

/* Interrupts of a device that fired on these CPUs between two looks. `device` is of `now`. Vectors
 * that are in both count, as irq_vector_growth() has it. */
uint64_t irq_landed(const IrqHost *before, const IrqHost *now, const IrqDevice *device,
                    const CpuSet *cpus);
