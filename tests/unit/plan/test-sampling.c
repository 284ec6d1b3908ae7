/* The sampling interval in force, sentence by sentence of its header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tidbnumad/plan/sampling.h"

#define SECOND UINT64_C(1000000)
#define PERCENT 10000u

static void test_as_wanted_within_the_budget(void **state) {
        (void)state;
        assert_int_equal(sampling_interval(10 * SECOND, PERCENT, 0), 10 * SECOND);
        assert_int_equal(sampling_interval(10 * SECOND, PERCENT, SECOND / 10), 10 * SECOND);
}

static void test_longer_beyond_it(void **state) {
        (void)state;
        assert_int_equal(sampling_interval(10 * SECOND, PERCENT, SECOND / 10 + 1),
                         10 * SECOND + 100);
        assert_int_equal(sampling_interval(10 * SECOND, PERCENT, SECOND), 100 * SECOND);
        assert_int_equal(sampling_interval(10 * SECOND, 100 * PERCENT, 11 * SECOND), 11 * SECOND);
        assert_int_equal(sampling_interval(1, 300000, 1), 4); /* rounded up */
}

static void test_never_for_ever(void **state) {
        (void)state;
        assert_int_equal(sampling_interval(SECOND, 1, SECOND), SAMPLING_INTERVAL_MAX_USEC);
        assert_int_equal(sampling_interval(SECOND, 0, 10), 10 * SECOND);
        assert_int_equal(sampling_interval(SECOND, PERCENT, UINT64_MAX),
                         SAMPLING_INTERVAL_MAX_USEC);
        assert_int_equal(sampling_interval(7200 * SECOND, PERCENT, UINT64_MAX), 7200 * SECOND);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_as_wanted_within_the_budget),
                cmocka_unit_test(test_longer_beyond_it),
                cmocka_unit_test(test_never_for_ever),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
