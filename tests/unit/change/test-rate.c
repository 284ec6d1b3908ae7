/* The rate is never exceeded over any stretch of time, and is reached. */

#include "../../support/test.h"

#include "tidbnumad/change/mover.h"

#define MIB(n) ((uint64_t)(n) << 20)

enum { PIECES = 600, PIECE_MAX = 2 << 20 };

typedef struct Run {
        uint64_t bytes_per_sec;
        uint64_t usec[PIECES];
        uint64_t bytes[PIECES];
} Run;

static uint32_t next_number(uint32_t *seed, uint32_t below) {
        *seed = *seed * 1664525u + 1013904223u;
        return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

/* One that always has more to move, wakes up late at times and rests for a while now and then. */
static void run(Run *r, uint32_t seed, bool rests) {
        uint64_t now = 1000000000;
        Rate rate;

        rate_init(&rate, r->bytes_per_sec, now);
        for (unsigned i = 0; i < PIECES; i++) {
                uint64_t wait;

                if (rests && next_number(&seed, 50) == 0)
                        now += next_number(&seed, 20000000);
                while ((wait = rate_wait_usec(&rate, now)) > 0)
                        now += wait + (rests ? next_number(&seed, 500) : 0);
                r->usec[i] = now;
                r->bytes[i] =
                        next_number(&seed, 4) == 0 ? 4096 * next_number(&seed, 512) : PIECE_MAX;
                rate_take(&rate, r->bytes[i]);
                now += next_number(&seed, 300); /* what moving it took */
        }
}

static void assert_within_rate(const Run *r) {
        const double slack = (double)r->bytes_per_sec / 10 + PIECE_MAX;

        for (unsigned i = 0; i < PIECES; i++) {
                double bytes = 0;

                for (unsigned j = i; j < PIECES; j++) {
                        double seconds = (double)(r->usec[j] - r->usec[i]) / 1e6;

                        bytes += (double)r->bytes[j];
                        assert_true(bytes <= (double)r->bytes_per_sec * seconds + slack + 1);
                }
        }
}

static const uint64_t rates[] = { MIB(1), MIB(4), MIB(40), MIB(256), MIB(1) << 14 };

TEST(never_above) {
        Run r;

        for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
                r.bytes_per_sec = rates[i];
                run(&r, i + 1, true);
                assert_within_rate(&r);
                run(&r, i + 100, false);
                assert_within_rate(&r);
        }
}

TEST(is_reached) {
        Run r = { .bytes_per_sec = MIB(40) };
        double bytes = 0, seconds;

        run(&r, 7, false);
        for (unsigned i = 0; i < PIECES; i++)
                bytes += (double)r.bytes[i];
        seconds = (double)(r.usec[PIECES - 1] - r.usec[0]) / 1e6;
        assert_true(bytes > 0.97 * seconds * (double)r.bytes_per_sec);
}

TEST(one_burst_after_a_rest) {
        uint64_t now = 5000000, bytes = 0;
        Rate rate;

        rate_init(&rate, 1000000, now);
        now += UINT64_C(3600) * 1000000;
        while (rate_wait_usec(&rate, now) == 0) {
                rate_take(&rate, 10000);
                bytes += 10000;
        }
        assert_true(bytes >= 100000 && bytes <= 110000); /* a tenth of a second's worth */
}

TEST(nothing_is_saved_at_the_start) {
        Rate rate;

        rate_init(&rate, 1000000, 77);
        assert_int_equal(rate_wait_usec(&rate, 77), 0);
        rate_take(&rate, 50000);
        assert_true(rate_wait_usec(&rate, 77) >= 50000);
}

TEST(the_wait_is_enough_and_no_longer) {
        uint64_t now = 77, wait;
        Rate rate;

        rate_init(&rate, 1000000, now);
        rate_take(&rate, 500000);
        wait = rate_wait_usec(&rate, now);
        assert_true(wait >= 500000 && wait <= 500001);
        assert_true(rate_wait_usec(&rate, now + wait - 10) > 0);
        assert_int_equal(rate_wait_usec(&rate, now + wait), 0);
}

/* A piece of two seconds' worth or more is paid for once, not again and again. */
TEST(large_debt) {
        uint64_t now = 5000000, wait;
        Rate rate;

        rate_init(&rate, 256 << 10, now);
        rate_take(&rate, 2 << 20);
        wait = rate_wait_usec(&rate, now);
        assert_true(wait >= 8000000 && wait <= 8000001);
        assert_int_equal(rate_wait_usec(&rate, now + wait), 0);
}

TEST(absurd_rate) {
        uint64_t now = 5000000;
        Rate rate;

        rate_init(&rate, UINT64_MAX, now);
        rate_take(&rate, UINT64_C(1) << 40);
        assert_true(rate_wait_usec(&rate, now) > 0);
        assert_int_equal(rate_wait_usec(&rate, now + 3600000000), 0);
        assert_true(rate.balance_bytes > 0);
}

/* CLOCK_MONOTONIC of another CPU, or a caller that kept an older time. */
TEST(time_that_goes_back) {
        Rate rate;

        rate_init(&rate, 1000000, 5000000);
        rate_take(&rate, 1000);
        assert_true(rate_wait_usec(&rate, 4000000) >= 1000);
        assert_true(rate_wait_usec(&rate, 4000000) <= 1001);
}

/* What was earned before counts at the old speed, and a debt is paid at the new one. */
TEST(another_speed) {
        Rate rate;

        rate_init(&rate, 1000000, 0);
        rate_take(&rate, 1000000);
        rate_change(&rate, 100000, 500000);
        assert_int_equal(rate.balance_bytes, -500000);
        assert_in_range(rate_wait_usec(&rate, 500000), 5000000, 5000001);
        assert_int_equal(rate_wait_usec(&rate, 5500000), 0);
}
