/* Sets in tests, written as the kernel's lists: "0-3,8". */
#pragma once

#include "test.h"
#include "tidbnumad/base/id-set.h"

static inline CpuSet cpu_set(const char *list) {
        CpuSet set;

        assert_int_equal(id_set_parse_list(list, &set), 0);
        return set;
}

static inline NodeSet node_set(const char *list) {
        NodeSet set;

        assert_int_equal(id_set_parse_list(list, &set), 0);
        return set;
}

static inline IdSet id_set(const char *list) {
        IdSet set;

        assert_int_equal(id_set_parse_list(list, &set), 0);
        return set;
}

static inline void assert_id_view(IdView set, const char *expected) {
        char list[ID_SET_LIST_MAX];

        assert_true(id_view_render_list(set, list, sizeof(list)) >= 0);
        assert_string_equal(list, expected);
}

/* Of either type, by value. */
#define assert_ids(set, expected)                                                                  \
        do {                                                                                       \
                const __auto_type set_ = (set);                                                    \
                assert_id_view(ID_VIEW(&set_), (expected));                                        \
        } while (0)
