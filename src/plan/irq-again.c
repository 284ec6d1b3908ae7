/* The looks that follow an event. */
#include <stddef.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/plan/irq-again.h"

#define MSEC UINT64_C(1000)

/* After the last event. The first waits for the events that come with it. */
static const uint64_t LOOKS[] = { 30 * MSEC, 150 * MSEC, 400 * MSEC, 900 * MSEC, 1900 * MSEC };

static uint64_t no_earlier_than_paid(const IrqAgain *a, uint64_t due_usec) {
        const uint64_t credit = IRQ_AGAIN_BURST * IRQ_AGAIN_PAUSE_USEC;
        const uint64_t earliest = a->spent_usec > credit ? a->spent_usec - credit : 0;

        return due_usec > earliest ? due_usec : earliest;
}

void irq_again_event(IrqAgain *a, uint64_t now_usec) {
        uint64_t due = no_earlier_than_paid(a, now_usec + LOOKS[0]);

        /* A look that is near is not put off: events may go on and on. */
        if (!a->runs || due < a->due_usec)
                a->due_usec = due;
        a->runs = true;
        a->event_usec = now_usec;
        a->n_looks = 0;
}

uint64_t irq_again_due(const IrqAgain *a) {
        return a->runs ? a->due_usec : IRQ_AGAIN_NEVER;
}

void irq_again_looked(IrqAgain *a, uint64_t now_usec) {
        if (!a->runs || now_usec < a->due_usec)
                return;
        a->spent_usec =
                (a->spent_usec > now_usec ? a->spent_usec : now_usec) + IRQ_AGAIN_PAUSE_USEC;
        /* One that came late stands for those before it. */
        while (a->n_looks < ELEMENTSOF(LOOKS) && a->event_usec + LOOKS[a->n_looks] <= now_usec)
                a->n_looks++;
        a->runs = a->n_looks < ELEMENTSOF(LOOKS);
        if (a->runs)
                a->due_usec = no_earlier_than_paid(a, a->event_usec + LOOKS[a->n_looks]);
}
