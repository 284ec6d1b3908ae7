/* When there are looks after an event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tidbnumad/plan/irq-again.h"

#define MSEC UINT64_C(1000)
#define SECOND (1000 * MSEC)
#define BEGIN (UINT64_C(5000) * SECOND)

/* Looks as they come due, `late` each: the number of them until the series is over. */
static unsigned run(IrqAgain *a, uint64_t late, uint64_t *ret_last) {
        unsigned n = 0;

        for (; irq_again_due(a) != IRQ_AGAIN_NEVER; n++) {
                assert_true(n < 1000);
                *ret_last = irq_again_due(a) + late;
                irq_again_looked(a, *ret_last);
        }
        return n;
}

static void test_quiet(void **state) {
        IrqAgain a = { 0 };

        (void)state;
        assert_true(irq_again_due(&a) == IRQ_AGAIN_NEVER);
        irq_again_looked(&a, BEGIN);
        assert_true(irq_again_due(&a) == IRQ_AGAIN_NEVER);
}

static void test_series(void **state) {
        static const unsigned msec[] = { 30, 150, 400, 900, 1900 };
        IrqAgain a = { 0 };

        (void)state;
        irq_again_event(&a, BEGIN);
        for (unsigned i = 0; i < 5; i++) {
                assert_int_equal(irq_again_due(&a), BEGIN + msec[i] * MSEC);
                irq_again_looked(&a, BEGIN + msec[i] * MSEC);
        }
        assert_true(irq_again_due(&a) == IRQ_AGAIN_NEVER);
}

/* The slow comparison in between stands for none of them. */
static void test_other_looks(void **state) {
        IrqAgain a = { 0 };

        (void)state;
        irq_again_event(&a, BEGIN);
        irq_again_looked(&a, BEGIN + 29 * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 30 * MSEC);
}

/* On a host as slow as that, one look stands for those that have passed. */
static void test_late(void **state) {
        IrqAgain a = { 0 };
        uint64_t last;

        (void)state;
        irq_again_event(&a, BEGIN);
        irq_again_looked(&a, BEGIN + 500 * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 900 * MSEC);
        assert_int_equal(run(&a, 3 * SECOND, &last), 1);
}

/* Each event begins it anew, and none puts off the look that is near. */
static void test_events_go_on(void **state) {
        IrqAgain a = { 0 };
        uint64_t last;

        (void)state;
        for (unsigned i = 0; i < 30; i++)
                irq_again_event(&a, BEGIN + i * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 30 * MSEC);
        irq_again_looked(&a, BEGIN + 30 * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 59 * MSEC); /* after the last of them */
        irq_again_event(&a, BEGIN + 40 * MSEC);
        assert_int_equal(irq_again_due(&a), BEGIN + 59 * MSEC);
        assert_int_equal(run(&a, 0, &last), 6);
        assert_int_equal(last, BEGIN + 1940 * MSEC);
}

/* The event comes in the pause before the last look: it does not wait for that. */
static void test_sooner(void **state) {
        IrqAgain a = { 0 };

        (void)state;
        irq_again_event(&a, BEGIN);
        irq_again_looked(&a, BEGIN + 950 * MSEC);
        irq_again_event(&a, BEGIN + SECOND);
        assert_int_equal(irq_again_due(&a), BEGIN + 1030 * MSEC);
        irq_again_looked(&a, BEGIN + 1030 * MSEC); /* from there on it is a whole series */
        assert_int_equal(irq_again_due(&a), BEGIN + 1150 * MSEC);
}

/* Events of a host that never comes to rest: a burst, then one look in a second. */
static void test_storm(void **state) {
        uint64_t now = BEGIN, n = 0, last;
        IrqAgain a = { 0 };

        (void)state;
        for (; now < BEGIN + 100 * SECOND; now += 10 * MSEC) {
                irq_again_event(&a, now);
                if (irq_again_due(&a) <= now) {
                        irq_again_looked(&a, now);
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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_quiet),        cmocka_unit_test(test_series),
                cmocka_unit_test(test_other_looks),  cmocka_unit_test(test_late),
                cmocka_unit_test(test_events_go_on), cmocka_unit_test(test_sooner),
                cmocka_unit_test(test_storm),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
