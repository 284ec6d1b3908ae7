/* Sets of ids: the list form in both directions, refusals, D-Bus bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tidbnumad/base/id-set.h"

static void assert_round_trip(const char *text, const char *expected) {
        char buffer[ID_SET_LIST_MAX];
        IdSet set;

        assert_int_equal(id_set_parse_list(text, &set), 0);
        assert_int_equal(id_set_render_list(&set, buffer, sizeof(buffer)), (int)strlen(expected));
        assert_string_equal(buffer, expected);
}

static void test_list_round_trip(void **state) {
        (void)state;
        assert_round_trip("", "");
        assert_round_trip("\n", "");
        assert_round_trip("0", "0");
        assert_round_trip("0-3,8\n", "0-3,8");
        assert_round_trip("8,0,1,2,3", "0-3,8");
        assert_round_trip("63,64,65", "63-65");
        assert_round_trip("  5-5 ", "5");
        assert_round_trip("8191", "8191");
}

static void test_list_refuses(void **state) {
        static const char *const bad[] = { "a",   "1-",  "-1",  "1,",    ",1",     "1,,2",
                                           "3-1", "1 2", "0x1", "1-2-3", "0-8:2/4" };
        IdSet set = { { 7 } };

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_int_equal(id_set_parse_list(bad[i], &set), -EINVAL);
        assert_int_equal(id_set_parse_list("8192", &set), -ERANGE);
        assert_int_equal(id_set_parse_list("0-4294967296", &set), -ERANGE);
        assert_int_equal(set.words[0], 7); /* untouched on failure */
}

static void test_render_needs_room(void **state) {
        char buffer[4] = "xyz";
        IdSet set;

        (void)state;
        assert_int_equal(id_set_parse_list("10-20", &set), 0);
        assert_int_equal(id_set_render_list(&set, buffer, sizeof(buffer)), -ENOSPC);
        assert_string_equal(buffer, "");
}

static void test_questions(void **state) {
        IdSet a, b, c;

        (void)state;
        assert_int_equal(id_set_parse_list("0-3,70", &a), 0);
        assert_int_equal(id_set_parse_list("2,70", &b), 0);
        assert_int_equal(id_set_parse_list("4", &c), 0);
        assert_true(id_set_is_subset(&b, &a));
        assert_false(id_set_is_subset(&a, &b));
        assert_true(id_set_intersects(&a, &b));
        assert_false(id_set_intersects(&a, &c));
        assert_int_equal(id_set_count(&a), 5);
        assert_int_equal(id_set_next(&a, 4), 70);
        assert_int_equal(id_set_next(&a, 71), -1);
        assert_int_equal(id_set_next(&a, ID_SET_MAX), -1);
        id_set_remove_all(&a, &b);
        assert_int_equal(id_set_count(&a), 3);
        id_set_keep_only(&a, &c);
        assert_true(id_set_is_empty(&a));
}

static void test_bytes(void **state) {
        uint8_t bytes[ID_SET_MAX / 8], many[ID_SET_MAX];
        IdSet set, back;

        (void)state;
        assert_int_equal(id_set_parse_list("0,9,64", &set), 0);
        assert_int_equal(id_set_to_bytes(&set, bytes), 9);
        assert_int_equal(bytes[0], 1);
        assert_int_equal(bytes[1], 2);
        assert_int_equal(bytes[8], 1);
        back = id_set_from_bytes(bytes, 9);
        assert_true(id_set_equal(&back, &set));
        back = id_set_from_bytes(bytes, 1);
        assert_true(id_set_has(&back, 0) && id_set_count(&back) == 1);
        /* What comes from outside may be longer than any set. */
        memset(many, 0xff, sizeof(many));
        back = id_set_from_bytes(many, sizeof(many));
        assert_int_equal(id_set_count(&back), ID_SET_MAX);
        assert_int_equal(id_set_parse_list("", &set), 0);
        assert_int_equal(id_set_to_bytes(&set, bytes), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_list_round_trip),
                cmocka_unit_test(test_list_refuses),
                cmocka_unit_test(test_render_needs_room),
                cmocka_unit_test(test_questions),
                cmocka_unit_test(test_bytes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
