/* A store over a runtime directory of the test's. To be included after cmocka.h. */
#pragma once

#include "fixture.h"
#include "tidbnumad/exporter/answer.h"

static Fixture fixture;
static Store *store;

static inline int store_setup(void **state) {
        (void)state;
        fixture_init(&fixture);
        assert_int_equal(store_new(fixture.dir, &store), 0);
        return 0;
}

static inline int store_teardown(void **state) {
        (void)state;
        store_free(store);
        fixture_done(&fixture);
        return 0;
}
