/* Durations by their length. */
#include "tidbnumad/model/histogram.h"

static const double bounds[HISTOGRAM_BUCKETS] = HISTOGRAM_BOUNDS;

double histogram_bound(size_t bucket) {
        return bounds[bucket];
}

void histogram_add(Histogram *histogram, double seconds) {
        for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
                if (seconds <= bounds[i]) {
                        histogram->counts[i]++;
                        break;
                }
        histogram->n++;
        histogram->sum += seconds;
}
