/* Reads the text format of Prometheus 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats)
 * in bounded memory, while it arrives: any program may have written it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer lines are malformed. Those of TiDB, TiKV and PD have less than 400 bytes. */
enum { PROM_LINE_MAX = 4096 };

typedef struct PromSample {
        const char *name; /* of the series, without labels; valid during the call */
        bool labelled;
        double le;           /* of its label "le", the upper bound of a bucket; NAN: it has none */
        const char *version; /* its label "version"; NULL: it has none; valid as `name` */
        double value;
} PromSample;

typedef void (*PromHandler)(const PromSample *sample, void *userdata);

typedef struct PromReader {
        PromHandler handler;
        void *userdata;
        char line[PROM_LINE_MAX]; /* that is not complete yet */
        size_t length;
        bool cut;             /* it is longer */
        uint64_t n_malformed; /* lines */
} PromReader;

/* The next bytes of a text, in pieces of any size. Each complete line with a sample is handed to
 * the handler; comments are not. A last line without a newline is no line. */
void prom_reader_add(PromReader *reader, const char *bytes, size_t size);

/* --- one metric, summed over all label sets --- */

enum { PROM_BUCKETS_MAX = 320 };

typedef struct PromBucket {
        double le;
        double count; /* cumulative */
} PromBucket;

typedef struct PromMetric {
        const char *name; /* borrowed */
        bool found;
        double total;                         /* of NAME, or of a histogram's NAME_count */
        PromBucket buckets[PROM_BUCKETS_MAX]; /* ascending by `le` */
        size_t n_buckets;
        bool overflow; /* it has more: there are no quantiles */
} PromMetric;

/* Adds the sample if it is of the metric. Values that no counter has are left out. */
void prom_metric_add(PromMetric *metric, const PromSample *sample);

/* What was counted between two readings. False: a counter was reset, or the metric was missing. */
bool prom_metric_increase(const PromMetric *before, const PromMetric *now, double *ret);

/* The quantile `q` (0..1) of what was observed between two readings, interpolated within its bucket
 * as histogram_quantile() of Prometheus does. False: nothing was observed, a counter was reset, or
 * it is no histogram. */
bool prom_metric_quantile(const PromMetric *before, const PromMetric *now, double q, double *ret);
