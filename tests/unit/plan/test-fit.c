/* Does it fit, and where does the next piece go? */

#include "../../support/test.h"

#include "tidbnumad/plan/guard.h"

#define GIB(n) (UINT64_C(n) << 30)
#define TIB(n) (UINT64_C(n) << 40)

TEST(headroom) {
        assert_int_equal(fit_headroom_bytes(5000, 0), 100);
        assert_int_equal(fit_headroom_bytes(5000, 33), 100);
        assert_int_equal(fit_headroom_bytes(5000, 34), 102);
        assert_int_equal(fit_headroom_bytes(0, 0), 0);
        assert_int_equal(fit_headroom_bytes(TIB(64), GIB(1)), TIB(64) / 50);
}

TEST(check_at_the_border) {
        NodeRoom room = { .free_bytes = 1000, .headroom_bytes = 300 };
        uint64_t missing = 7;

        assert_true(fit_check(&room, 1, 700, &missing));
        assert_int_equal(missing, 0);
        assert_false(fit_check(&room, 1, 701, &missing));
        assert_int_equal(missing, 1);
        assert_false(fit_check(&room, 1, 701, NULL));
        room.reclaimable_bytes = 50;
        assert_true(fit_check(&room, 1, 750, NULL));
        assert_false(fit_check(&room, 1, 751, NULL));
        room.promised_bytes = 100;
        assert_true(fit_check(&room, 1, 650, NULL));
        assert_false(fit_check(&room, 1, 651, &missing));
        assert_int_equal(missing, 1);
}

/* A node that is over its headroom or over what it was promised has no room; it takes none from
 * the others. */
TEST(a_full_node_does_not_count_below_zero) {
        NodeRoom rooms[3] = { { .free_bytes = 100, .headroom_bytes = 5000 },
                              { .free_bytes = 1000, .promised_bytes = 9000 },
                              { .free_bytes = 400, .headroom_bytes = 100 } };
        uint64_t missing;

        assert_true(fit_check(rooms, 3, 300, NULL));
        assert_false(fit_check(rooms, 3, 301, &missing));
        assert_int_equal(missing, 1);
}

TEST(nothing_always_fits) {
        NodeRoom full = { .headroom_bytes = 1 };

        assert_true(fit_check(&full, 1, 0, NULL));
        assert_true(fit_check(NULL, 0, 0, NULL));
        assert_false(fit_check(NULL, 0, 1, NULL));
}

TEST(large_machines) {
        NodeRoom rooms[1024];
        uint64_t missing;

        for (uint32_t i = 0; i < 1024; i++)
                rooms[i] = (NodeRoom){ .node = i,
                                       .free_bytes = TIB(60),
                                       .reclaimable_bytes = TIB(4),
                                       .headroom_bytes = TIB(1) };
        assert_true(fit_check(rooms, 1024, TIB(63) * 1024, &missing));
        assert_false(fit_check(rooms, 1024, UINT64_MAX, &missing));
        assert_int_equal(missing, UINT64_MAX - TIB(63) * 1024);
        rooms[0] = (NodeRoom){ .free_bytes = 1, .headroom_bytes = UINT64_MAX };
        rooms[1] = (NodeRoom){ .free_bytes = 1, .promised_bytes = UINT64_MAX };
        assert_true(fit_check(rooms, 2, 0, NULL));
        assert_false(fit_check(rooms, 2, 1, NULL));
}

TEST(best_node) {
        NodeRoom rooms[3] = { { .node = 4, .free_bytes = 500, .headroom_bytes = 100 },
                              { .node = 5, .free_bytes = 900, .headroom_bytes = 600 },
                              { .node = 6, .free_bytes = 200, .reclaimable_bytes = 250 } };

        assert_int_equal(fit_best(rooms, 3, 1), 2); /* 400, 300, 450 above the headroom */
        rooms[2].headroom_bytes = 60;
        assert_int_equal(fit_best(rooms, 3, 1), 0);
        /* What others were promised does not count here: they compete piece by piece. */
        rooms[0].promised_bytes = 10000;
        assert_int_equal(fit_best(rooms, 3, 1), 0);
        assert_int_equal(fit_best(rooms, 3, 400), 0);
        assert_int_equal(fit_best(rooms, 3, 401), -1);
        rooms[0].free_bytes = 50;
        assert_int_equal(fit_best(rooms, 3, 300), 2);
        assert_int_equal(fit_best(rooms, 0, 1), -1);
}
