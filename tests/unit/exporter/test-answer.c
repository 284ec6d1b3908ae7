/* Paths to answers, with the clock in our hand. */

#include "../../support/test.h"

#include "tidbnumad/exporter/answer.h"

#include "store-fixture.h"

#define NOW 1780000000.0

static void put(const char *name, const char *data, double age_seconds) {
        fixture_write(&fixture, name, data, strlen(data), NOW, age_seconds);
}

/* Body and text as the client gets them. */
static void join(const Answer *answer, Text *ret) {
        if (answer->body)
                text_appendf(ret, "%.*s", (int)answer->body->file.size, answer->body->file.data);
        text_append(ret, answer->text.data ? answer->text.data : "");
}

static void ask(const char *path, Answer *ret) {
        assert_int_equal(answer_build(store,
                                      &(AnswerRequest){ .path = path,
                                                        .now_seconds = NOW,
                                                        .n_scrapes = 41,
                                                        .n_cut_off = 7 },
                                      ret),
                         0);
}

static void check_status(const char *path, unsigned status, const char *part) {
        _cleanup_answer_ Answer answer = { 0 };

        ask(path, &answer);
        assert_int_equal(answer.status, status);
        assert_contains(answer.text.data, part);
        assert_string_equal(answer.content_type, "text/plain; charset=utf-8");
        assert_null(answer.body);
        assert_false(answer.is_scrape);
}

/* What is served of the daemon's metrics, and the age. */
static void check_metrics(const char *expected, const char *age) {
        _cleanup_answer_ Answer answer = { 0 };
        _cleanup_text_ Text all = { 0 };

        ask("/metrics", &answer);
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
        assert_true(answer.is_scrape);
        join(&answer, &all);
        assert_starts_with(all.data, expected);
        assert_starts_with(all.data + strlen(expected), "# HELP tidbnumad_exporter_snapshot_age");
        assert_contains(all.data, fmt("\ntidbnumad_exporter_snapshot_age_seconds %s\n", age));
}

TEST(metrics, .setup_func = store_setup, .teardown_func = store_teardown) {
        put("metrics.prom", "a 1\n", 2.25);
        check_metrics("a 1\n", "2.250");
        put("metrics.prom", "b 1", 0); /* no newline at the end */
        check_metrics("b 1\n", "0.000");
        put("metrics.prom", "c 1\n", -5); /* from the future: the clock was set back */
        check_metrics("c 1\n", "0.000");
}

TEST(an_old_snapshot_still_answers, .setup_func = store_setup, .teardown_func = store_teardown) {
        put("metrics.prom", "", 100000);
        check_metrics("", "100000.000");
}

TEST(numbers_of_its_own, .setup_func = store_setup, .teardown_func = store_teardown) {
        _cleanup_answer_ Answer answer = { 0 };

        put("metrics.prom", "a 1\n", 0);
        ask("/metrics", &answer);
        assert_contains(answer.text.data, "\ntidbnumad_exporter_scrapes_total 42\n");
        assert_contains(answer.text.data, "\ntidbnumad_exporter_clients_cut_off_total 7\n");
}

TEST(status, .setup_func = store_setup, .teardown_func = store_teardown) {
        _cleanup_answer_ Answer answer = { 0 };
        _cleanup_text_ Text all = { 0 };

        put("status.json", "{\n}\n", 0);
        ask("/status", &answer);
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.content_type, "application/json");
        assert_false(answer.is_scrape);
        join(&answer, &all);
        assert_string_equal(all.data, "{\n}\n");
}

TEST(no_snapshot, .setup_func = store_setup, .teardown_func = store_teardown) {
        check_status("/metrics", 503, "/metrics.prom does not exist. Is tidbnumad running?");
        check_status("/status", 503, "/status.json does not exist. Is tidbnumad running?");
        check_status("/healthz", 503, "/metrics.prom does not exist. Is tidbnumad running?");
        put("metrics.prom", "a 1\n", 0); /* and one that has gone again is not served from memory */
        check_metrics("a 1\n", "0.000");
        assert_int_equal(unlink(fixture_path(&fixture, "metrics.prom")), 0);
        check_status("/metrics", 503, "/metrics.prom does not exist. Is tidbnumad running?");
}

TEST(health_by_the_interval_in_the_file, .setup_func = store_setup,
     .teardown_func = store_teardown) {
        put("metrics.prom", "# TYPE x\ntidbnumad_sample_interval_seconds 100\n", 299);
        check_status("/healthz", 200, "ok\n");
        put("metrics.prom", "# TYPE x\ntidbnumad_sample_interval_seconds 100\n", 301);
        check_status("/healthz", 503, "the snapshot is 301.000 s old, more than 300.000 s");
        put("metrics.prom", "tidbnumad_sample_interval_seconds 0.5\n", 59); /* never below 60 s */
        check_status("/healthz", 200, "ok\n");
        put("metrics.prom", "tidbnumad_sample_interval_seconds 0.5\n", 61);
        check_status("/healthz", 503, "more than 60.000 s");
}

/* A daemon that has stopped publishes that last: its snapshot is fresh for a minute. */
TEST(health_after_a_stop, .setup_func = store_setup, .teardown_func = store_teardown) {
        put("metrics.prom", "# TYPE x\ntidbnumad_ready 1\n", 0);
        check_status("/healthz", 200, "ok\n");
        put("metrics.prom", "# TYPE x\ntidbnumad_ready 0\n", 0);
        check_status("/healthz", 503, "not ready: tidbnumad has stopped");
}

TEST(health_without_a_usable_interval, .setup_func = store_setup, .teardown_func = store_teardown) {
        static const char *const files[] = { "",
                                             "x_tidbnumad_sample_interval_seconds 100\n",
                                             "# tidbnumad_sample_interval_seconds 100\n",
                                             "tidbnumad_sample_interval_seconds ",
                                             "tidbnumad_sample_interval_seconds nan\n",
                                             "tidbnumad_sample_interval_seconds -100\n",
                                             "tidbnumad_sample_interval_seconds 1e300\n" };

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                put("metrics.prom", files[i], 61);
                check_status("/healthz", 503, "more than 60.000 s");
        }
}

TEST(other_paths, .setup_func = store_setup, .teardown_func = store_teardown) {
        check_status("/", 200, "/metrics");
        check_status("/metrics/", 404, "not found");
        check_status("http://localhost", 200, "/metrics");
        check_status("HTTP://localhost:9797/", 200, "/metrics");
        check_status("http://localhost/healthz", 503, "");
        check_status("http://localhost/undo", 404, "not found");
        check_status("https://localhost/", 404, "not found");
        check_status("/../etc/passwd", 404, "not found");
        check_status("/undo", 404, "not found");
        check_status("/metrics.prom", 404, "not found");
}

TEST(link_is_not_followed, .setup_func = store_setup, .teardown_func = store_teardown) {
        put("target", "secret\n", 0);
        assert_int_equal(symlink("target", fmt("%s/metrics.prom", fixture.dir)), 0);
        check_status("/metrics", 503, "is not a regular file");
}
