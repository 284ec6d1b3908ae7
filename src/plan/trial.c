/* The statistics of a trial. Which samples there are, and what is done about the verdict, is the
 * command's. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/plan/trial.h"

/* So many that 25 are outside the interval at each end, and not more than a second's work for the
 * instances of a host. */
enum { RESAMPLES_MIN = 2000, RESAMPLES_MAX = 20000, RESAMPLES_OUTSIDE = 25 };

/* Of a whole trial. */
#define LEVEL 0.95

static const struct {
        const char *name, *key;
        bool is_share;
} measures[N_TRIAL_MEASURES] = {
        [TRIAL_CPU_PER_QUERY] = { "CPU time a query", "cpu_seconds_per_query", false },
        [TRIAL_P99] = { "p99", "p99_seconds", false },
        [TRIAL_RATE] = { "queries a second", "queries_per_second", false },
        [TRIAL_P50] = { "p50", "p50_seconds", false },
        [TRIAL_CPU] = { "CPUs used", "cpus", false },
        [TRIAL_CPU_PRESSURE] = { "CPU pressure", "cpu_pressure", true },
        [TRIAL_MEMORY_PRESSURE] = { "memory pressure", "memory_pressure", true },
        [TRIAL_REMOTE] = { "remote memory", "remote_memory", true },
};

const char *trial_measure_to_string(TrialMeasure measure) {
        return measures[measure].name;
}

const char *trial_measure_key(TrialMeasure measure) {
        return measures[measure].key;
}

static const char *const verdicts[N_TRIAL_VERDICTS] = {
        [TRIAL_NO_DIFFERENCE] = "no difference shown",
        [TRIAL_BETTER] = "better",
        [TRIAL_WORSE] = "worse",
        [TRIAL_UNKNOWN] = "unknown",
};
DEFINE_STRING_TABLE(trial_verdict_to_string, TrialVerdict, verdicts)

/* --- one measure --- */

/* splitmix64, by Vigna: small, and good enough to draw indices. */
static uint64_t draw(uint64_t *state) {
        uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

static int compare_doubles(const void *a, const void *b) {
        const double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* The samples of one half that there are. */
typedef struct Half {
        size_t n, block;
        double sorted[TRIAL_SAMPLES_MAX];
        size_t rank[TRIAL_SAMPLES_MAX]; /* of each sample in `sorted`, in the order of time */
} Half;

/* The median of the half as it is put together again from blocks of it, which are drawn. It is
 * found by counting: 0.1 µs for 30 samples. */
static double half_resample(const Half *h, uint64_t *state) {
        uint16_t counts[TRIAL_SAMPLES_MAX] = { 0 };
        size_t below = 0, at = 0, lower;

        for (size_t filled = 0; filled < h->n;) {
                size_t from = (size_t)((draw(state) >> 32) * h->n >> 32);

                for (size_t k = 0; k < h->block && filled < h->n; k++, filled++) {
                        counts[h->rank[from]]++;
                        from = from + 1 < h->n ? from + 1 : 0;
                }
        }
        while (below + counts[at] <= (h->n - 1) / 2)
                below += counts[at++];
        for (lower = at; below + counts[at] <= h->n / 2;)
                below += counts[at++];
        return (h->sorted[lower] + h->sorted[at]) / 2;
}

static double change_of(double before, double after, bool relative) {
        return relative ? after / before - 1 : after - before;
}

int trial_compare(const TrialSeries *series, bool relative, double level, uint64_t seed,
                  TrialDifference *ret) {
        const double outside = (1 - level) / 2, wanted = ceil(RESAMPLES_OUTSIDE / outside);
        const size_t n = wanted < RESAMPLES_MIN   ? RESAMPLES_MIN
                         : wanted > RESAMPLES_MAX ? RESAMPLES_MAX
                                                  : (size_t)wanted;
        const size_t tail = (size_t)(outside * (double)n);
        TrialDifference d = { .change = NAN, .low = NAN, .high = NAN };
        _cleanup_free_ double *changes = NULL;
        Half halves[N_TRIAL_HALVES];
        const Half *smaller;
        double spread;

        for (TrialHalf half = 0; half < N_TRIAL_HALVES; half++) {
                const double *const values = series->values[half];
                Half *h = &halves[half];

                h->n = 0;
                d.median[half] = NAN;
                for (size_t i = 0; i < series->n[half]; i++)
                        if (isfinite(values[i]))
                                h->sorted[h->n++] = values[i];
                if (h->n == 0)
                        continue;
                qsort(h->sorted, h->n, sizeof(h->sorted[0]), compare_doubles);
                for (size_t i = 0, k = 0; i < series->n[half]; i++)
                        if (isfinite(values[i])) /* equal samples may have one rank */
                                h->rank[k++] =
                                        ARRAY_LOWER_BOUND(h->n, at, h->sorted[at] < values[i]);
                /* The cube root of the number of samples, the order that is optimal for a variance
                 * (Künsch). */
                h->block = (size_t)ceil(cbrt((double)h->n));
                d.median[half] = (h->sorted[(h->n - 1) / 2] + h->sorted[h->n / 2]) / 2;
        }
        d.known = halves[TRIAL_BEFORE].n >= TRIAL_SAMPLES_MIN &&
                  halves[TRIAL_AFTER].n >= TRIAL_SAMPLES_MIN &&
                  (!relative || d.median[TRIAL_BEFORE] > 0);
        if (d.known)
                d.change = change_of(d.median[TRIAL_BEFORE], d.median[TRIAL_AFTER], relative);
        if (!d.known || level <= 0) {
                *ret = d;
                return 0;
        }
        /* The interval. */
        changes = calloc(n, sizeof(*changes));
        if (!changes)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                const double before = half_resample(&halves[TRIAL_BEFORE], &seed);

                changes[i] =
                        change_of(before, half_resample(&halves[TRIAL_AFTER], &seed), relative);
                if (isnan(changes[i])) /* 0 / 0 */
                        changes[i] = 0;
        }
        qsort(changes, n, sizeof(*changes), compare_doubles);
        /* What is drawn from few samples, in blocks, varies less than the median does: the first
         * factor is what Student's distribution is wider than the normal one at 95 %, the second
         * is for the blocks. The test of this file is what they were chosen by. */
        smaller = &halves[halves[TRIAL_AFTER].n < halves[TRIAL_BEFORE].n];
        spread = (1 + 2.0 / (double)smaller->n) /
                 sqrt(1 - 2 * (double)smaller->block / (double)smaller->n);
        d.low = d.change - (d.change - changes[tail]) * spread;
        d.high = d.change + (changes[n - 1 - tail] - d.change) * spread;
        /* Nothing that is measured is below 0, and no share above 1. */
        d.low = d.low < -1 ? -1 : d.low;
        d.high = !relative && d.high > 1 ? 1 : d.high;
        d.shown = (d.low > 0 || d.high < 0) && fabs(d.change) >= TRIAL_CHANGE_MIN;
        *ret = d;
        return 0;
}

/* --- the verdict --- */

static bool is_headline(const TrialInstance *instance, TrialMeasure measure) {
        return measure == TRIAL_CPU_PER_QUERY || (measure == TRIAL_P99 && !instance->load_changed);
}

static int compare_all(TrialInstance *instance, double level, uint64_t seed) {
        int r = 0;

        for (TrialMeasure m = 0; m < N_TRIAL_MEASURES && r >= 0; m++)
                r = trial_compare(&instance->series[m], !measures[m].is_share, level, seed + m,
                                  &instance->differences[m]);
        instance->load_changed =
                instance->differences[TRIAL_RATE].known &&
                fabs(instance->differences[TRIAL_RATE].change) > TRIAL_RATE_CHANGE_MAX;
        return r;
}

int trial_judge(TrialInstance *instances, size_t n, uint64_t seed, TrialJudgement *ret) {
        _cleanup_text_ Text better = { 0 }, worse = { 0 };
        TrialJudgement j = { .level = LEVEL };
        size_t n_changed = 0;
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++) {
                r = compare_all(&instances[i], 0, 0);
                instances[i].judged = false;
                for (TrialMeasure m = 0; m < N_TRIAL_MEASURES; m++)
                        if (is_headline(&instances[i], m) && instances[i].differences[m].known) {
                                instances[i].judged = true;
                                j.n_headline++;
                        }
        }
        if (j.n_headline > 0)
                j.level = 1 - (1 - LEVEL) / (double)j.n_headline;
        for (size_t i = 0; i < n && r >= 0; i++)
                r = compare_all(&instances[i], j.level, seed + i * N_TRIAL_MEASURES);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                for (TrialMeasure m = 0; m < N_TRIAL_MEASURES; m++) {
                        const TrialDifference *d = &instances[i].differences[m];
                        Text *text = d->change < 0 ? &better : &worse;

                        if (!is_headline(&instances[i], m) || !d->shown)
                                continue;
                        /* "CPU time a query of tikv-20160 -12.3 % (-14.0 to -10.8)" */
                        text_appendf(text, "%s%s of ", text->length > 0 ? ", " : "",
                                     measures[m].name);
                        text_append_printable(text, instances[i].name);
                        text_appendf(text, " %+.1f %% (%+.1f to %+.1f)", d->change * 100,
                                     d->low * 100, d->high * 100);
                }
                n_changed += instances[i].load_changed;
        }
        if (better.error < 0 || worse.error < 0)
                return -ENOMEM;
        j.verdict = j.n_headline == 0   ? TRIAL_UNKNOWN
                    : worse.length > 0  ? TRIAL_WORSE
                    : better.length > 0 ? TRIAL_BETTER
                                        : TRIAL_NO_DIFFERENCE;
        if (j.verdict == TRIAL_UNKNOWN)
                text_append(&j.sentence, "Unknown: no instance has enough samples of its queries");
        else if (j.verdict == TRIAL_NO_DIFFERENCE)
                text_append(&j.sentence,
                            "No difference shown: neither CPU time a query nor p99 of any instance "
                            "differs by more than chance");
        else
                text_appendf(&j.sentence, "%s with binding: %s%s%s",
                             j.verdict == TRIAL_WORSE ? "Worse" : "Better", text_string(&worse),
                             worse.data && better.data ? "; although better: " : "",
                             text_string(&better));
        if (n_changed > 0)
                text_appendf(&j.sentence,
                             "; the load of %zu instance%s changed by more than a fifth, so only "
                             "CPU time a query is judged there",
                             n_changed, n_changed == 1 ? "" : "s");
        text_append(&j.sentence, ".");
        if (j.sentence.error < 0) {
                text_done(&j.sentence);
                return -ENOMEM;
        }
        *ret = j;
        return 0;
}
