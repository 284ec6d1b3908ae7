/* Paths to answers, with the clock in our hand. */
#include "../../support/test.h"

#include "fixture.h"
#include "store-fixture.h"

#include "tidbnumad/exporter/answer.h"

#define NOW 1780000000.0

static void put(const char *name, const char *data, double age_seconds) {
        fixture_write(&fixture, name, data, strlen(data), NOW, age_seconds);
}

/* Body and text as the client gets them. */
static void join(const Answer *answer, Text *ret) {
        if (answer->body)
                text_appendf(ret, "%.*s", (int)answer->body->size, answer->body->data);
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

/* --- What is read once, what is read again, and what slow clients hold back --- */

static void store_put(const char *name, const char *data) {
        fixture_write(&fixture, name, data, strlen(data), 1780000000, 0);
}

static StoreBody *take(StoreFile file) {
        StoreBody *body = NULL;

        assert_int_equal(store_take(store, file, &body), 0);
        return body;
}

/* What the store cannot see, unless it reads the file again: same file, size and time. */
static void rewrite_in_place(const char *name, const char *data) {
        const char *path = fixture_path(&fixture, name);
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        struct stat st;

        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(pwrite(fd, data, strlen(data), 0), strlen(data));
        assert_int_equal(futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim }), 0);
        close(fd);
}

static void check(StoreFile file, const char *expected) {
        StoreBody *body = take(file);

        assert_int_equal(body->size, strlen(expected));
        assert_memory_equal(body->data, expected, body->size);
        store_put_back(store, body);
}

TEST(files, .setup_func = store_setup, .teardown_func = store_teardown) {
        store_put("metrics.prom", "# TYPE a_total counter\na_total 1");
        store_put("status.json", "{}");
        check(STORE_METRICS, "# TYPE a_total counter\na_total 1\n");
        check(STORE_STATUS, "{}");
}

TEST(each_is_read_once, .setup_func = store_setup, .teardown_func = store_teardown) {
        store_put("metrics.prom", "a 1\n");
        store_put("status.json", "{}");
        for (StoreFile file = 0; file < _STORE_FILE_MAX; file++) {
                StoreBody *first = take(file), *second = take(file);

                assert_ptr_equal(first, second);
                store_put_back(store, first);
                store_put_back(store, second);
                rewrite_in_place(file == STORE_METRICS ? "metrics.prom" : "status.json", "x");
                first = take(file);
                assert_memory_equal(first->data, file == STORE_METRICS ? "a" : "{", 1);
                store_put_back(store, first);
        }
}

/* Of the same size and time: that it is another file must be enough. */
TEST(a_new_snapshot_is_read, .setup_func = store_setup, .teardown_func = store_teardown) {
        StoreBody *old;

        store_put("metrics.prom", "a 1\n");
        old = take(STORE_METRICS);
        store_put("metrics.prom", "a 2\n");
        check(STORE_METRICS, "a 2\n");
        assert_memory_equal(old->data, "a 1\n", 4); /* who has begun with it ends with it */
        store_put_back(store, old);
        check(STORE_METRICS, "a 2\n");
}

TEST(what_is_not_there, .setup_func = store_setup, .teardown_func = store_teardown) {
        StoreBody *body = NULL;

        assert_int_equal(store_take(store, STORE_STATUS, &body), -ENOENT);
        assert_null(body);
        store_put("status.json", "{}");
        check(STORE_STATUS, "{}");
        assert_int_equal(unlink(fixture_path(&fixture, "status.json")), 0);
        assert_int_equal(store_take(store, STORE_STATUS, &body), -ENOENT);
}

/* Only what is old and still held counts. For one that would be too much, the present one is
 * served on. */
TEST(crowded, .setup_func = store_setup, .teardown_func = store_teardown) {
        const size_t size = STORE_OLD_BYTES_MAX / 2;
        _cleanup_free_ char *data = calloc(1, size + 2);
        StoreBody *held[3], *body;

        memset(data, '\n', size);
        for (int i = 0; i < 10; i++) { /* no client holds these */
                store_put("metrics.prom", data);
                store_put_back(store, take(STORE_METRICS));
        }
        for (int i = 0; i < 3; i++) {
                store_put("metrics.prom", data);
                held[i] = take(STORE_METRICS);
                assert_false(store_is_crowded(store));
        }
        data[0] = 'x';
        store_put("metrics.prom", data);
        body = take(STORE_METRICS);
        assert_ptr_equal(body, held[2]);
        store_put_back(store, body);
        assert_true(store_is_crowded(store));
        store_put_back(store, held[0]);
        assert_false(store_is_crowded(store));
        body = take(STORE_METRICS);
        assert_int_equal(body->data[0], 'x');
        assert_false(store_is_crowded(store));
        store_put_back(store, body);
        store_put_back(store, held[1]);
        store_put_back(store, held[2]);
}

/* A large one is in memory only while a client fetches it. */
TEST(large_ones_are_not_kept, .setup_func = store_setup, .teardown_func = store_teardown) {
        _cleanup_free_ char *data = calloc(1, STORE_KEPT_BYTES_MAX + 2);
        StoreBody *a, *b;

        memset(data, '\n', STORE_KEPT_BYTES_MAX + 1);
        store_put("status.json", data);
        a = take(STORE_STATUS);
        b = take(STORE_STATUS);
        assert_ptr_equal(a, b);
        store_put_back(store, a);
        rewrite_in_place("status.json", "x");
        a = take(STORE_STATUS);
        assert_ptr_equal(a, b); /* a client still has it */
        store_put_back(store, a);
        store_put_back(store, b);
        b = take(STORE_STATUS);
        assert_int_equal(b->data[0], 'x');
        store_put_back(store, b);
}

/* --- Only regular files of plausible size are read, and whole --- */

static int try_metrics(void) {
        StoreBody *body = NULL;
        int r = store_take(store, STORE_METRICS, &body);

        if (r >= 0)
                store_put_back(store, body);
        else
                assert_null(body); /* untouched */
        return r;
}

TEST(links_and_fifos, .setup_func = store_setup, .teardown_func = store_teardown) {
        char path[128];

        store_put("target", "x");
        (void)snprintf(path, sizeof(path), "%s/metrics.prom", fixture.dir);
        assert_int_equal(symlink("target", path), 0);
        assert_int_equal(try_metrics(), -ELOOP);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0644), 0);
        (void)alarm(10); /* a blocking open() ends the test badly */
        assert_int_equal(try_metrics(), -EBADF);
        (void)alarm(0);
}

TEST(too_large, .setup_func = store_setup, .teardown_func = store_teardown) {
        char path[128];

        store_put("metrics.prom", "");
        (void)snprintf(path, sizeof(path), "%s/metrics.prom", fixture.dir);
        assert_int_equal(truncate(path, (off_t)SNAPSHOT_FILE_MAX + 1), 0);
        assert_int_equal(try_metrics(), -EFBIG);
        assert_int_equal(truncate(path, (off_t)SNAPSHOT_FILE_MAX), 0);
        assert_int_equal(try_metrics(), 0);
}
