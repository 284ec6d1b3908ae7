/* Sets of ids: the list form and the mask in both directions, refusals, D-Bus bytes. */
#include <time.h>

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"

static void assert_round_trip(const char *text, const char *expected) {
        char buffer[ID_SET_LIST_MAX];
        CpuSet set;

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
        assert_round_trip("0-7:1/2,9", "0,2,4,6,9");
        assert_round_trip("4-12:2/4", "4-5,8-9,12");
        assert_round_trip("3:1/1", "3");
        assert_round_trip("63,64,65", "63-65");
        assert_round_trip("62-129", "62-129");
        assert_round_trip("64-127", "64-127");
        assert_round_trip("0-8191", "0-8191");
        assert_round_trip("62-66:3/5,127-140:13/13", "62-64,127-140");
        assert_round_trip("  5-5 ", "5");
        assert_round_trip("8191", "8191");
}

TEST(list_refuses) {
        static const char *const bad[] = { "a",     "1-",      "-1",      "1,",    ",1",
                                           "1,,2",  "3-1",     "1 2",     "0x1",   "1-2-3",
                                           "0-8:2", "0-8:0/4", "0-8:5/4", "0-8:/4" };
        CpuSet set = { { 7 } };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_int_equal(id_set_parse_list(bad[i], &set), -EINVAL);
        assert_int_equal(id_set_parse_list("8192", &set), -ERANGE);
        assert_int_equal(id_set_parse_list("0-4294967296", &set), -ERANGE);
        assert_int_equal(set.words[0], 7); /* untouched on failure */
}

/* As much as a policy file can hold, of one part again and again; returns the CPU time. */
static clock_t parse_without_end(const char *part) {
        const size_t length = strlen(part), n = (1 << 20) / length;
        _cleanup_free_ char *text = malloc(n * length + 2);
        clock_t begun;
        CpuSet set;

        assert_non_null(text);
        for (size_t k = 0; k < n; k++)
                memcpy(text + k * length, part, length + 1);
        strcat(text, "0");
        begun = clock();
        assert_int_equal(id_set_parse_list(text, &set), 0);
        return clock() - begun;
}

/* The loop waits for it: a range goes word by word, and not CPU by CPU, which takes some 500 times
 * as long as a number does. */
TEST(list_without_end) {
        const clock_t numbers = parse_without_end("8191,"), ranges = parse_without_end("0-8191,");

        assert_true(ranges < 100 * (numbers + 1000));
}

_Static_assert(!__builtin_types_compatible_p(CpuSet, NodeSet), "not to be mixed up");
_Static_assert(sizeof(NodeSet) == 128 && sizeof(CpuSet) == 1024, "as small as they can be");

/* The highest node is 1023: what a set of CPUs can hold and it cannot is refused or dropped, and
 * nothing is written past its end. */
TEST(nodes) {
        struct {
                NodeSet nodes;
                uint64_t after;
        } x = { .after = UINT64_MAX / 3 };
        uint8_t bytes[256];
        char text[64];
        CpuSet cpus;

        assert_int_equal(id_set_parse_list("1023,5", &x.nodes), 0);
        assert_int_equal(id_set_parse_list("0-1024", &x.nodes), -ERANGE);
        assert_int_equal(id_set_parse_mask("1,ffffffff", &x.nodes), 0);
        assert_int_equal(id_set_render_list(&x.nodes, text, sizeof(text)), 4);
        assert_string_equal(text, "0-32");
        id_set_add(&x.nodes, 1024);
        assert_false(id_set_has(&x.nodes, 1024));
        memset(bytes, 0xff, sizeof(bytes));
        id_target_from_bytes(bytes, sizeof(bytes), ID_TARGET(&x.nodes));
        assert_int_equal(id_set_count(&x.nodes), NODE_SET_MAX);
        assert_int_equal(id_set_next(&x.nodes, NODE_SET_MAX), -1);
        id_set_convert(&x.nodes, &cpus);
        assert_int_equal(id_set_count(&cpus), NODE_SET_MAX);
        id_set_add(&cpus, 8191);
        id_set_convert(&cpus, &x.nodes);
        assert_int_equal(id_set_count(&x.nodes), NODE_SET_MAX);
        assert_true(x.after == UINT64_MAX / 3);
}

TEST(render_needs_room) {
        char buffer[4] = "xyz";
        CpuSet set;

        assert_int_equal(id_set_parse_list("10-20", &set), 0);
        assert_int_equal(id_set_render_list(&set, buffer, sizeof(buffer)), -ENOSPC);
        assert_string_equal(buffer, "");
}

TEST(questions) {
        CpuSet a, b, c;

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
        assert_int_equal(id_set_next(&a, CPU_SET_MAX), -1);
        id_set_subtract(&a, &b);
        assert_int_equal(id_set_count(&a), 3);
        id_set_intersect(&a, &c);
        assert_true(id_set_is_empty(&a));
}

/* Sets of different types: what one of them cannot hold, it does not have. */
TEST(questions_to_different_widths) {
        static const struct {
                const char *nodes, *cpus;
                bool equal, nodes_in_cpus, cpus_in_nodes, common;
        } rows[] = {
                { "", "", true, true, true, false },
                { "5,1023", "5,1023", true, true, true, true },
                { "5", "5,1024", false, true, false, true },
                { "5", "8191", false, false, false, false },
                { "5,6", "5", false, false, true, true },
        };
        struct {
                NodeSet nodes;
                uint64_t after[CPU_SET_MAX / 64]; /* what is behind it is no part of it */
        } x;
        CpuSet cpus;

        memset(x.after, 0xff, sizeof(x.after));
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_int_equal(id_set_parse_list(rows[i].nodes, &x.nodes), 0);
                assert_int_equal(id_set_parse_list(rows[i].cpus, &cpus), 0);
                const IdView n = ID_VIEW(&x.nodes), c = ID_VIEW(&cpus);

                assert_int_equal(id_view_equal(n, c), rows[i].equal);
                assert_int_equal(id_view_equal(c, n), rows[i].equal);
                assert_int_equal(id_view_is_subset(n, c), rows[i].nodes_in_cpus);
                assert_int_equal(id_view_is_subset(c, n), rows[i].cpus_in_nodes);
                assert_int_equal(id_view_intersects(n, c), rows[i].common);
                assert_int_equal(id_view_intersects(c, n), rows[i].common);
        }
}

TEST(bytes) {
        uint8_t bytes[CPU_SET_MAX / 8], many[CPU_SET_MAX];
        CpuSet set, back;

        assert_int_equal(id_set_parse_list("0,9,64", &set), 0);
        assert_int_equal(id_view_to_bytes(ID_VIEW(&set), bytes), 9);
        assert_int_equal(bytes[0], 1);
        assert_int_equal(bytes[1], 2);
        assert_int_equal(bytes[8], 1);
        id_target_from_bytes(bytes, 9, ID_TARGET(&back));
        assert_true(id_set_equal(&back, &set));
        id_target_from_bytes(bytes, 1, ID_TARGET(&back));
        assert_true(id_set_has(&back, 0) && id_set_count(&back) == 1);
        /* What comes from outside may be longer than any set. */
        memset(many, 0xff, sizeof(many));
        id_target_from_bytes(many, sizeof(many), ID_TARGET(&back));
        assert_int_equal(id_set_count(&back), CPU_SET_MAX);
        assert_int_equal(id_set_parse_list("", &set), 0);
        assert_int_equal(id_view_to_bytes(ID_VIEW(&set), bytes), 0);
}

static void assert_mask(const char *text, const char *list, const char *rendered) {
        char buffer[ID_SET_MASK_MAX];
        CpuSet set, expected;

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
        CpuSet all, again;

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
        CpuSet set = { { 7 } };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_int_equal(id_set_parse_mask(bad[i], &set), -EINVAL);
        for (size_t i = 0; i < CPU_SET_MAX / 32; i++)
                strcat(wide, ",00000000");
        assert_int_equal(id_set_parse_mask(wide, &set), -ERANGE);
        assert_int_equal(set.words[0], 7); /* untouched on failure */
        wide[0] = '0';                     /* wider than any machine, and nothing in it */
        assert_int_equal(id_set_parse_mask(wide, &set), 0);
        assert_true(id_set_is_empty(&set));
}
