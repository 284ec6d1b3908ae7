/* Sets of ids as lists, in tests. To be included after cmocka.h. */
#pragma once

#include "tidbnumad/base/id-set.h"

static inline IdSet ids(const char *list) {
        IdSet set;

        assert_int_equal(id_set_parse_list(list, &set), 0);
        return set;
}

static inline void assert_ids(IdSet set, const char *expected) {
        char list[ID_SET_LIST_MAX];

        assert_true(id_set_render_list(&set, list, sizeof(list)) >= 0);
        assert_string_equal(list, expected);
}
