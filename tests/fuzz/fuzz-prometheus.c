/* A status port that answers anything: the same samples in whatever pieces it arrives, and no
 * quantile that is not within the bounds. */
#include <math.h>

#include "fuzz.h"
#include "tidbnumad/base/prometheus.h"

typedef struct Found {
        size_t n;
        double sum;
        PromMetric metric;
} Found;

static void take(const PromSample *sample, void *userdata) {
        Found *found = userdata;

        check(*sample->name != '\0' && (sample->labelled || isnan(sample->le)));
        found->n++;
        found->sum += isfinite(sample->value) ? fmod(sample->value, 1000) : 0;
        prom_metric_add(&found->metric, sample);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Found *whole = calloc(1, sizeof(*whole)), *bytes = calloc(1, sizeof(*bytes)),
              *half = calloc(1, sizeof(*half));
        PromReader *reader = calloc(3, sizeof(*reader));
        char *text = fuzz_text(data, size);
        double value;

        if (whole && bytes && half && reader && text) {
                whole->metric.name = bytes->metric.name = half->metric.name = "a";
                for (size_t i = 0; i < 3; i++)
                        reader[i].handler = take;
                reader[0].userdata = whole;
                reader[1].userdata = bytes;
                reader[2].userdata = half;
                prom_reader_add(&reader[0], text, size);
                for (size_t i = 0; i < size; i++)
                        prom_reader_add(&reader[1], text + i, 1);
                prom_reader_add(&reader[2], text, size / 2);
                check(whole->n == bytes->n && reader[0].n_malformed == reader[1].n_malformed);
                check(!(fabs(whole->sum - bytes->sum) > 0));
                for (size_t i = 1; i < whole->metric.n_buckets; i++)
                        check(whole->metric.buckets[i - 1].le < whole->metric.buckets[i].le);
                check(whole->metric.n_buckets <= PROM_BUCKETS_MAX);
                if (prom_metric_increase(&half->metric, &whole->metric, &value))
                        check(value >= 0);
                if (prom_metric_quantile(&half->metric, &whole->metric, 0.99, &value))
                        check(isfinite(value) &&
                              value <= whole->metric.buckets[whole->metric.n_buckets - 2].le +
                                               1e-9 * fabs(value));
        }
        free(text);
        free(reader);
        free(half);
        free(bytes);
        free(whole);
        return 0;
}
