/* Does the verdict of a trial keep its word? Trials are played in which it is known what differs.
 */
#include <math.h>

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/plan/trial.h"

typedef struct Played {
        double noise;       /* standard deviation of a sample, of its mean */
        double persistence; /* of the deviation, from one sample to the next: 0..1 */
        double change;      /* of CPU time a query, by binding */
        double p99_change;
        double rate_change;
        size_t n; /* samples of a half */
} Played;

/* Two uniform numbers become a normal one (Box and Muller). */
static double draw_normal(unsigned short state[3]) {
        return sqrt(-2 * log(1 - erand48(state))) * cos(2 * M_PI * erand48(state));
}

static void play(const Played *p, unsigned short state[3], const char *name, TrialInstance *ret) {
        const struct {
                TrialMeasure measure;
                double mean, change;
        } rows[] = { { TRIAL_CPU_PER_QUERY, 0.0004, p->change },
                     { TRIAL_P99, 0.02, p->p99_change },
                     { TRIAL_RATE, 3000, p->rate_change } };

        *ret = (TrialInstance){ .name = name };
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (TrialHalf half = 0; half < N_TRIAL_HALVES; half++) {
                        TrialSeries *s = &ret->series[rows[i].measure];
                        double deviation = draw_normal(state);

                        s->n[half] = p->n;
                        for (size_t k = 0; k < p->n; k++) {
                                deviation = p->persistence * deviation +
                                            sqrt(1 - p->persistence * p->persistence) *
                                                    draw_normal(state);
                                s->values[half][k] = rows[i].mean *
                                                     (half ? 1 + rows[i].change : 1) *
                                                     (1 + p->noise * deviation);
                        }
                }
}

/* How many of so many trials, of so many instances each, end with the verdict. */
static unsigned count(const Played *p, unsigned n_trials, size_t n_instances,
                      TrialVerdict verdict) {
        TrialInstance *instances = calloc(n_instances, sizeof(*instances));
        unsigned short state[3] = { 1, 2, 3 };
        unsigned n = 0;

        assert_non_null(instances);
        for (unsigned t = 0; t < n_trials; t++) {
                _cleanup_(text_done) Text sentence = { 0 };
                TrialJudgement j;

                for (size_t i = 0; i < n_instances; i++)
                        play(p, state, "tikv-20160", &instances[i]);
                assert_int_equal(trial_judge(instances, n_instances, t, &j), 0);
                sentence = j.sentence;
                n += j.verdict == verdict;
        }
        free(instances);
        return n;
}

/* The trials that a row plays: each resamples its medians a thousand times. */
static unsigned n_trials(void) {
        return getenv("TIDBNUMAD_LONG") ? 1000 : 60;
}

/* A claim in a twentieth of them is what the verdict allows; in as few as the ordinary run plays,
 * three more are chance (two standard deviations). */
static unsigned claims_allowed(unsigned all) {
        return all / 20 + (all < 1000 ? 3 : 0);
}

TEST(nothing_planted_is_claimed_in_a_twentieth_at_most) {
        static const Played rows[] = {
                { .noise = 0.05, .n = 30 },
                { .noise = 0.2, .n = 30 },
                { .noise = 0.05, .n = 12 },
                { .noise = 0.1, .n = 90 },
        };
        const unsigned all = n_trials();

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const unsigned n = all - count(&rows[i], all, 1, TRIAL_NO_DIFFERENCE);

                print_message("row %zu: %u of %u claim a difference\n", i, n, all);
                assert_true(n <= claims_allowed(all));
        }
}

/* Sixteen measures: without wider intervals every second trial would claim something. */
TEST(many_instances_do_not_claim_more) {
        const Played played = { .noise = 0.05, .n = 30 };
        const unsigned all = n_trials(), n = all - count(&played, all, 8, TRIAL_NO_DIFFERENCE);

        print_message("%u of %u claim a difference\n", n, all);
        assert_true(n <= claims_allowed(all));
}

TEST(a_tenth_in_noise_of_a_twentieth_is_found) {
        static const struct {
                Played played;
                TrialVerdict verdict;
        } rows[] = {
                { { .noise = 0.05, .n = 30, .change = -0.1 }, TRIAL_BETTER },
                { { .noise = 0.05, .n = 30, .change = 0.1 }, TRIAL_WORSE },
                { { .noise = 0.05, .n = 30, .p99_change = -0.1 }, TRIAL_BETTER },
                { { .noise = 0.05, .n = 30, .change = -0.1, .p99_change = 0.1 }, TRIAL_WORSE },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const unsigned all = n_trials(),
                               n = count(&rows[i].played, all, 1, rows[i].verdict);

                print_message("row %zu: %u of %u\n", i, n, all);
                assert_true(n * 20 >= all * 19);
        }
}

/* Neighbours that are alike are what the blocks are for: with an ordinary bootstrap, or blocks of
 * one sample, a third of these trials claims a difference. */
TEST(bursts_are_no_independent_facts) {
        const Played played = { .noise = 0.05, .n = 90, .persistence = 0.5 };
        const unsigned all = n_trials(), n = all - count(&played, all, 1, TRIAL_NO_DIFFERENCE);

        print_message("%u of %u claim a difference\n", n, all);
        assert_true(n * 8 <= all);
}

static TrialJudgement judge_one(const Played *p, TrialInstance *ret) {
        unsigned short state[3] = { 7, 8, 9 };
        TrialJudgement j;

        play(p, state, "tidb-4000", ret);
        assert_int_equal(trial_judge(ret, 1, 5, &j), 0);
        return j;
}

TEST(a_changed_load_leaves_cpu_time_a_query) {
        const Played played = { .noise = 0.02, .n = 30, .rate_change = 0.5, .p99_change = 0.8 };
        TrialInstance *instance = calloc(1, sizeof(*instance));
        TrialJudgement j = judge_one(&played, instance);

        assert_true(instance->load_changed);
        assert_int_equal(j.verdict, TRIAL_NO_DIFFERENCE);
        assert_int_equal(j.n_headline, 1);
        assert_non_null(strstr(j.sentence.data, "the load of 1 instance changed"));
        text_done(&j.sentence);
        free(instance);
}

TEST(the_same_samples_give_the_same_interval) {
        const Played played = { .noise = 0.05, .n = 30, .change = -0.08 };
        TrialInstance *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
        TrialJudgement first = judge_one(&played, a), second = judge_one(&played, b);

        assert_memory_equal(&a->differences[0], &b->differences[0], sizeof(a->differences[0]));
        assert_string_equal(first.sentence.data, second.sentence.data);
        assert_int_equal(first.verdict, TRIAL_BETTER);
        assert_true(a->differences[0].low < -0.08 && a->differences[0].high > -0.08);
        text_done(&first.sentence);
        text_done(&second.sentence);
        free(a);
        free(b);
}

/* Medians, and what is missing or cannot be compared. */
TEST(samples) {
        static const struct {
                size_t n;
                double before, after; /* of each sample but one, which is far off */
                bool relative, known, shown;
                double change;
        } rows[] = {
                { 20, 4, 5, true, true, true, 0.25 },
                { 20, 4, 4.02, true, true, false, 0.005 }, /* below TRIAL_CHANGE_MIN */
                { 20, 0.3, 0.1, false, true, true, -0.2 },
                { 20, 0, 0, false, true, false, 0 },
                { 20, 0, 1, true, false, false, NAN }, /* of nothing there is no percentage */
                { 11, 4, 5, true, false, false, NAN },
                { 0, 4, 5, true, false, false, NAN },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                TrialSeries *s = calloc(1, sizeof(*s));
                TrialDifference d;

                print_message("row %zu\n", i);
                for (TrialHalf half = 0; half < N_TRIAL_HALVES; half++) {
                        s->n[half] = rows[i].n > 0 ? rows[i].n + 2 : 0;
                        for (size_t k = 0; k < rows[i].n; k++)
                                s->values[half][k] = half ? rows[i].after : rows[i].before;
                        if (rows[i].n > 0) {
                                s->values[half][rows[i].n - 1] = 1000;
                                s->values[half][rows[i].n] = NAN;
                                s->values[half][rows[i].n + 1] = INFINITY;
                        }
                }
                assert_int_equal(trial_compare(s, rows[i].relative, 0.95, 1, &d), 0);
                assert_int_equal(d.known, rows[i].known);
                assert_int_equal(d.shown, rows[i].shown);
                if (rows[i].known) {
                        assert_true(fabs(d.change - rows[i].change) < 1e-9);
                        assert_true(d.low <= d.change && d.change <= d.high);
                }
                if (rows[i].n > 0)
                        assert_true(fabs(d.median[TRIAL_AFTER] - rows[i].after) < 1e-9);
                else
                        assert_true(isnan(d.median[TRIAL_AFTER]));
                free(s);
        }
}

/* What widens it must not lead out of what can be. */
TEST(an_interval_of_shares_is_one) {
        TrialSeries *s = calloc(1, sizeof(*s));

        assert_non_null(s);
        s->n[TRIAL_BEFORE] = s->n[TRIAL_AFTER] = 20;
        for (unsigned rises = 0; rises < 2; rises++) {
                TrialDifference d;

                for (size_t k = 0; k < 20; k++) {
                        s->values[rises ? TRIAL_AFTER : TRIAL_BEFORE][k] = k < 9 ? 1 : 0.5;
                        s->values[rises ? TRIAL_BEFORE : TRIAL_AFTER][k] = 0;
                }
                assert_int_equal(trial_compare(s, false, 0.95, 1, &d), 0);
                assert_true(d.low >= -1 && d.high <= 1);
        }
        free(s);
}

TEST(nothing_to_judge) {
        const Played played = { .noise = 0.05, .n = 5 };
        TrialInstance *instance = calloc(1, sizeof(*instance));
        TrialJudgement j = judge_one(&played, instance);

        assert_int_equal(j.verdict, TRIAL_UNKNOWN);
        assert_false(instance->judged);
        text_done(&j.sentence);
        free(instance);
}
