/* When to look at interrupts after an event of a device. Pure.
 *
 * A driver makes queue after queue and sets masks of its own as it goes: the first event comes
 * while it is still at work, and what it does last tells nobody. So there is a look at once and a
 * few more, ever later, counted from the last event; then the slow comparison is enough. A host
 * whose devices never come to rest gets IRQ_AGAIN_BURST looks, and then one in
 * IRQ_AGAIN_PAUSE_USEC. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
