/* When interrupts are read again after an event. */

#include "../../support/test.h"

#include "tidbnumad/plan/irq-step.h"

#define MSEC UINT64_C(1000)
#define SECOND (1000 * MSEC)
#define BEGIN (UINT64_C(5000) * SECOND)

/* Looks as they come due, `late` each: the number of them until the series is over. */
static unsigned run(IrqSeries *a, uint64_t late, uint64_t *ret_last) {
        unsigned n = 0;

        for (; irq_series_due(a) != IRQ_SERIES_NEVER; n++) {
                assert_true(n < 1000);
                *ret_last = irq_series_due(a) + late;
                irq_series_reconciled(a, *ret_last);
        }
        return n;
}

TEST(quiet) {
        IrqSeries a = { 0 };

        assert_true(irq_series_due(&a) == IRQ_SERIES_NEVER);
        irq_series_reconciled(&a, BEGIN);
        assert_true(irq_series_due(&a) == IRQ_SERIES_NEVER);
}

TEST(series) {
        static const unsigned msec[] = { 30, 150, 400, 900, 1900 };
        IrqSeries a = { 0 };

        irq_series_event(&a, BEGIN);
        for (unsigned i = 0; i < 5; i++) {
                assert_int_equal(irq_series_due(&a), BEGIN + msec[i] * MSEC);
                irq_series_reconciled(&a, BEGIN + msec[i] * MSEC);
        }
        assert_true(irq_series_due(&a) == IRQ_SERIES_NEVER);
}

/* The slow comparison in between does not replace any of them. */
TEST(other_looks) {
        IrqSeries a = { 0 };

        irq_series_event(&a, BEGIN);
        irq_series_reconciled(&a, BEGIN + 29 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 30 * MSEC);
}

/* On a host as slow as that, one reading replaces those that have passed. */
TEST(late) {
        IrqSeries a = { 0 };
        uint64_t last;

        irq_series_event(&a, BEGIN);
        irq_series_reconciled(&a, BEGIN + 500 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 900 * MSEC);
        assert_int_equal(run(&a, 3 * SECOND, &last), 1);
}

/* Each event restarts the series, and none puts off a reading that is near. */
TEST(events_go_on) {
        IrqSeries a = { 0 };
        uint64_t last;

        for (unsigned i = 0; i < 30; i++)
                irq_series_event(&a, BEGIN + i * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 30 * MSEC);
        irq_series_reconciled(&a, BEGIN + 30 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 59 * MSEC); /* after the last of them */
        irq_series_event(&a, BEGIN + 40 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 59 * MSEC);
        assert_int_equal(run(&a, 0, &last), 6);
        assert_int_equal(last, BEGIN + 1940 * MSEC);
}

/* The event comes in the pause before the last reading: it does not wait for that. */
TEST(sooner) {
        IrqSeries a = { 0 };

        irq_series_event(&a, BEGIN);
        irq_series_reconciled(&a, BEGIN + 950 * MSEC);
        irq_series_event(&a, BEGIN + SECOND);
        assert_int_equal(irq_series_due(&a), BEGIN + 1030 * MSEC);
        irq_series_reconciled(&a, BEGIN + 1030 * MSEC); /* from there on it is a whole series */
        assert_int_equal(irq_series_due(&a), BEGIN + 1150 * MSEC);
}

/* Events of a host that never comes to rest: a burst, then one reading a second. */
TEST(storm) {
        uint64_t now = BEGIN, n = 0, last;
        IrqSeries a = { 0 };

        for (; now < BEGIN + 100 * SECOND; now += 10 * MSEC) {
                irq_series_event(&a, now);
                if (irq_series_due(&a) <= now) {
                        irq_series_reconciled(&a, now);
                        n++;
                }
        }
        assert_in_range(n, 100 + IRQ_SERIES_BURST - 2, 100 + IRQ_SERIES_BURST + 2);
        /* After a rest the burst is there again. */
        (void)run(&a, 0, &last);
        now = last + 1000 * SECOND;
        irq_series_event(&a, now);
        assert_int_equal(irq_series_due(&a), now + 30 * MSEC);
}
