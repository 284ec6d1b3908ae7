/* Histograms. */
#include <math.h>

#include "../../support/test.h"

#include "tidbnumad/model/snapshot.h"

TEST(bounds_ascend) {
        for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++)
                assert_true(histogram_bound(i) > histogram_bound(i - 1));
        assert_true(histogram_bound(0) > 0);
}

TEST(each_in_one_bucket) {
        Histogram h = { 0 };

        histogram_add(&h, 0);
        histogram_add(&h, histogram_bound(3)); /* it is in */
        histogram_add(&h, histogram_bound(3) * 1.0001);
        histogram_add(&h, histogram_bound(HISTOGRAM_BUCKETS - 1) + 1);
        for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
                assert_int_equal(h.counts[i], i == 0 || i == 3 || i == 4);
        assert_int_equal(h.n, 4);
        assert_true(fabs(h.sum - (histogram_bound(3) * 2.0001 +
                                  histogram_bound(HISTOGRAM_BUCKETS - 1) + 1)) < 1e-9);
}
