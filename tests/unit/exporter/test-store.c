/* What is read once, what is read again, and what slow clients hold back. */

#include "../../support/test.h"

#include "tidbnumad/exporter/store.h"

#include "store-fixture.h"

static void put(const char *name, const char *data) {
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

        assert_int_equal(body->file.size, strlen(expected));
        assert_memory_equal(body->file.data, expected, body->file.size);
        store_put_back(store, body);
}

TEST(files, .setup_func = store_setup, .teardown_func = store_teardown) {
        put("metrics.prom", "# TYPE a_total counter\na_total 1");
        put("status.json", "{}");
        check(STORE_METRICS, "# TYPE a_total counter\na_total 1\n");
        check(STORE_STATUS, "{}");
}

TEST(each_is_read_once, .setup_func = store_setup, .teardown_func = store_teardown) {
        put("metrics.prom", "a 1\n");
        put("status.json", "{}");
        for (StoreFile file = 0; file < _STORE_FILE_MAX; file++) {
                StoreBody *first = take(file), *second = take(file);

                assert_ptr_equal(first, second);
                store_put_back(store, first);
                store_put_back(store, second);
                rewrite_in_place(file == STORE_METRICS ? "metrics.prom" : "status.json", "x");
                first = take(file);
                assert_memory_equal(first->file.data, file == STORE_METRICS ? "a" : "{", 1);
                store_put_back(store, first);
        }
}

/* Of the same size and time: that it is another file must be enough. */
TEST(a_new_snapshot_is_read, .setup_func = store_setup, .teardown_func = store_teardown) {
        StoreBody *old;

        put("metrics.prom", "a 1\n");
        old = take(STORE_METRICS);
        put("metrics.prom", "a 2\n");
        check(STORE_METRICS, "a 2\n");
        assert_memory_equal(old->file.data, "a 1\n", 4); /* who has begun with it ends with it */
        store_put_back(store, old);
        check(STORE_METRICS, "a 2\n");
}

TEST(what_is_not_there, .setup_func = store_setup, .teardown_func = store_teardown) {
        StoreBody *body = NULL;

        assert_int_equal(store_take(store, STORE_STATUS, &body), -ENOENT);
        assert_null(body);
        put("status.json", "{}");
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
                put("metrics.prom", data);
                store_put_back(store, take(STORE_METRICS));
        }
        for (int i = 0; i < 3; i++) {
                put("metrics.prom", data);
                held[i] = take(STORE_METRICS);
                assert_false(store_is_crowded(store));
        }
        data[0] = 'x';
        put("metrics.prom", data);
        body = take(STORE_METRICS);
        assert_ptr_equal(body, held[2]);
        store_put_back(store, body);
        assert_true(store_is_crowded(store));
        store_put_back(store, held[0]);
        assert_false(store_is_crowded(store));
        body = take(STORE_METRICS);
        assert_int_equal(body->file.data[0], 'x');
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
        put("status.json", data);
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
        assert_int_equal(b->file.data[0], 'x');
        store_put_back(store, b);
}
