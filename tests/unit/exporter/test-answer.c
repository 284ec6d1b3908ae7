/* Paths to answers, with the clock in our hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tidbnumad/exporter/answer.h"

#include "fixture.h"

#define NOW 1780000000.0

static Fixture fixture;

static int setup(void **state) {
        (void)state;
        fixture_init(&fixture);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        fixture_done(&fixture);
        return 0;
}

static void put(const char *name, const char *data, double age_seconds) {
        fixture_write(&fixture, name, data, strlen(data), NOW, age_seconds);
}

static void check(const char *path, unsigned status, const char *type, const char *body) {
        _cleanup_answer_ Answer answer = { 0 };

        assert_int_equal(answer_build(fixture.dir, path, NOW, &answer), 0);
        assert_string_equal(answer.body.data, body);
        assert_int_equal(answer.status, status);
        assert_string_equal(answer.content_type, type);
}

static void check_status(const char *path, unsigned status, const char *part) {
        _cleanup_answer_ Answer answer = { 0 };

        assert_int_equal(answer_build(fixture.dir, path, NOW, &answer), 0);
        assert_int_equal(answer.status, status);
        assert_contains(answer.body.data, part);
        assert_string_equal(answer.content_type, "text/plain; charset=utf-8");
}

#define AGE_HEAD                                                                                   \
        "# HELP tidbnumad_exporter_snapshot_age_seconds Time since the daemon wrote the snapshot " \
        "that this answer is made of.\n"                                                           \
        "# TYPE tidbnumad_exporter_snapshot_age_seconds gauge\n"                                   \
        "tidbnumad_exporter_snapshot_age_seconds "

static void test_metrics(void **state) {
        (void)state;
        put("metrics.prom", "a 1\n", 2.25);
        check("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8",
              "a 1\n" AGE_HEAD "2.250\n");
        put("metrics.prom", "a 1", 0); /* no newline at the end */
        check("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8",
              "a 1\n" AGE_HEAD "0.000\n");
        put("metrics.prom", "a 1\n", -5); /* from the future: the clock was set back */
        check("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8",
              "a 1\n" AGE_HEAD "0.000\n");
}

static void test_an_old_snapshot_still_answers(void **state) {
        (void)state;
        put("metrics.prom", "", 100000);
        check("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8", AGE_HEAD "100000.000\n");
}

static void test_status(void **state) {
        (void)state;
        put("status.json", "{\n}\n", 0);
        check("/status", 200, "application/json", "{\n}\n");
}

static void test_no_snapshot(void **state) {
        (void)state;
        check_status("/metrics", 503, "/metrics.prom does not exist. Is tidbnumad running?");
        check_status("/status", 503, "/status.json does not exist. Is tidbnumad running?");
        check_status("/healthz", 503, "/metrics.prom does not exist. Is tidbnumad running?");
}

static void test_health_by_the_interval_in_the_file(void **state) {
        (void)state;
        put("metrics.prom", "# TYPE x\ntidbnumad_sample_interval_seconds 100\n", 299);
        check_status("/healthz", 200, "ok\n");
        put("metrics.prom", "# TYPE x\ntidbnumad_sample_interval_seconds 100\n", 301);
        check_status("/healthz", 503, "the snapshot is 301.000 s old, more than 300.000 s");
        put("metrics.prom", "tidbnumad_sample_interval_seconds 0.5\n", 59); /* never below 60 s */
        check_status("/healthz", 200, "ok\n");
        put("metrics.prom", "tidbnumad_sample_interval_seconds 0.5\n", 61);
        check_status("/healthz", 503, "more than 60.000 s");
}

static void test_health_without_a_usable_interval(void **state) {
        static const char *const files[] = { "",
                                             "x_tidbnumad_sample_interval_seconds 100\n",
                                             "# tidbnumad_sample_interval_seconds 100\n",
                                             "tidbnumad_sample_interval_seconds ",
                                             "tidbnumad_sample_interval_seconds nan\n",
                                             "tidbnumad_sample_interval_seconds -100\n",
                                             "tidbnumad_sample_interval_seconds 1e300\n" };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                put("metrics.prom", files[i], 61);
                check_status("/healthz", 503, "more than 60.000 s");
        }
}

static void test_other_paths(void **state) {
        (void)state;
        check_status("/", 200, "/metrics");
        check_status("/metrics/", 404, "not found");
        check_status("/../etc/passwd", 404, "not found");
        check_status("/undo", 404, "not found");
        check_status("/metrics.prom", 404, "not found");
}

static void test_link_is_not_followed(void **state) {
        char path[128];

        (void)state;
        put("target", "secret\n", 0);
        (void)snprintf(path, sizeof(path), "%s/metrics.prom", fixture.dir);
        assert_int_equal(symlink("target", path), 0);
        check_status("/metrics", 503, "is not a regular file");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_metrics, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_old_snapshot_still_answers, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_status, setup, teardown),
                cmocka_unit_test_setup_teardown(test_no_snapshot, setup, teardown),
                cmocka_unit_test_setup_teardown(test_health_by_the_interval_in_the_file, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_health_without_a_usable_interval, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_other_paths, setup, teardown),
                cmocka_unit_test_setup_teardown(test_link_is_not_followed, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
