/* The sampling interval in force, sentence by sentence of its header. */

#include <math.h>

#include "../../support/test.h"

#include "tidbnumad/plan/pace.h"

#define SECOND UINT64_C(1000000)
#define PERCENT 10000u

TEST(as_wanted_within_the_budget) {
        assert_int_equal(sampling_interval(10 * SECOND, PERCENT, 0), 10 * SECOND);
        assert_int_equal(sampling_interval(10 * SECOND, PERCENT, SECOND / 10), 10 * SECOND);
}

TEST(longer_beyond_it) {
        assert_int_equal(sampling_interval(10 * SECOND, PERCENT, SECOND / 10 + 1),
                         10 * SECOND + 100);
        assert_int_equal(sampling_interval(10 * SECOND, PERCENT, SECOND), 100 * SECOND);
        assert_int_equal(sampling_interval(10 * SECOND, 100 * PERCENT, 11 * SECOND), 11 * SECOND);
        assert_int_equal(sampling_interval(1, 300000, 1), 4); /* rounded up */
}

TEST(never_for_ever) {
        assert_int_equal(sampling_interval(SECOND, 1, SECOND), SAMPLING_INTERVAL_MAX_USEC);
        assert_int_equal(sampling_interval(SECOND, 0, 10), 10 * SECOND);
        assert_int_equal(sampling_interval(SECOND, PERCENT, UINT64_MAX),
                         SAMPLING_INTERVAL_MAX_USEC);
        assert_int_equal(sampling_interval(7200 * SECOND, PERCENT, UINT64_MAX), 7200 * SECOND);
}

TEST(what_rests_is_drawn_less_often) {
        assert_int_equal(sampling_pause(0, 30 * SECOND), 30 * SECOND);
        assert_int_equal(sampling_pause(SAMPLING_STEADY_DRAWS - 1, 30 * SECOND), 30 * SECOND);
        assert_int_equal(sampling_pause(SAMPLING_STEADY_DRAWS, 30 * SECOND), 60 * SECOND);
        assert_int_equal(sampling_pause(SAMPLING_STEADY_DRAWS + 2, 30 * SECOND), 240 * SECOND);
        assert_int_equal(sampling_pause(SAMPLING_STEADY_DRAWS + 4, 30 * SECOND),
                         SAMPLING_PAUSE_MAX_USEC);
        assert_int_equal(sampling_pause(UINT32_MAX, 30 * SECOND), SAMPLING_PAUSE_MAX_USEC);
        assert_int_equal(sampling_pause(UINT32_MAX, 7200 * SECOND), 7200 * SECOND);
        assert_int_equal(sampling_pause(UINT32_MAX, 0), 0); /* --once */
}

TEST(moved_beyond_what_two_draws_differ_by) {
        assert_false(sampling_has_moved(0.10, 0.015, 0.125, 0.015));
        assert_true(sampling_has_moved(0.10, 0.015, 0.135, 0.015));
        assert_true(sampling_has_moved(0.135, 0.015, 0.10, 0.015));
        assert_false(sampling_has_moved(0, 0, 0, 0));
        assert_true(sampling_has_moved((double)NAN, 0, 0, 0));
        assert_true(sampling_has_moved(0, 0, (double)NAN, 0));
}
