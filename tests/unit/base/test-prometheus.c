/* The text format of Prometheus: what is a sample, what is none, and what two readings of a metric
 * show together. */
#include <math.h>

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/prometheus.h"

typedef struct Seen {
        char name[64];
        PromSample sample;
        unsigned n;
} Seen;

static void see(const PromSample *sample, void *userdata) {
        Seen *seen = userdata;

        (void)snprintf(seen->name, sizeof(seen->name), "%s", sample->name);
        seen->sample = *sample;
        seen->n++;
}

TEST(lines) {
        static const struct {
                const char *line;
                int expected;
                const char *name;
                double le, value;
        } rows[] = {
                { "a 1", 1, "a", NAN, 1 },
                { "\ta:b_9\t -2.5e-3  1700000000000 ", 1, "a:b_9", NAN, -0.0025 },
                { "a{} 1", 1, "a", NAN, 1 },
                { "a{x=\"y\"} 1", 1, "a", NAN, 1 },
                { "a_bucket{x=\"}\\\"\\\\\",le=\"0.5\",} 7", 1, "a_bucket", 0.5, 7 },
                { "a { le = \"+Inf\" } 8 -1", 1, "a", INFINITY, 8 },
                { "a{xle=\"5\"} 1", 1, "a", NAN, 1 },
                { "a +Inf", 1, "a", NAN, INFINITY },
                { "# HELP a {", 0, NULL, 0, 0 },
                { "", 0, NULL, 0, 0 },
                { "   ", 0, NULL, 0, 0 },
                { "a", -EBADMSG, NULL, 0, 0 },
                { "a{} ", -EBADMSG, NULL, 0, 0 },
                { "9a 1", -EBADMSG, NULL, 0, 0 },
                { "a-b 1", -EBADMSG, NULL, 0, 0 },
                { "a 1 2 3", -EBADMSG, NULL, 0, 0 },
                { "a 1\r", -EBADMSG, NULL, 0, 0 },
                { "a 0x10", -EBADMSG, NULL, 0, 0 },
                { "a infinity", -EBADMSG, NULL, 0, 0 },
                { "a 1e", -EBADMSG, NULL, 0, 0 },
                { "a{x=\"y\" 1", -EBADMSG, NULL, 0, 0 },
                { "a{x=\"y} 1", -EBADMSG, NULL, 0, 0 },
                { "a{x=y} 1", -EBADMSG, NULL, 0, 0 },
                { "a{x:y=\"z\"} 1", -EBADMSG, NULL, 0, 0 },
                { "a{x=\"\\t\"} 1", -EBADMSG, NULL, 0, 0 },
                { "a{le=\"wide\"} 1", -EBADMSG, NULL, 0, 0 },
                { "<html>", -EBADMSG, NULL, 0, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Seen seen = { .n = 0 };
                PromReader reader = { .handler = see, .userdata = &seen };
                const PromSample *sample = &seen.sample;

                print_message("row %zu: %s\n", i, rows[i].line);
                prom_reader_add(&reader, rows[i].line, strlen(rows[i].line));
                prom_reader_add(&reader, "\n", 1);
                assert_int_equal(seen.n, rows[i].expected == 1);
                assert_int_equal(reader.n_malformed, rows[i].expected < 0);
                if (seen.n == 0)
                        continue;
                assert_string_equal(seen.name, rows[i].name);
                assert_int_equal(sample->labelled, strchr(rows[i].line, '{') != NULL);
                assert_memory_equal(&sample->value, &rows[i].value, sizeof(double));
                assert_true(isnan(rows[i].le)
                                    ? isnan(sample->le)
                                    : !(sample->le < rows[i].le || sample->le > rows[i].le));
        }
}

static void add(const PromSample *sample, void *userdata) {
        prom_metric_add(userdata, sample);
}

/* Byte by byte: a status port sends in pieces of any size. */
static PromMetric *read_metric(const char *text, uint64_t n_malformed) {
        PromMetric *metric = calloc(1, sizeof(*metric));
        PromReader *reader = calloc(1, sizeof(*reader));

        assert_true(metric && reader);
        *metric = (PromMetric){ .name = "d" };
        *reader = (PromReader){ .handler = add, .userdata = metric };
        for (; *text; text++)
                prom_reader_add(reader, text, 1);
        assert_int_equal(reader->n_malformed, n_malformed);
        free(reader);
        return metric;
}

#define ROWS(a, b, c)                                                                              \
        "d_bucket{le=\"0.1\"} " #a "\nd_bucket{le=\"0.2\"} " #b "\nd_bucket{le=\"+Inf\"} " #c      \
        "\nd_count " #c "\nd_sum 4\nd_other 9\nxd 9\n"

TEST(label_sets_are_summed) {
        PromMetric *m = read_metric("d_bucket{le=\"0.1\",t=\"x\"} 1\n"
                                    "d_bucket{le=\"+Inf\",t=\"x\"} 2\n"
                                    "d_count{t=\"x\"} 2\n"
                                    "d_bucket{le=\"+Inf\",t=\"y\"} 30\n"
                                    "d_bucket{le=\"0.1\",t=\"y\"} 10\n"
                                    "d_count{t=\"y\"} 30\n"
                                    "d_count{t=\"z\"} NaN\nd_count -4\n{d} 1\nd_count 5",
                                    1);

        assert_true(m->found);
        assert_true(fabs(m->total - 32) < 1e-9);
        assert_int_equal(m->n_buckets, 2);
        assert_true(fabs(m->buckets[0].count - 11) < 1e-9 && fabs(m->buckets[1].count - 32) < 1e-9);
        free(m);
}

static double quantile(const char *before, const char *now, double q) {
        PromMetric *a = read_metric(before, 0), *b = read_metric(now, 0);
        double value = NAN;

        (void)prom_metric_quantile(a, b, q, &value);
        free(a);
        free(b);
        return value;
}

/* What histogram_quantile() of Prometheus answers for the increase. */
TEST(quantiles_by_difference) {
        assert_true(fabs(quantile(ROWS(0, 0, 0), ROWS(50, 100, 100), 0.5) - 0.1) < 1e-12);
        assert_true(fabs(quantile(ROWS(0, 0, 0), ROWS(50, 100, 100), 0.99) - 0.198) < 1e-12);
        assert_true(fabs(quantile(ROWS(0, 0, 0), ROWS(50, 100, 100), 0.25) - 0.05) < 1e-12);
        assert_true(fabs(quantile(ROWS(900, 900, 900), ROWS(900, 1000, 1000), 0.5) - 0.15) < 1e-12);
        assert_true(fabs(quantile(ROWS(0, 0, 0), ROWS(1, 1, 100), 0.99) - 0.2) < 1e-12);
        assert_true(isnan(quantile(ROWS(5, 5, 5), ROWS(5, 5, 5), 0.99)));   /* nothing observed */
        assert_true(isnan(quantile(ROWS(50, 60, 70), ROWS(1, 2, 3), 0.5))); /* a reset */
        assert_true(isnan(quantile(ROWS(9, 9, 9), ROWS(1, 10, 20), 0.5)));  /* of one row */
        assert_true(isnan(quantile("d 1\n", "d 2\n", 0.5)));
        assert_true(isnan(quantile("", "d_bucket{le=\"1\"} 2\nd_bucket{le=\"2\"} 3\n", 0.5)));
}

TEST(increase) {
        PromMetric *a = read_metric("d{x=\"1\"} 5\nd{x=\"2\"} 6\n", 0),
                   *b = read_metric("d 13\n", 0), *none = read_metric("e 3\n", 0);
        double value = 77;

        assert_true(prom_metric_increase(a, b, &value));
        assert_true(fabs(value - 2) < 1e-12);
        assert_false(prom_metric_increase(b, a, &value));
        assert_false(prom_metric_increase(none, a, &value));
        assert_false(prom_metric_increase(a, none, &value));
        assert_true(fabs(value - 2) < 1e-12);
        free(a);
        free(b);
        free(none);
}

/* More bounds than any server has: no quantile of a part of them. */
TEST(too_many_buckets) {
        PromMetric *a = read_metric("", 0), *b = calloc(1, sizeof(*b));
        double value;

        b->name = "d";
        for (unsigned i = 0; i < PROM_BUCKETS_MAX + 10; i++)
                prom_metric_add(b, &(PromSample){ .name = "d_bucket", .le = i, .value = i });
        prom_metric_add(b, &(PromSample){ .name = "d_bucket", .le = INFINITY, .value = 1000 });
        assert_int_equal(b->n_buckets, PROM_BUCKETS_MAX);
        assert_false(prom_metric_quantile(a, b, 0.5, &value));
        free(a);
        free(b);
}

TEST(long_lines_are_left_out) {
        char line[PROM_LINE_MAX + 100];
        PromMetric *m = calloc(1, sizeof(*m));
        PromReader *reader = calloc(1, sizeof(*reader));

        memset(line, 'x', sizeof(line) - 1);
        memcpy(line, "d 9", 3);
        line[sizeof(line) - 1] = '\n';
        m->name = "d";
        *reader = (PromReader){ .handler = add, .userdata = m };
        prom_reader_add(reader, line, sizeof(line));
        prom_reader_add(reader, "d 2\nd 3\0\nd 40\n", 14);
        assert_int_equal(reader->n_malformed, 2);
        assert_true(fabs(m->total - 42) < 1e-12);
        free(reader);
        free(m);
}
