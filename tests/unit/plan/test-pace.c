/* The pace of a migration, sentence by sentence of its header. */
#include "../../support/test.h"

#include <math.h>

#include "tidbnumad/plan/pace.h"

#define RATE UINT64_C(1600)

static void note(Pace *pace, double waiting, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                pace_note(pace, waiting);
}

TEST(the_policys_rate_while_all_is_as_usual) {
        Pace pace;

        pace_init(&pace, 0.3);
        assert_int_equal(pace_rate(&pace, RATE), RATE);
        note(&pace, 0.34, 100); /* within the margin */
        assert_int_equal(pace_rate(&pace, RATE), RATE);
        note(&pace, 0, 100);
        assert_int_equal(pace_rate(&pace, RATE), RATE);
}

TEST(halved_while_it_waits_more) {
        Pace pace;
        double waiting = 1;

        pace_init(&pace, 0);
        for (unsigned i = 1; i <= PACE_SHIFT_MAX; i++) {
                pace_note(&pace, waiting);
                assert_int_equal(pace_rate(&pace, RATE), RATE >> i);
                waiting /= 2; /* each halving helps, and it still is too much */
        }
        pace_note(&pace, waiting);
        pace_note(&pace, waiting / 2 + 0.04);
        assert_int_equal(pace_rate(&pace, RATE), RATE / 16); /* it still ends */
        assert_int_equal(pace_rate(&pace, 3), 1);
}

TEST(doubled_when_it_is_calm) {
        Pace pace;

        pace_init(&pace, 0.1);
        pace_note(&pace, 1);
        pace_note(&pace, 0.5);
        assert_int_equal(pace_rate(&pace, RATE), RATE / 4);
        note(&pace, 0.1, PACE_CALM - 1);
        assert_int_equal(pace_rate(&pace, RATE), RATE / 4);
        pace_note(&pace, 0.1);
        assert_int_equal(pace_rate(&pace, RATE), RATE / 2);
        note(&pace, 0.1, PACE_CALM - 1);
        pace_note(&pace, 0.4); /* not in a row */
        assert_int_equal(pace_rate(&pace, RATE), RATE / 4);
        note(&pace, 0.1, PACE_CALM * 2);
        assert_int_equal(pace_rate(&pace, RATE), RATE);
        note(&pace, 0.1, PACE_CALM * 10);
        assert_int_equal(pace_rate(&pace, RATE), RATE); /* and never more */
}

/* A calm second between them: what comes then is another story. */
TEST(calm_ends_a_vain_row) {
        Pace pace;

        pace_init(&pace, 0);
        note(&pace, 1, 2);
        pace_note(&pace, 0);
        pace_note(&pace, 1);
        assert_int_equal(pace_rate(&pace, RATE), RATE / 8);
}

/* A server that is busy by itself is not left with its memory remote for ever. */
TEST(what_does_not_help_is_not_done) {
        Pace pace;

        pace_init(&pace, 0);
        pace_note(&pace, 0.8);
        assert_int_equal(pace_rate(&pace, RATE), RATE / 2);
        note(&pace, 0.8, PACE_VAIN);
        assert_true(pace_rate(&pace, RATE) < RATE);
        assert_true(fabs(pace.usual - 0.8) < 1e-9);
        note(&pace, 0.8, PACE_CALM * PACE_SHIFT_MAX);
        assert_int_equal(pace_rate(&pace, RATE), RATE);
        pace_note(&pace, 1.2); /* more than that counts again */
        assert_int_equal(pace_rate(&pace, RATE), RATE / 2);
}

/* From any waiting whatever, the rate comes back to the policy's in the end. */
TEST(no_creeping_for_ever) {
        for (unsigned percent = 0; percent <= 200; percent++) {
                Pace pace;

                pace_init(&pace, 0);
                note(&pace, percent / 100.0, 100);
                assert_int_equal(pace_rate(&pace, RATE), RATE);
        }
}

TEST(time_left) {
        assert_true(fabs(pace_left_seconds(1000, 100, 0) - 10) < 1e-9);
        assert_true(fabs(pace_left_seconds(1000, 100, 50) - 20) < 1e-9);
        assert_true(fabs(pace_left_seconds(1000, 100, 200) - 10) < 1e-9);
        assert_true(pace_left_seconds(0, 0, 0) == 0);
}

/* --- The sampling interval in force, sentence by sentence of its header --- */

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
