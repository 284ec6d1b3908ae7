/* The estimator by simulation, seeded: intervals hold the truth as often as they promise. */
#include <math.h>

#include "../../support/test.h"

#include "tidbnumad/world/sampling.h"

static uint64_t state64 = 88172645463325252u;

static double uniform(void) {
        state64 ^= state64 << 13;
        state64 ^= state64 >> 7;
        state64 ^= state64 << 17;
        return (double)(state64 >> 11) / 9007199254740992.0;
}

TEST(known_values) {
        Estimate e = estimate_share(1024, 4096, 0, false);

        assert_true(fabs(e.ratio - 0.25) < 1e-12);
        assert_true(fabs(e.random - 0.0135) < 0.0003); /* Wilson's ends: 0.2370 and 0.2635 */
        assert_true(e.unknown == 0);
        e = estimate_share(2048, 4096, 0, false);
        assert_true(fabs(e.random - 0.0153) < 0.0002); /* observe.md: 1.5 points */
        e = estimate_share(0, 4096, 0, false);
        assert_true(e.ratio == 0);
        assert_true(fabs(e.random - 0.000937) < 0.00001); /* z²/(n+z²) */
        e = estimate_share(4096, 4096, 0, false);
        assert_true(fabs(e.random - 0.000937) < 0.00001);
}

TEST(nothing_seen) {
        Estimate e = estimate_share(0, 0, 7, false);

        assert_true(isnan(e.ratio));
        assert_true(isnan(estimate_halfwidth(&e)));
}

TEST(whole) {
        Estimate e = estimate_share(3, 10, 0, true);

        assert_true(fabs(e.ratio - 0.3) < 1e-12);
        assert_true(estimate_halfwidth(&e) == 0);
}

/* A fifth has no known node: all of it may be outside, or none. */
TEST(hidden) {
        Estimate e = estimate_share(20, 80, 20, true);

        assert_true(fabs(e.ratio - 0.25) < 1e-12);
        assert_true(e.random == 0);
        assert_true(e.ratio - estimate_halfwidth(&e) <= 20.0 / 100); /* none */
        assert_true(e.ratio + estimate_halfwidth(&e) >= 40.0 / 100); /* all */
        assert_true(fabs(estimate_halfwidth(&e) - 0.15) < 1e-12);
        e = estimate_share(1, 1, 1000000, false);
        assert_true(estimate_halfwidth(&e) <= 1);
}

/* Draws that all count alike are as many as they are; a few that count for much are few. */
TEST(weighted) {
        const Estimate equal = estimate_share(1024, 4096, 0, false);
        Estimate e = estimate_weighted(1024 * 7.5, 4096 * 7.5, 4096 * 7.5 * 7.5, false);

        assert_true(fabs(e.ratio - 0.25) < 1e-12);
        assert_true(fabs(e.random - equal.random) < 1e-12 && e.unknown == 0);
        e = estimate_weighted(100, 1000 + 100, 1000 + 100 * 100, false); /* 1,000 ones, and 100 */
        assert_true(e.random > 3 * estimate_share(91, 1001, 0, false).random);
        e = estimate_weighted(100, 1100, 11000, true);
        assert_true(estimate_halfwidth(&e) == 0);
        e = estimate_weighted(0, 0, 0, false);
        assert_true(isnan(e.ratio));
        e = estimate_weighted(0.1 + 0.2, 0.3, 0.05, false);
        assert_true(e.ratio <= 1 && estimate_halfwidth(&e) >= 0);
}

enum { MAPPINGS = 200, REPETITIONS = 1000 };

typedef struct Space {
        double pages[MAPPINGS], outside[MAPPINGS]; /* share of each */
        double truth, all;
} Space;

static double outside_of(unsigned shape) {
        switch (shape) {
        case 0:
                return 0;
        case 1:
                return uniform() < 0.25; /* whole mappings */
        case 2:
                return 7.0 / 8; /* even over eight nodes */
        case 3:
                return uniform() < 0.002;
        default:
                return uniform();
        }
}

/* Sizes over six powers of ten, as of arenas beside caches. */
static void make(Space *s, unsigned shape) {
        double outside = 0;

        s->all = 0;
        for (unsigned i = 0; i < MAPPINGS; i++) {
                s->pages[i] = floor(pow(10, 6 * uniform()));
                s->outside[i] = outside_of(shape);
                s->all += s->pages[i];
                outside += s->pages[i] * s->outside[i];
        }
        s->truth = outside / s->all;
}

static bool draw_is_outside(const Space *s) {
        double at = uniform() * s->all;
        unsigned i = 0;

        while (i + 1 < MAPPINGS && at >= s->pages[i])
                at -= s->pages[i++];
        return uniform() < s->outside[i];
}

static unsigned count_held(const Space *s, unsigned n, double factor) {
        unsigned held = 0;

        for (unsigned k = 0; k < REPETITIONS; k++) {
                uint64_t outside = 0;
                Estimate e;

                for (unsigned i = 0; i < n; i++)
                        outside += draw_is_outside(s);
                e = estimate_share(outside, n, 0, false);
                held += fabs(e.ratio - s->truth) <= factor * estimate_halfwidth(&e) + 1e-12;
        }
        return held;
}

TEST(intervals_hold_the_truth) {
        static const unsigned sizes[] = { 64, 256 };
        static Space space;

        for (unsigned shape = 0; shape < 5; shape++)
                for (unsigned k = 0; k < 2; k++) {
                        make(&space, shape);
                        assert_true(count_held(&space, sizes[k], 1) >= REPETITIONS * 93 / 100);
                }
        /* And are not far wider than they must be. */
        make(&space, 4);
        assert_true(count_held(&space, 256, 1) <= REPETITIONS * 99 / 100);
        assert_true(count_held(&space, 256, 0.5) <= REPETITIONS * 80 / 100);
}

TEST(processes_together) {
        const Estimate parts[] = { { .ratio = 1, .random = 0.03, .unknown = 0.1 },
                                   { .ratio = NAN },
                                   { .ratio = 0, .random = 0.04, .unknown = 0.2 } };
        const double weights[] = { 100, 1000, 100 }, none[] = { 0, 5, 0 };
        Estimate e = estimate_combine(parts, weights, 3);

        assert_true(fabs(e.ratio - 0.5) < 1e-12);
        assert_true(fabs(e.random - 0.025) < 1e-12);
        assert_true(fabs(e.unknown - 0.15) < 1e-12);
        e = estimate_combine(parts, none, 3);
        assert_true(isnan(e.ratio));
        e = estimate_combine(parts, weights, 0);
        assert_true(isnan(e.ratio));
}
