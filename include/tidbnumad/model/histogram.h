/* Durations, counted by how long they were: a histogram of Prometheus. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* From 50 µs, which reading a small file takes, to the minute after which a binding is no longer
 * something that one waits for. */
#define HISTOGRAM_BOUNDS                                                                           \
        {                                                                                          \
                0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,    \
                        0.25, 0.5, 1, 2.5, 5, 10, 60                                               \
        }
enum { HISTOGRAM_BUCKETS = 18 };

typedef struct Histogram {
        uint64_t counts[HISTOGRAM_BUCKETS]; /* each alone, not yet summed up */
        uint64_t n;                         /* those above the last bound too */
        double sum;
} Histogram;

/* The upper bound of a bucket; a value that equals it is in. */
double histogram_bound(size_t bucket);

void histogram_add(Histogram *histogram, double seconds);
