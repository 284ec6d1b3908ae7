/* What is made once, what is made anew, and what slow clients hold back. */

#include "../../support/test.h"

#include "tidbnumad/exporter/store.h"

#include "store-fixture.h"

static void put(const char *name, const char *data) {
        fixture_write(&fixture, name, data, strlen(data), 1780000000, 0);
}

static StoreBody *take(StoreForm form, bool gzip) {
        StoreBody *body = NULL;

        assert_int_equal(store_take(store, form, gzip, &body), 0);
        assert_int_equal(body->gzip, gzip);
        return body;
}

static void check(StoreForm form, const char *expected) {
        StoreBody *body = take(form, false);

        assert_int_equal(body->size, strlen(expected));
        assert_memory_equal(body->data, expected, body->size);
        store_put_back(store, body);
}

TEST(forms, .setup_func = store_setup, .teardown_func = store_teardown) {
        put("metrics.prom", "# TYPE a_total counter\na_total 1");
        put("status.json", "{}");
        check(STORE_METRICS, "# TYPE a_total counter\na_total 1\n");
        check(STORE_OPENMETRICS, "# TYPE a counter\na_total 1\n");
        check(STORE_STATUS, "{}");
}

TEST(each_is_made_once, .setup_func = store_setup, .teardown_func = store_teardown) {
        put("metrics.prom", "a 1\n");
        put("status.json", "{}");
        for (int i = 0; i < 10; i++)
                for (StoreForm form = 0; form < _STORE_FORM_MAX; form++) {
                        store_put_back(store, take(form, false));
                        store_put_back(store, take(form, true));
                }
        assert_int_equal(store_n_made(store), 6);
}

/* Of the same size and time: that it is another file must be enough. */
TEST(a_new_snapshot_is_made_anew, .setup_func = store_setup, .teardown_func = store_teardown) {
        StoreBody *old;

        put("metrics.prom", "a 1\n");
        old = take(STORE_METRICS, false);
        put("metrics.prom", "a 2\n");
        check(STORE_METRICS, "a 2\n");
        check(STORE_OPENMETRICS, "a 2\n");
        assert_memory_equal(old->data, "a 1\n", 4); /* who has begun with it ends with it */
        store_put_back(store, old);
        check(STORE_METRICS, "a 2\n");
        assert_int_equal(store_n_made(store), 3);
}

TEST(what_is_not_there, .setup_func = store_setup, .teardown_func = store_teardown) {
        StoreBody *body = NULL;

        assert_int_equal(store_take(store, STORE_STATUS, true, &body), -ENOENT);
        assert_null(body);
        put("status.json", "{}");
        check(STORE_STATUS, "{}");
        assert_int_equal(unlink(fixture_path(&fixture, "status.json")), 0);
        assert_int_equal(store_take(store, STORE_STATUS, false, &body), -ENOENT);
}

/* Only what is old and still held counts, in every form. */
TEST(crowded, .setup_func = store_setup, .teardown_func = store_teardown) {
        const size_t size = STORE_OLD_BYTES_MAX / 2;
        _cleanup_free_ char *data = calloc(1, size + 2);
        StoreBody *held[3];

        memset(data, '\n', size);
        for (int i = 0; i < 10; i++) { /* nobody holds these */
                put("metrics.prom", data);
                store_put_back(store, take(STORE_METRICS, false));
        }
        assert_false(store_is_crowded(store));
        for (int i = 0; i < 3; i++) {
                put("metrics.prom", data);
                held[i] = take(STORE_METRICS, false);
                assert_false(
                        store_is_crowded(store)); /* two old ones are not more than it may be */
        }
        data[0] = 'x';
        put("metrics.prom", data);
        store_put_back(store, take(STORE_OPENMETRICS, false));
        assert_true(store_is_crowded(store));
        store_put_back(store, held[0]);
        assert_false(store_is_crowded(store));
        store_put_back(store, held[1]);
        store_put_back(store, held[2]);
}
