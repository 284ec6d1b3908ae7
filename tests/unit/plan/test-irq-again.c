/* When interrupts are read again after an event. */

#include "../../support/test.h"

#include "tidbnumad/plan/irq-step.h"

#define MSEC UINT64_C(1000)
#define SECOND (1000 * MSEC)
#define BEGIN (UINT64_C(5000) * SECOND)

/* Looks as they come due, `late` each: the number of them until the series is over. */
static unsigned run(IrqAgain *a, uint64_t late, uint64_t *ret_last) {
        unsigned n = 0;

        for (; irq_again_due(a) != IRQ_AGAIN_NEVER; n++) {
                assert_true(n < 1000);
                *ret_last = irq_again_due(a) + late;
                irq_again_reconciled(a, *ret_last);
        }
        return n;
}

TEST(quiet) {
        IrqAgain a = { 0 };

        assert_true(irq_again_due(&a) == IRQ_AGAIN_NEVER);
        irq_again_reconciled(&a, BEGIN);
        assert_true(irq_again_due(&a) == IRQ_AGAIN_NEVER);
}

TEST(series) {
        static const unsigned msec[] = { 30, 150, 400, 900, 1900 };
        IrqAgain a = { 0 };

        irq_again_event(&a, BEGIN);
        for (unsigned i = 0; i < 5; i++) {
                assert_int_equal(irq_again_due(&a), BEGIN + msec[i] * MSEC);
                irq_again_reconciled(&a, BEGIN + msec[i] * MSEC);
        }
        assert_true(irq_again_due(&a) == IRQ_AGAIN_NEVER);
}

/* The slow comparison in between does not replace any of them. */
TEST(other_looks) {
        IrqAgain a = { 0 };

        irq_again_event(&a, BEGIN);
        irq_again_reconciled(&a, BEGIN + 29 * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 30 * MSEC);
}

/* On a host as slow as that, one reading replaces those that have passed. */
TEST(late) {
        IrqAgain a = { 0 };
        uint64_t last;

        irq_again_event(&a, BEGIN);
        irq_again_reconciled(&a, BEGIN + 500 * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 900 * MSEC);
        assert_int_equal(run(&a, 3 * SECOND, &last), 1);
}

/* Each event restarts the series, and none puts off a reading that is near. */
TEST(events_go_on) {
        IrqAgain a = { 0 };
        uint64_t last;

        for (unsigned i = 0; i < 30; i++)
                irq_again_event(&a, BEGIN + i * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 30 * MSEC);
        irq_again_reconciled(&a, BEGIN + 30 * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 59 * MSEC); /* after the last of them */
        irq_again_event(&a, BEGIN + 40 * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 59 * MSEC);
        assert_int_equal(run(&a, 0, &last), 6);
        assert_int_equal(last, BEGIN + 1940 * MSEC);
}

/* The event comes in the pause before the last reading: it does not wait for that. */
TEST(sooner) {
        IrqAgain a = { 0 };

        irq_again_event(&a, BEGIN);
        irq_again_reconciled(&a, BEGIN + 950 * MSEC);
        irq_again_event(&a, BEGIN + SECOND);
        assert_int_equal(irq_again_due(&a), BEGIN + 1030 * MSEC);
        irq_again_reconciled(&a, BEGIN + 1030 * MSEC); /* from there on it is a whole series */
        assert_int_equal(irq_again_due(&a), BEGIN + 1150 * MSEC);
}

/* Events of a host that never comes to rest: a burst, then one reading a second. */
TEST(storm) {
        uint64_t now = BEGIN, n = 0, last;
        IrqAgain a = { 0 };

        for (; now < BEGIN + 100 * SECOND; now += 10 * MSEC) {
                irq_again_event(&a, now);
                if (irq_again_due(&a) <= now) {
                        irq_again_reconciled(&a, now);
                        n++;
                }
        }
        assert_in_range(n, 100 + IRQ_AGAIN_BURST - 2, 100 + IRQ_AGAIN_BURST + 2);
        /* After a rest the burst is there again. */
        (void)run(&a, 0, &last);
        now = last + 1000 * SECOND;
        irq_again_event(&a, now);
        assert_int_equal(irq_again_due(&a), now + 30 * MSEC);
}
