/* Sets of ids: the list form and the mask in both directions, refusals, D-Bus bytes. */
#include <errno.h>
#include <string.h>

#include "../../support/test.h"

#include "tidbnumad/base/id-set.h"

static void assert_round_trip(const char *text, const char *expected) {
        char buffer[ID_SET_LIST_MAX];
        IdSet set;

        assert_int_equal(id_set_parse_list(text, &set), 0);
        assert_int_equal(id_set_render_list(&set, buffer, sizeof(buffer)), (int)strlen(expected));
        assert_string_equal(buffer, expected);
}

TEST(list_round_trip) {
        assert_round_trip("", "");
        assert_round_trip("\n", "");
        assert_round_trip("0", "0");
        assert_round_trip("0-3,8\n", "0-3,8");
        assert_round_trip("8,0,1,2,3", "0-3,8");
        assert_round_trip("63,64,65", "63-65");
        assert_round_trip("  5-5 ", "5");
        assert_round_trip("8191", "8191");
}

TEST(list_refuses) {
        static const char *const bad[] = { "a",   "1-",  "-1",  "1,",    ",1",     "1,,2",
                                           "3-1", "1 2", "0x1", "1-2-3", "0-8:2/4" };
        IdSet set = { { 7 } };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_int_equal(id_set_parse_list(bad[i], &set), -EINVAL);
        assert_int_equal(id_set_parse_list("8192", &set), -ERANGE);
        assert_int_equal(id_set_parse_list("0-4294967296", &set), -ERANGE);
        assert_int_equal(set.words[0], 7); /* untouched on failure */
}

TEST(render_needs_room) {
        char buffer[4] = "xyz";
        IdSet set;

        assert_int_equal(id_set_parse_list("10-20", &set), 0);
        assert_int_equal(id_set_render_list(&set, buffer, sizeof(buffer)), -ENOSPC);
        assert_string_equal(buffer, "");
}

TEST(questions) {
        IdSet a, b, c;

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

TEST(bytes) {
        uint8_t bytes[ID_SET_MAX / 8], many[ID_SET_MAX];
        IdSet set, back;

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

static void assert_mask(const char *text, const char *list, const char *rendered) {
        char buffer[ID_SET_MASK_MAX];
        IdSet set, expected;

        assert_int_equal(id_set_parse_mask(text, &set), 0);
        assert_int_equal(id_set_parse_list(list, &expected), 0);
        assert_true(id_set_equal(&set, &expected));
        assert_int_equal(id_set_render_mask(&set, buffer, sizeof(buffer)), (int)strlen(rendered));
        assert_string_equal(buffer, rendered);
}

TEST(mask_round_trip) {
        assert_mask("0", "", "00000000");
        assert_mask("1\n", "0", "00000001");
        assert_mask("ff", "0-7", "000000ff");
        assert_mask("aF0", "4-7,9,11", "00000af0");
        assert_mask("80000000", "31", "80000000");
        assert_mask("1,00000000", "32", "00000001,00000000");
        assert_mask("3,80000000,5", "0,2,63,64-65", "00000003,80000000,00000005");
        assert_mask(" 00000000,00000000,00000000,00000010 ", "4", "00000010");
}

/* Every member, the highest too, fits into ID_SET_MASK_MAX; and no byte less will do. */
TEST(mask_of_all) {
        char buffer[ID_SET_MASK_MAX];
        IdSet all, again;

        memset(&all, 0xff, sizeof(all));
        assert_int_equal(id_set_render_mask(&all, buffer, sizeof(buffer)), sizeof(buffer) - 1);
        assert_int_equal(id_set_parse_mask(buffer, &again), 0);
        assert_true(id_set_equal(&all, &again));
        assert_int_equal(id_set_render_mask(&all, buffer, sizeof(buffer) - 1), -ENOSPC);
        assert_string_equal(buffer, "");
        assert_int_equal(id_set_render_mask(&all, buffer, 0), -ENOSPC);
}

TEST(mask_refuses) {
        static const char *const bad[] = { "",  " ",   ",",  "1,",  ",1",        "1,,2",
                                           "g", "0x1", "-1", "1 2", "123456789", "1,000000000" };
        char wide[ID_SET_MASK_MAX + 16] = "1";
        IdSet set = { { 7 } };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_int_equal(id_set_parse_mask(bad[i], &set), -EINVAL);
        for (size_t i = 0; i < ID_SET_MAX / 32; i++)
                strcat(wide, ",00000000");
        assert_int_equal(id_set_parse_mask(wide, &set), -ERANGE);
        assert_int_equal(set.words[0], 7); /* untouched on failure */
        wide[0] = '0';                     /* wider than any machine, and nothing in it */
        assert_int_equal(id_set_parse_mask(wide, &set), 0);
        assert_true(id_set_is_empty(&set));
}
