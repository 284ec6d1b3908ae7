/* What two halves of a trial show: medians, their difference with an interval, and a verdict. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/text.h"

typedef enum TrialMeasure {
        TRIAL_CPU_PER_QUERY, /* seconds; hardly depends on the offered load */
        TRIAL_P99,           /* seconds, as TRIAL_P50 */
        TRIAL_RATE,          /* queries a second */
        TRIAL_P50,
        TRIAL_CPU,             /* CPU seconds a second */
        TRIAL_CPU_PRESSURE,    /* share of the time, 0..1: PSI "some" */
        TRIAL_MEMORY_PRESSURE, /* likewise */
        TRIAL_REMOTE,          /* share of anonymous memory on other nodes, 0..1 */
        N_TRIAL_MEASURES,
} TrialMeasure;

const char *trial_measure_to_string(TrialMeasure measure); /* "CPU time a query" */
const char *trial_measure_key(TrialMeasure measure);       /* "cpu_seconds_per_query" */

typedef enum TrialHalf {
        TRIAL_BEFORE,
        TRIAL_AFTER,
        N_TRIAL_HALVES,
} TrialHalf;

/* Fewer samples of a half show nothing. */
enum { TRIAL_SAMPLES_MIN = 12, TRIAL_SAMPLES_MAX = 360 };

/* The samples of each half, in their order; NAN: one that could not be had. */
typedef struct TrialSeries {
        double values[N_TRIAL_HALVES][TRIAL_SAMPLES_MAX];
        size_t n[N_TRIAL_HALVES];
} TrialSeries;

/* The difference of the medians, with its confidence interval. */
typedef struct TrialDifference {
        bool known;                    /* both halves have TRIAL_SAMPLES_MIN samples */
        double median[N_TRIAL_HALVES]; /* NAN: that half has none */
        double change, low, high;      /* after / before - 1; of shares, after - before */
        bool shown; /* the interval does not hold 0, and the change is TRIAL_CHANGE_MIN at least */
} TrialDifference;

/* A smaller change is not worth a decision, whatever its interval. */
#define TRIAL_CHANGE_MIN 0.01

/* The load has changed, so that only TRIAL_CPU_PER_QUERY is judged, where the rates differ by more
 * than this. */
#define TRIAL_RATE_CHANGE_MAX 0.2

/* By a bootstrap over blocks of consecutive samples (Künsch 1989; circular, Politis and Romano
 * 1992), because samples that follow each other are alike: an ordinary bootstrap takes a burst of a
 * minute for many independent facts. The same samples and seed give the same interval.
 * `level`: 0.95; 0: no interval is wanted. `relative`: not of shares. 0 or -ENOMEM. */
int trial_compare(const TrialSeries *series, bool relative, double level, uint64_t seed,
                  TrialDifference *ret);

typedef struct TrialInstance {
        const char *name; /* borrowed */
        TrialSeries series[N_TRIAL_MEASURES];
        TrialDifference differences[N_TRIAL_MEASURES]; /* from here by trial_judge() */
        bool load_changed;                             /* by TRIAL_RATE_CHANGE_MAX */
        bool judged;                                   /* one of its headline measures is known */
} TrialInstance;

typedef enum TrialVerdict {
        TRIAL_NO_DIFFERENCE,
        TRIAL_BETTER,
        TRIAL_WORSE,   /* one headline measure of one instance is, whatever the others are */
        TRIAL_UNKNOWN, /* nothing could be judged */
        N_TRIAL_VERDICTS,
} TrialVerdict;

const char *trial_verdict_to_string(TrialVerdict verdict); /* "no difference shown" */

typedef struct TrialJudgement {
        TrialVerdict verdict;
        double level;      /* of each interval */
        size_t n_headline; /* how many measures the verdict depends on */
        Text sentence;     /* owned */
} TrialJudgement;

/* The more measures the verdict depends on, the more of them differ by chance: the intervals are
 * widened (Bonferroni) so that a trial in which nothing differs says so with 95 %. 0 or -ENOMEM. */
int trial_judge(TrialInstance *instances, size_t n, uint64_t seed, TrialJudgement *ret);
