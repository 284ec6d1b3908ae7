/* The Prometheus text of values that are unknown, hostile or extreme. */

#include "../../support/test.h"

#include "tidbnumad/publish/metrics.h"

#include "example.h"

TEST(nothing_there) {
        _cleanup_text_ Text text = { 0 };
        const Snapshot empty = { 0 };

        assert_int_equal(metrics_render(&empty, &text), 0);
        assert_non_null(strstr(text.data, "\ntidbnumad_policies 0\n"));
        assert_non_null(strstr(text.data, "tidbnumad_build_info{} 1"));
        /* No samples: no HELP, no TYPE. */
        assert_null(strstr(text.data, "tidbnumad_instance_"));
        assert_null(strstr(text.data, "tidbnumad_bind_attempts_total"));
        assert_null(strstr(text.data, "tidbnumad_events_total"));
        assert_null(strstr(text.data, "\nprocess_"));
}

static const char *rendered(const Snapshot *snapshot, Text *text) {
        assert_int_equal(metrics_render(snapshot, text), 0);
        return text->data;
}

/* Not asked for: nothing. Asked for and not to be had: that, and nothing else. Asked for, and one
 * of two places is counted: that one. */
EXAMPLE_TEST(accesses) {
        _cleanup_text_ Text text = { 0 };

        e->snapshot.access.counted[LOCALITY_LOCAL] = false;
        assert_null(strstr(rendered(&e->snapshot, &text), "locality=\"local\""));
        assert_non_null(strstr(text.data, "locality=\"remote\""));
        e->snapshot.access = (AccessInfo){ .wanted = true, .reason = "no" };
        e->instances[0].access_known = false;
        assert_non_null(
                strstr(rendered(&e->snapshot, &text), "\ntidbnumad_access_sampling_available 0\n"));
        assert_null(strstr(text.data, "_access_ratio"));
        assert_null(strstr(text.data, "accesses_total"));
        assert_null(strstr(text.data, "access_coverage"));
        e->snapshot.access.wanted = false;
        assert_null(strstr(rendered(&e->snapshot, &text), "access_sampling"));
}

EXAMPLE_TEST(unknown_ratio_is_left_out) {
        _cleanup_text_ Text text = { 0 };

        e->instances[0].remote_ratio = (double)NAN;
        e->instances[0].remote_ratio_halfwidth = (double)NAN;
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_null(strstr(text.data, "remote_memory_ratio"));
        assert_null(strstr(text.data, "NaN"));
        assert_null(strstr(text.data, "nan"));
}

EXAMPLE_TEST(hostile_names) {
        _cleanup_text_ Text text = { 0 };

        e->snapshot.instances = &e->instances[0];
        e->snapshot.n_instances = 1;
        e->instances[0].name = "a\\b\"c\nd";
        e->instances[0].exe = "/x/\xff\xe2\x82\"\\\n\xc3\xa9";
        e->instances[0].unit = NULL;
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_non_null(strstr(text.data,
                               "\ntidbnumad_instance_info{policy=\"tikv\","
                               "name=\"a\\\\b\\\"c\\nd\",pid=\"1234\","
                               "exe=\"/x/\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\\"\\\\\\n\xc3\xa9\","
                               "unit=\"\",backend=\"systemd\",nodes=\"0\",cpus=\"0-3\"} 1\n"));
}

EXAMPLE_TEST(the_longest_set_fits) {
        _cleanup_text_ Text text = { 0 };

        e->instances[0].cpus = (CpuSet){ 0 };
        for (uint32_t id = 1; id < CPU_SET_MAX; id += 2)
                id_set_add(&e->instances[0].cpus, id);
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_non_null(strstr(text.data, "cpus=\"1,3,5,"));
        assert_non_null(strstr(text.data, ",8189,8191\"} 1\n"));
}

/* Noughts, so that the first binding is an increase. */
EXAMPLE_TEST(nothing_bound_yet) {
        _cleanup_text_ Text text = { 0 };

        e->policies[0].bind_latency = (Histogram){ 0 };
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_non_null(strstr(text.data, "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\","
                                          "le=\"60\"} 0\n"));
        assert_non_null(
                strstr(text.data, "tidbnumad_bind_latency_seconds_count{policy=\"tikv\"} 0\n"));
}

/* Bytes up to 2^64-1 and a ratio that no decimal ends. */
EXAMPLE_TEST(numbers) {
        _cleanup_text_ Text text = { 0 };

        e->instances[0].remote_ratio = 1.0 / 3;
        e->snapshot.sample_interval_seconds = 0.9999999999; /* carries into the whole */
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_non_null(strstr(text.data, "kind=\"shmem\"} 18446744073709551615\n"));
        assert_non_null(strstr(text.data, "} 9007199254740993\n"));
        assert_non_null(strstr(text.data, "\"} 0.333333333\n"));
        assert_non_null(strstr(text.data, "\ntidbnumad_sample_interval_seconds 1\n"));
}
