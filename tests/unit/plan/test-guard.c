/* The guard: what is left on a node, and how fast it falls. */
#include "../../support/test.h"

#include "guard-node.h"

#include "tidbnumad/plan/guard.h"

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

TEST(far_from_full) {
        static const struct {
                uint64_t room_gib, burst_gib, gone_seconds;
                bool known, far;
        } cases[] = {
                { 64, 0, 3600, true, true },   { 63, 0, 3600, true, false },
                { 64, 0, 3600, false, false }, /* not read */
                { 64, 0, 60, true, false },    /* it falls */
                { 64, 9, 3600, true, false },  /* it once fell faster */
                { 80, 9, 3600, true, true },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const GuardOutlook o = { .known = cases[i].known,
                                         .room_bytes = cases[i].room_gib << 30,
                                         .burst_bytes_per_sec = cases[i].burst_gib << 30,
                                         .gone_usec = SEC(cases[i].gone_seconds) };

                assert_int_equal(guard_is_far(&o), cases[i].far);
        }
}

/* At the longest interval a fall is known by the reading after it has begun, and soon enough. */
TEST(a_fall_from_far) {
        GuardNode node = { .headroom_bytes = MIB(1000) };
        GuardOutlook o;

        add_free(&node, SEC(4), MIB(68000));
        o = predict(&node);
        assert_true(guard_is_far(&o));
        add_free(&node, SEC(8), MIB(68000 - 4 * 8000));
        o = predict(&node);
        assert_false(guard_is_far(&o));
        assert_in_range(o.fall_bytes_per_sec, MIB(7900), MIB(8000));
        assert_int_equal(guard_judge(&o), GUARD_WATCH); /* from now on it is read often */
        add_free(&node, SEC(8.1), MIB(68000 - 4.1 * 8000));
        assert_int_equal(judge(&node), GUARD_WATCH);
        add_free(&node, SEC(8.3), MIB(68000 - 4.3 * 8000));
        assert_int_equal(judge(&node), GUARD_WIDEN);
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

/* --- The guard: when to narrow again, which node to widen to, and whole histories --- */

enum { HISTORIES = 3000 };

static uint32_t next_number(uint32_t *seed, uint32_t below) {
        *seed = *seed * 1664525u + 1013904223u;
        return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

/* --- narrowing again --- */

static GuardOutlook calm_outlook(void) {
        return (GuardOutlook){ .known = true,
                               .room_bytes = MIB(100),
                               .headroom_bytes = MIB(100),
                               .gone_usec = GUARD_WATCH_USEC + 1 };
}

TEST(a_minute_of_rest) {
        const GuardOutlook calm = calm_outlook();
        GuardOutlook o = calm;
        uint64_t since = 0;

        assert_false(guard_has_rested(&calm, GUARD_CALM_USEC, &since, SEC(100)));
        assert_int_equal(since, SEC(100));
        assert_false(guard_has_rested(&calm, GUARD_CALM_USEC, &since, SEC(160) - 1));
        assert_true(guard_has_rested(&calm, GUARD_CALM_USEC, &since, SEC(160)));
        assert_true(guard_has_rested(&calm, GUARD_CALM_USEC, &since, SEC(500)));
        o.room_bytes--; /* a moment without room: from the start */
        assert_false(guard_has_rested(&o, GUARD_CALM_USEC, &since, SEC(501)));
        assert_int_equal(since, 0);
        assert_false(guard_has_rested(&calm, GUARD_CALM_USEC, &since, SEC(502)));
        assert_true(guard_has_rested(&calm, GUARD_CALM_USEC, &since, SEC(562)));
        o = calm;
        o.gone_usec = GUARD_WATCH_USEC; /* a fall */
        assert_false(guard_has_rested(&o, GUARD_CALM_USEC, &since, SEC(563)));
        assert_int_equal(since, 0);
        o = calm;
        o.known = false;
        since = SEC(1);
        assert_false(guard_has_rested(&o, GUARD_CALM_USEC, &since, SEC(564)));
        assert_int_equal(since, 0);
}

/* --- which node --- */

/* As the EPYC host: two sockets of four nodes. */
static void make_topology(Topology *t, Node *nodes, uint16_t *distances) {
        *t = (Topology){ .nodes = nodes, .n_nodes = 8, .distances = distances };
        for (uint32_t i = 0; i < 8; i++) {
                nodes[i] = (Node){ .id = i, .package = i / 4, .memory_bytes = GIB(1) };
                id_set_add(&nodes[i].cpus, i);
                for (uint32_t k = 0; k < 8; k++)
                        distances[i * 8 + k] = i == k ? 10 : i / 4 == k / 4 ? 12 : 28;
        }
}

typedef struct Search {
        Node nodes[8];
        uint16_t distances[64];
        Topology topology;
        NodeSet home, blocked, reserved;
        NodeRoom rooms[8];
        GuardSearch search;
} Search;

/* Home is 1; all have a GiB of room above 100 MiB. */
static void search_init(Search *s) {
        *s = (Search){ .home = node_set("1"), .blocked = node_set("1"), .reserved = node_set("") };
        make_topology(&s->topology, s->nodes, s->distances);
        for (uint32_t i = 0; i < 8; i++)
                s->rooms[i] = (NodeRoom){ .node = i,
                                          .free_bytes = MIB(1124),
                                          .headroom_bytes = MIB(100) };
        s->search = (GuardSearch){ .topology = &s->topology,
                                   .home = &s->home,
                                   .blocked = &s->blocked,
                                   .reserved = &s->reserved,
                                   .rooms = s->rooms,
                                   .n_rooms = 8,
                                   .want_bytes = MIB(500) };
}

#define SEARCH_TEST(test) TEST_WITH(test, Search, s, search_init, test_no_done)

static void set_room(Search *s, uint32_t node, uint64_t bytes) {
        s->rooms[node].free_bytes = s->rooms[node].headroom_bytes + bytes;
}

SEARCH_TEST(the_nearest_node) {
        set_room(s, 6, GIB(9));
        assert_int_equal(guard_choose(&s->search), 0); /* of equal ones the first */
        set_room(s, 3, MIB(1025));                     /* of equally near ones that with the most */
        assert_int_equal(guard_choose(&s->search), 3);
        s->rooms[3].promised_bytes = MIB(2);
        assert_int_equal(guard_choose(&s->search), 0);
        s->blocked = node_set("0-2");
        assert_int_equal(guard_choose(&s->search), 3);
        s->blocked = node_set("0-3");
        assert_int_equal(guard_choose(&s->search), 6);
        s->home = node_set("1,5"); /* near one of them is near */
        s->blocked = node_set("1,5,6");
        set_room(s, 7, GIB(2));
        assert_int_equal(guard_choose(&s->search), 7);
}

SEARCH_TEST(room_that_lasts) {
        for (uint32_t i = 0; i < 4; i++)
                set_room(s, i, MIB(499));
        assert_int_equal(guard_choose(&s->search), 4);
        set_room(s, 2, MIB(500));
        assert_int_equal(guard_choose(&s->search), 2);
        /* Far ones last but for a little longer. */
        for (uint32_t i = 0; i < 8; i++)
                set_room(s, i, i < 4 ? MIB(499) : MIB(600));
        assert_int_equal(guard_choose(&s->search), 0);
        /* Its own headroom twice, however slow the fall. */
        s->search.want_bytes = 0;
        for (uint32_t i = 0; i < 8; i++)
                set_room(s, i, MIB(99));
        set_room(s, 7, MIB(100));
        assert_int_equal(guard_choose(&s->search), 7);
        /* None lasts: a near one, unless another has more than twice as much. Cache counts. */
        set_room(s, 7, MIB(50));
        s->rooms[3].reclaimable_bytes = 1;
        assert_int_equal(guard_choose(&s->search), 3);
        for (uint32_t i = 0; i < 4; i++)
                set_room(s, i, MIB(49));
        s->rooms[3].reclaimable_bytes = 0;
        s->rooms[5].reclaimable_bytes = 1;
        assert_int_equal(guard_choose(&s->search), 5);
        set_room(s, 2, MIB(50));
        assert_int_equal(guard_choose(&s->search), 2);
        for (uint32_t i = 0; i < 8; i++) {
                set_room(s, i, 0);
                s->rooms[i].reclaimable_bytes = 0;
        }
        assert_int_equal(guard_choose(&s->search), -1);
        s->rooms[4].free_bytes++;
        assert_int_equal(guard_choose(&s->search), 4);
        s->search.n_rooms = 0;
        assert_int_equal(guard_choose(&s->search), -1);
}

SEARCH_TEST(reserved_nodes) {
        s->reserved = node_set("0,2-3");
        assert_int_equal(guard_choose(&s->search), 4); /* rather far than reserved */
        for (uint32_t i = 4; i < 8; i++)
                set_room(s, i, MIB(300));
        assert_int_equal(guard_choose(&s->search), 0); /* which will not do */
        s->search.strict = true;
        assert_int_equal(guard_choose(&s->search), 4);
        s->reserved = node_set("0-7");
        assert_int_equal(guard_choose(&s->search), -1);
        /* None will do: then not the reserved one, though it has more. */
        s->search.strict = false;
        s->reserved = node_set("0,2-3");
        for (uint32_t i = 0; i < 8; i++)
                set_room(s, i, i < 4 ? MIB(40) : MIB(30));
        assert_int_equal(guard_choose(&s->search), 4);
}

/* As on Grace Hopper: where the planner puts nothing, the guard widens last of all. */
SEARCH_TEST(memory_without_cpus) {
        s->nodes[0].cpus = (CpuSet){ 0 };
        s->nodes[0].kind = NODE_GPU;
        s->nodes[3].overlaps = true;
        set_room(s, 0, GIB(90));
        assert_int_equal(guard_choose(&s->search), 2); /* 0 and 2 are equally near */
        s->blocked = node_set("1-2,4-7");
        assert_int_equal(guard_choose(&s->search), 0); /* rather than none */
        s->blocked = node_set("1-2,5-7");
        set_room(s, 4, 1);
        assert_int_equal(guard_choose(&s->search), 4); /* as long as a home has any */
        s->reserved = node_set("4");
        assert_int_equal(guard_choose(&s->search), 4);
        s->search.strict = true;
        assert_int_equal(guard_choose(&s->search), 0);
        s->blocked = node_set("0-7");
        assert_int_equal(guard_choose(&s->search), -1);
}

/* --- histories --- */

/* A node on which a program grows at one rate until nothing is left, read as the daemon does. */
typedef struct Fall {
        uint64_t room, headroom, rate; /* bytes, bytes, bytes a second */
        double begin;                  /* seconds */
        bool cache;                    /* what is left is cache, and nothing is free */
} Fall;

static uint64_t left_at(const Fall *f, double t) {
        const double taken = t > f->begin ? (t - f->begin) * (double)f->rate : 0;
        const double all = (double)(f->room + f->headroom);

        return taken < all ? (uint64_t)(all - taken) : 0;
}

/* The seconds at which it is widened; -1: not within two minutes. */
static double run(const Fall *f) {
        GuardNode node = { .headroom_bytes = f->headroom };

        for (double t = 1; t < 120;) {
                const uint64_t left = left_at(f, t);
                GuardReading r = { .usec = SEC(t), .free_bytes = left };
                GuardVerdict verdict;

                if (f->cache) {
                        r.free_bytes = left / 10;
                        r.inactive_file_bytes = left - left / 10;
                }
                guard_add(&node, &r);
                verdict = judge(&node);
                if (verdict == GUARD_WIDEN)
                        return t;
                t += verdict == GUARD_WATCH ? 0.1 : 1;
        }
        return -1;
}

/* Whatever the rate: never needlessly early, and never later than the next reading after the room
 * is gone; where there are twenty seconds, some ten seconds before, else when half of the room is
 * left, or a tenth of a second after. */
TEST(widened_in_time) {
        unsigned slow = 0, sudden = 0;

        for (uint32_t i = 0; i < HISTORIES; i++) {
                uint32_t seed = i * 2654435761u + 1;
                Fall f = { .headroom = MIB(1 + next_number(&seed, 2000)),
                           .room = MIB(1 + next_number(&seed, 30000)),
                           .begin = 5 + next_number(&seed, 1000) / 1000.0,
                           .cache = next_number(&seed, 2) };
                double lasts = 0.2 + next_number(&seed, 50000) / 1000.0, gone, widened;

                f.rate = (uint64_t)((double)f.room / lasts);
                gone = f.begin + (double)f.room / (double)f.rate;
                widened = run(&f);
                if (widened < f.begin || widened > gone + 1.001)
                        fail_msg("history %u: gone at %f, widened at %f", i, gone, widened);
                if (lasts > 2 && widened > gone)
                        fail_msg("history %u: there were %f s, and it was late", i, lasts);
                if (lasts > 4 && lasts < 18 && gone - widened < lasts / 2 - 0.6)
                        fail_msg("history %u: %f s before, of %f", i, gone - widened, lasts);
                if (lasts > 20) {
                        slow++;
                        if (gone - widened < 8.9 || gone - widened > 10.1)
                                fail_msg("history %u: %f s before", i, gone - widened);
                }
                sudden += lasts < 2;
        }
        assert_true(slow > 100 && sudden > 50);
}

/* Whatever cache does, as long as programs take nothing: a node that has room is left alone. */
TEST(cache_alone_never_widens) {
        for (uint32_t i = 0; i < HISTORIES; i++) {
                uint32_t seed = i * 2246822519u + 7;
                GuardNode node = { .headroom_bytes = MIB(500) };
                uint64_t all = MIB(4000 + next_number(&seed, 100000));

                for (unsigned s = 1; s <= 40; s++) {
                        uint64_t active = all / 100 * next_number(&seed, 100);
                        uint64_t inactive = (all - active) / 100 * next_number(&seed, 100);
                        GuardReading r = { .usec = SEC(s),
                                           .free_bytes = all - active - inactive,
                                           .inactive_file_bytes = inactive,
                                           .active_file_bytes = active,
                                           .unclean_bytes =
                                                   inactive / 100 * next_number(&seed, 50) };

                        guard_add(&node, &r);
                        assert_int_not_equal(judge(&node), GUARD_WIDEN);
                }
        }
}

/* The choice never falls on a node that may not be had, and there is one whenever one has room. */
TEST(choices) {
        for (uint32_t i = 0; i < HISTORIES; i++) {
                uint32_t seed = i * 3266489917u + 3;
                bool any = false;
                Search s;
                int best;

                search_init(&s);
                s.search.strict = next_number(&seed, 2);
                s.search.want_bytes = MIB(next_number(&seed, 300));
                for (uint32_t n = 0; n < 8; n++) {
                        set_room(&s, n, MIB(next_number(&seed, 2) * next_number(&seed, 400)));
                        if (next_number(&seed, 4) == 0)
                                id_set_add(&s.blocked, n);
                        if (next_number(&seed, 4) == 0)
                                id_set_add(&s.reserved, n);
                        any |= s.rooms[n].free_bytes > s.rooms[n].headroom_bytes &&
                               !id_set_has(&s.blocked, n) &&
                               (!s.search.strict || !id_set_has(&s.reserved, n));
                }
                best = guard_choose(&s.search);
                assert_int_equal(best >= 0, any);
                if (best < 0)
                        continue;
                assert_false(id_set_has(&s.blocked, (uint32_t)best));
                assert_true(s.rooms[best].free_bytes > s.rooms[best].headroom_bytes);
                assert_false(s.search.strict && id_set_has(&s.reserved, (uint32_t)best));
        }
}

/* --- Does it fit, and where does the next piece go? --- */

#define FIT_GIB(n) (UINT64_C(n) << 30)
#define TIB(n) (UINT64_C(n) << 40)

TEST(headroom) {
        assert_int_equal(fit_headroom_bytes(5000, 0), 100);
        assert_int_equal(fit_headroom_bytes(5000, 33), 100);
        assert_int_equal(fit_headroom_bytes(5000, 34), 102);
        assert_int_equal(fit_headroom_bytes(0, 0), 0);
        assert_int_equal(fit_headroom_bytes(TIB(64), FIT_GIB(1)), TIB(64) / 50);
}

TEST(check_at_the_border) {
        NodeRoom room = { .free_bytes = 1000, .headroom_bytes = 300 };

        assert_true(fit_check(&room, 1, 700));
        assert_false(fit_check(&room, 1, 701));
        room.reclaimable_bytes = 50;
        assert_true(fit_check(&room, 1, 750));
        assert_false(fit_check(&room, 1, 751));
        room.promised_bytes = 100;
        assert_true(fit_check(&room, 1, 650));
        assert_false(fit_check(&room, 1, 651));
}

/* A node that is over its headroom or over what it was promised has no room; it takes none from
 * the others. */
TEST(a_full_node_does_not_count_below_zero) {
        NodeRoom rooms[3] = { { .free_bytes = 100, .headroom_bytes = 5000 },
                              { .free_bytes = 1000, .promised_bytes = 9000 },
                              { .free_bytes = 400, .headroom_bytes = 100 } };

        assert_true(fit_check(rooms, 3, 300));
        assert_false(fit_check(rooms, 3, 301));
}

TEST(nothing_always_fits) {
        NodeRoom full = { .headroom_bytes = 1 };

        assert_true(fit_check(&full, 1, 0));
        assert_true(fit_check(NULL, 0, 0));
        assert_false(fit_check(NULL, 0, 1));
}

TEST(large_machines) {
        NodeRoom rooms[1024];

        for (uint32_t i = 0; i < 1024; i++)
                rooms[i] = (NodeRoom){ .node = i,
                                       .free_bytes = TIB(60),
                                       .reclaimable_bytes = TIB(4),
                                       .headroom_bytes = TIB(1) };
        assert_true(fit_check(rooms, 1024, TIB(63) * 1024));
        assert_false(fit_check(rooms, 1024, UINT64_MAX));
        rooms[0] = (NodeRoom){ .free_bytes = 1, .headroom_bytes = UINT64_MAX };
        rooms[1] = (NodeRoom){ .free_bytes = 1, .promised_bytes = UINT64_MAX };
        assert_true(fit_check(rooms, 2, 0));
        assert_false(fit_check(rooms, 2, 1));
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
