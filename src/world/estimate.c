/* Shares from draws. The formulas are in the header. */
#include <math.h>

#include "tidbnumad/world/estimate.h"

static double wilson_distance(double p, double n) {
        const double z2 = ESTIMATE_Z * ESTIMATE_Z, scale = 1 + z2 / n;
        const double centre = (p + z2 / (2 * n)) / scale;
        const double half = ESTIMATE_Z * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / scale;

        return half + fabs(centre - p);
}

Estimate estimate_share(uint64_t n_outside, uint64_t n_seen, uint64_t n_hidden, bool whole) {
        Estimate e = { .ratio = NAN };
        double hidden;

        if (n_seen == 0)
                return e;
        e.ratio = (double)n_outside / (double)n_seen;
        hidden = (double)n_hidden / ((double)n_seen + (double)n_hidden);
        e.random = whole ? 0 : wilson_distance(e.ratio, (double)n_seen);
        e.unknown = hidden * fmax(e.ratio, 1 - e.ratio);
        return e;
}

Estimate estimate_weighted(double outside, double all, double squares, bool whole) {
        Estimate e = { .ratio = NAN };

        if (all <= 0)
                return e;
        e.ratio = fmin(outside / all, 1); /* a sum of parts may round to more */
        e.random = whole ? 0 : wilson_distance(e.ratio, all * all / squares);
        return e;
}

Estimate estimate_combine(const Estimate *parts, const double *weights, size_t n_parts) {
        Estimate e = { 0 };
        double all = 0, squares = 0;

        for (size_t i = 0; i < n_parts; i++)
                if (!isnan(parts[i].ratio))
                        all += weights[i];
        if (all <= 0)
                return (Estimate){ .ratio = NAN };
        for (size_t i = 0; i < n_parts; i++) {
                const double weight = weights[i] / all;

                if (isnan(parts[i].ratio))
                        continue;
                e.ratio += weight * parts[i].ratio;
                e.unknown += weight * parts[i].unknown;
                squares += weight * parts[i].random * weight * parts[i].random;
        }
        e.random = sqrt(squares);
        return e;
}

double estimate_halfwidth(const Estimate *estimate) {
        return isnan(estimate->ratio) ? (double)NAN : fmin(estimate->random + estimate->unknown, 1);
}
