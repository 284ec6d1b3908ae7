/* The guard: what is left on a node, and how fast it falls. */
#include "guard-node.h"

static void add_free(GuardNode *node, uint64_t usec, uint64_t free_bytes) {
        guard_add(node, &(GuardReading){ .usec = usec, .free_bytes = free_bytes });
}

/* --- what is left, and how fast it falls --- */

TEST(nothing_is_known_at_first) {
        const GuardNode node = { .headroom_bytes = MIB(100) };
        const GuardOutlook o = predict(&node);

        assert_false(o.known);
        assert_int_equal(o.gone_usec, UINT64_MAX);
        assert_int_equal(guard_judge(&o), GUARD_QUIET);
        assert_int_equal(guard_judge(&(GuardOutlook){ 0 }), GUARD_QUIET);
}

TEST(what_is_left) {
        const GuardReading r = { .free_bytes = 1000,
                                 .inactive_file_bytes = 500,
                                 .active_file_bytes = 300,
                                 .unclean_bytes = 200 };
        GuardReading dirty = r;

        assert_int_equal(guard_left_bytes(&r), 1000 + 300 + 150);
        dirty.unclean_bytes = 501; /* takes nothing from what is free */
        assert_int_equal(guard_left_bytes(&dirty), 1000 + 150);
}

TEST(one_reading_tells_no_fall) {
        GuardNode node = { .headroom_bytes = MIB(100) };
        GuardOutlook o;

        add_free(&node, SEC(1), MIB(101));
        o = predict(&node);
        assert_true(o.known);
        assert_int_equal(o.room_bytes, MIB(1));
        assert_int_equal(o.headroom_bytes, MIB(100));
        assert_int_equal(o.fall_bytes_per_sec, 0);
        assert_int_equal(guard_judge(&o), GUARD_QUIET);
        add_free(&node, SEC(1.1), MIB(100)); /* in too short a time to tell, but it is gone */
        o = predict(&node);
        assert_int_equal(o.fall_bytes_per_sec, 0);
        assert_int_equal(o.gone_usec, 0);
        assert_int_equal(guard_judge(&o), GUARD_WIDEN);
}

TEST(below_the_headroom) {
        GuardNode node = { .headroom_bytes = MIB(100) };

        add_free(&node, SEC(1), MIB(100) + 1);
        assert_int_equal(judge(&node), GUARD_QUIET);
        add_free(&node, SEC(2), MIB(5)); /* rising or falling is of no matter */
        assert_int_equal(judge(&node), GUARD_WIDEN);
        add_free(&node, SEC(3), MIB(50));
        assert_int_equal(judge(&node), GUARD_WIDEN);
        add_free(&node, SEC(4), MIB(200)); /* it fell by 95 MiB in a second */
        assert_int_equal(judge(&node), GUARD_WATCH);
        add_free(&node, SEC(5), MIB(600));
        assert_int_equal(judge(&node), GUARD_QUIET);
}

/* It falls by 10 MiB a second: gone in 10 s, in 60 s. */
TEST(the_borders_in_time) {
        const struct {
                uint64_t room;
                GuardVerdict verdict;
        } cases[] = { { MIB(100), GUARD_WIDEN },
                      { MIB(100) + MIB(1), GUARD_WATCH },
                      { MIB(600), GUARD_WATCH },
                      { MIB(600) + MIB(1), GUARD_QUIET } };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                GuardNode node = { .headroom_bytes = MIB(50) };
                GuardOutlook o;

                for (unsigned s = 0; s <= 12; s++) /* it has taken more than the room */
                        add_free(&node, SEC(s + 1), MIB(50) + cases[i].room + MIB(10) * (12 - s));
                o = predict(&node);
                assert_int_equal(o.fall_bytes_per_sec, MIB(10));
                assert_int_equal(o.gone_usec, cases[i].room * 1000000 / MIB(10));
                assert_int_equal(guard_judge(&o), cases[i].verdict);
        }
}

/* MiB that are free each second, of a node of 377 with a headroom of 84, as the kernel's watermarks
 * make it: the growth of a server that starts. Not widened where it ends in time; one that goes on
 * is. */
TEST(a_start_ends) {
        static const struct {
                const char *what;
                unsigned free[16];
                int widened; /* the second; -1: never */
        } series[] = {
                { "a TiDB of 96 MiB that fits",
                  { 316, 316, 316, 309, 284, 252, 224, 220, 220, 220, 220, 220, 220, 220, 220,
                    220 },
                  -1 },
                { "in a second", { 316, 316, 316, 220, 220, 220, 220 }, -1 },
                { "in two steps",
                  { 316, 316, 280, 250, 250, 250, 250, 250, 225, 205, 190, 190, 190, 190 },
                  -1 },
                { "and goes on", /* half of 232 is taken at 200 */
                  { 316, 316, 316, 291, 266, 241, 216, 191, 166, 141, 116, 91, 66, 41, 16 },
                  7 },
                { "while little is left", { 110, 110, 110, 108, 106, 104, 102, 100 }, 5 },
        };

        for (size_t i = 0; i < ELEMENTSOF(series); i++) {
                GuardNode node = { .headroom_bytes = MIB(84) };
                int widened = -1;

                for (unsigned s = 0; s < 16 && series[i].free[s] && widened < 0; s++) {
                        add_free(&node, SEC(s + 1), MIB(series[i].free[s]));
                        if (judge(&node) == GUARD_WIDEN)
                                widened = (int)s;
                }
                print_message("%s: %d\n", series[i].what, widened);
                assert_int_equal(widened, series[i].widened);
        }
}

/* What a fall has taken counts from its begin, and a slow one before it does not. */
TEST(what_a_fall_has_taken) {
        GuardNode node = { .headroom_bytes = MIB(8) };

        for (unsigned s = 1; s <= 100; s++)
                add_free(&node, SEC(s), MIB(1000 - s)); /* in 900 s */
        assert_int_equal(predict(&node).taken_bytes, MIB(3));
        for (unsigned s = 101; s <= 104; s++)
                add_free(&node, SEC(s), MIB(900 - 50 * (s - 100)));
        assert_int_equal(predict(&node).taken_bytes, MIB(203));
        for (unsigned s = 105; s <= 107; s++)
                add_free(&node, SEC(s), MIB(700));
        assert_int_equal(predict(&node).taken_bytes, 0); /* it has ended */
}

TEST(what_is_true_of_the_nodes) {
        GuardOutlook o = { .known = true,
                           .room_bytes = MIB(100),
                           .headroom_bytes = MIB(10),
                           .gone_usec = UINT64_MAX };

        assert_int_equal(guard_reason(&o), REASON_NODE_FREED);
        o.gone_usec = GUARD_WATCH_USEC;
        assert_int_equal(guard_reason(&o), REASON_NODE_FILLING);
        o.room_bytes = o.gone_usec = 0;
        assert_int_equal(guard_reason(&o), REASON_NODE_FULL);
        o = (GuardOutlook){ .known = true,
                            .room_bytes = MIB(5),
                            .headroom_bytes = MIB(10),
                            .gone_usec = UINT64_MAX };
        assert_int_equal(guard_reason(&o), REASON_NODE_FULL); /* not yet room enough to return */
}

/* A burst that has ended, and one that has just begun. */
TEST(a_burst_is_no_fall) {
        GuardNode node = { .headroom_bytes = MIB(50) };

        for (unsigned s = 1; s <= 5; s++)
                add_free(&node, SEC(s), MIB(450));
        add_free(&node, SEC(6), MIB(350)); /* 3.5 s at the rate of the second, 9 at a third of it */
        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(100) / 3);
        add_free(&node, SEC(7), MIB(350));
        assert_int_equal(predict(&node).fall_bytes_per_sec, 0);
        assert_int_equal(judge(&node), GUARD_WATCH); /* one more would take a third of the room */
        /* And when it goes up again, it is none over the longer span either. */
        add_free(&node, SEC(8), MIB(460));
        add_free(&node, SEC(9), MIB(455));
        assert_int_equal(predict(&node).fall_bytes_per_sec, 0);
}

/* What fell fast once may do so again between two readings: with less than four seconds of that
 * left the node is read at the shorter interval, and otherwise it is calm. */
TEST(within_a_burst) {
        GuardNode node = { .headroom_bytes = MIB(50) };
        uint64_t since_usec = 0;
        GuardOutlook o;

        add_free(&node, SEC(1), MIB(1000));
        add_free(&node, SEC(2), MIB(900));
        for (unsigned s = 3; s <= 6; s++)
                add_free(&node, SEC(s), MIB(450));
        o = predict(&node);
        assert_int_equal(o.fall_bytes_per_sec, 0);
        assert_int_equal(o.burst_bytes_per_sec, MIB(450));
        assert_int_equal(guard_judge(&o), GUARD_WATCH);
        assert_false(guard_has_rested(&o, GUARD_CALM_USEC, &since_usec, SEC(7)));
        assert_true(guard_has_rested(&o, GUARD_CALM_USEC, &since_usec, SEC(7) + GUARD_CALM_USEC));
        add_free(&node, SEC(7), MIB(50 + 4 * 450));
        assert_int_equal(judge(&node), GUARD_QUIET);
        add_free(&node, SEC(8), MIB(50 + 4 * 450) - 4);
        assert_int_equal(judge(&node), GUARD_WATCH);
}

/* Of many readings in a second the right ones are compared, the whole ring around. */
TEST(spans_at_the_shorter_interval) {
        GuardNode node = { .headroom_bytes = 0 };
        uint64_t left = GIB(100);

        for (unsigned i = 1; i <= 95; i++) {
                left -= MIB(i < 60 ? 1 : 4); /* a tenth of a second each */
                add_free(&node, SEC(i) / 10, left);
                if (i == 59)
                        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(10));
                if (i == 69) /* the last second fell by 40, the last three by 60 together */
                        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(20));
                if (i == 95)
                        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(40));
        }
        for (unsigned i = 96; i <= 105; i++)
                add_free(&node, SEC(i) / 10, left -= MIB(1));
        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(10));
}

TEST(time_that_does_not_pass) {
        GuardNode node = { .headroom_bytes = MIB(1) };

        add_free(&node, SEC(5), MIB(100));
        add_free(&node, SEC(5), MIB(1));
        add_free(&node, SEC(4), MIB(1));
        assert_int_equal(predict(&node).room_bytes, MIB(99));
}

TEST(a_gap_ends_the_past) {
        GuardNode node = { .headroom_bytes = 0 };

        add_free(&node, SEC(1), GIB(10));
        add_free(&node, SEC(6), GIB(9)); /* 5 s: still one history */
        assert_int_equal(predict(&node).fall_bytes_per_sec, GIB(1) / 5);
        add_free(&node, SEC(11.1), GIB(1));
        assert_int_equal(predict(&node).fall_bytes_per_sec, 0);
        add_free(&node, SEC(12.1), GIB(1) - MIB(12)); /* what was before is taken for calm */
        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(4));
}

/* --- page cache --- */

/* A file is read, read again, and written: nothing is lost by that. */
TEST(cache_is_no_fall) {
        GuardReading r = { .free_bytes = GIB(20) };
        GuardNode node = { .headroom_bytes = GIB(1) };

        for (unsigned s = 1; s <= 60; s++) {
                r.usec = SEC(s);
                if (s <= 20) {
                        r.free_bytes -= MIB(1000);
                        r.inactive_file_bytes += MIB(1000);
                } else if (s <= 40) {
                        r.inactive_file_bytes -= MIB(1000);
                        r.active_file_bytes += MIB(1000);
                } else if (s <= 50)
                        r.unclean_bytes += MIB(200);
                guard_add(&node, &r);
                assert_int_equal(predict(&node).fall_bytes_per_sec, 0);
                assert_int_equal(judge(&node), GUARD_QUIET);
        }
}

/* What a database host is like all the time: nothing free, all of it cache. */
TEST(a_node_full_of_cache_is_not_full) {
        GuardReading r = { .free_bytes = MIB(200), .inactive_file_bytes = GIB(20) };
        GuardNode node = { .headroom_bytes = GIB(1) };

        r.usec = SEC(1);
        guard_add(&node, &r);
        assert_int_equal(judge(&node), GUARD_QUIET);
        /* The inactive list may be a twentieth of it all. */
        r = (GuardReading){ .usec = SEC(2),
                            .free_bytes = MIB(200),
                            .inactive_file_bytes = MIB(400),
                            .active_file_bytes = GIB(20) };
        guard_add(&node, &r);
        assert_int_equal(judge(&node), GUARD_QUIET);
        /* All of it waits for a disk that does not come after. */
        r = (GuardReading){ .usec = SEC(3),
                            .free_bytes = MIB(200),
                            .inactive_file_bytes = GIB(20),
                            .unclean_bytes = GIB(20) };
        guard_add(&node, &r);
        assert_int_equal(judge(&node), GUARD_WIDEN);
}

/* Programs take cache: that is a fall although MemFree does not change. */
TEST(taking_cache_is_a_fall) {
        GuardReading r = { .free_bytes = MIB(200), .inactive_file_bytes = GIB(4) };
        GuardNode node = { .headroom_bytes = GIB(1) };

        for (unsigned s = 1; s <= 5; s++) {
                r.usec = SEC(s);
                r.inactive_file_bytes -= MIB(500);
                guard_add(&node, &r);
        }
        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(500));
        assert_int_equal(judge(&node), GUARD_WIDEN);
}

/* Up to the rate that we move at, and as long as we do. */
TEST(what_we_move_there_is_no_fall) {
        GuardReading r = { .free_bytes = GIB(20), .pull_bytes_per_sec = MIB(256) };
        GuardNode node = { .headroom_bytes = GIB(1) };

        for (unsigned s = 1; s <= 10; s++) {
                r.usec = SEC(s);
                r.free_bytes -= MIB(266);
                guard_add(&node, &r);
        }
        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(10));
        for (unsigned s = 11; s <= 20; s++) { /* slower than it may be: that saves nothing up */
                r.usec = SEC(s);
                r.free_bytes -= MIB(100);
                guard_add(&node, &r);
        }
        assert_int_equal(predict(&node).fall_bytes_per_sec, 0);
        for (unsigned s = 21; s <= 30; s++) { /* the first second still had a part of the pass */
                r.usec = SEC(s);
                r.free_bytes -= MIB(100);
                r.pull_bytes_per_sec = 0;
                guard_add(&node, &r);
                if (s == 21)
                        assert_int_equal(predict(&node).fall_bytes_per_sec, 0);
                if (s == 22)
                        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(100) / 3);
        }
        assert_int_equal(predict(&node).fall_bytes_per_sec, MIB(100));
        r.pull_bytes_per_sec = MIB(256); /* a pass begins: what came before it is still known */
        r.usec = SEC(31);
        r.free_bytes -= MIB(200);
        guard_add(&node, &r);
        assert_int_equal(predict(&node).fall_bytes_per_sec, 0);
        r.usec = SEC(32);
        r.free_bytes += MIB(200); /* and nothing is made of what comes back */
        guard_add(&node, &r);
        assert_int_equal(predict(&node).fall_bytes_per_sec, 0);
}

/* --- several nodes --- */

TEST(a_set_of_nodes_is_one) {
        GuardNode nodes[3] = { { .node = 2, .headroom_bytes = MIB(100) },
                               { .node = 4, .headroom_bytes = MIB(200) },
                               { .node = 5, .headroom_bytes = MIB(400) } };
        const NodeSet both = node_set("2,4"), one = node_set("2"), other = node_set("7"),
                      none = node_set("");
        GuardOutlook o;

        for (unsigned s = 1; s <= 5; s++) {
                add_free(&nodes[0], SEC(s), MIB(50) - MIB(10) * s / 5);
                add_free(&nodes[1], SEC(s), GIB(2) - MIB(6) * s);
                add_free(&nodes[2], SEC(s), MIB(1));
        }
        o = guard_predict(nodes, 3, &one);
        assert_int_equal(guard_judge(&o), GUARD_WIDEN);
        o = guard_predict(nodes, 3, &both); /* what one lacks, it does not take from the other */
        assert_int_equal(o.room_bytes, GIB(2) - MIB(30) - MIB(200));
        assert_int_equal(o.headroom_bytes, MIB(300));
        assert_int_equal(o.fall_bytes_per_sec, MIB(8));
        assert_int_equal(guard_judge(&o), GUARD_QUIET);
        o = guard_predict(nodes, 3, &other);
        assert_false(o.known);
        o = guard_predict(nodes, 3, &none);
        assert_int_equal(guard_judge(&o), GUARD_QUIET);
}

/* One falls by what the other gains: nothing is lost. */
TEST(falls_of_a_set_are_summed) {
        GuardNode nodes[2] = { { .node = 0 }, { .node = 1 } };
        const NodeSet both = node_set("0-1");

        for (unsigned s = 1; s <= 5; s++) {
                add_free(&nodes[0], SEC(s), MIB(100) - MIB(10) * s);
                add_free(&nodes[1], SEC(s), MIB(100) + MIB(10) * s);
        }
        assert_int_equal(guard_predict(nodes, 2, &both).fall_bytes_per_sec, 0);
}
