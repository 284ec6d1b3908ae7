/* When a strict binding is widened, to which node, and when it is narrowed again: borders one by
 * one, and properties over many made-up histories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/id-sets.h"
#include "tidbnumad/plan/guard.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)
#define SEC(n) ((uint64_t)((n)*1e6))

enum { HISTORIES = 3000 };

static uint32_t next_number(uint32_t *seed, uint32_t below) {
        *seed = *seed * 1664525u + 1013904223u;
        return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

static void add_free(GuardNode *node, uint64_t usec, uint64_t free_bytes) {
        guard_add(node, &(GuardReading){ .usec = usec, .free_bytes = free_bytes });
}

static GuardOutlook look_at(const GuardNode *node) {
        const NodeSet all = ids("0-7");

        return guard_predict(node, 1, &all);
}

static GuardVerdict judge(const GuardNode *node) {
        const GuardOutlook o = look_at(node);

        return guard_judge(&o);
}

/* --- what is left, and how fast it falls --- */

static void test_nothing_is_known_at_first(void **state) {
        const GuardNode node = { .headroom_bytes = MIB(100) };
        const GuardOutlook o = look_at(&node);

        (void)state;
        assert_false(o.known);
        assert_int_equal(o.gone_usec, UINT64_MAX);
        assert_int_equal(guard_judge(&o), GUARD_QUIET);
        assert_int_equal(guard_judge(&(GuardOutlook){ 0 }), GUARD_QUIET);
}

static void test_what_is_left(void **state) {
        const GuardReading r = { .free_bytes = 1000,
                                 .inactive_file_bytes = 500,
                                 .active_file_bytes = 300,
                                 .unclean_bytes = 200 };
        GuardReading dirty = r;

        (void)state;
        assert_int_equal(guard_left_bytes(&r), 1000 + 300 + 150);
        dirty.unclean_bytes = 501; /* takes nothing from what is free */
        assert_int_equal(guard_left_bytes(&dirty), 1000 + 150);
}

static void test_one_reading_tells_no_fall(void **state) {
        GuardNode node = { .headroom_bytes = MIB(100) };
        GuardOutlook o;

        (void)state;
        add_free(&node, SEC(1), MIB(101));
        o = look_at(&node);
        assert_true(o.known);
        assert_int_equal(o.room_bytes, MIB(1));
        assert_int_equal(o.headroom_bytes, MIB(100));
        assert_int_equal(o.fall_bytes_per_sec, 0);
        assert_int_equal(guard_judge(&o), GUARD_QUIET);
        add_free(&node, SEC(1.1), MIB(100)); /* in too short a time to tell, but it is gone */
        o = look_at(&node);
        assert_int_equal(o.fall_bytes_per_sec, 0);
        assert_int_equal(o.gone_usec, 0);
        assert_int_equal(guard_judge(&o), GUARD_WIDEN);
}

static void test_below_the_headroom(void **state) {
        GuardNode node = { .headroom_bytes = MIB(100) };

        (void)state;
        add_free(&node, SEC(1), MIB(100) + 1);
        assert_int_equal(judge(&node), GUARD_QUIET);
        add_free(&node, SEC(2), MIB(5)); /* rising or falling is of no matter */
        assert_int_equal(judge(&node), GUARD_WIDEN);
        add_free(&node, SEC(3), MIB(50));
        assert_int_equal(judge(&node), GUARD_WIDEN);
        add_free(&node, SEC(4), MIB(200));
        assert_int_equal(judge(&node), GUARD_QUIET);
}

/* It falls by 10 MiB a second: gone in 10 s, in 60 s. */
static void test_the_borders_in_time(void **state) {
        const struct {
                uint64_t room;
                GuardVerdict verdict;
        } cases[] = { { MIB(100), GUARD_WIDEN },
                      { MIB(100) + MIB(1), GUARD_WATCH },
                      { MIB(600), GUARD_WATCH },
                      { MIB(600) + MIB(1), GUARD_QUIET } };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                GuardNode node = { .headroom_bytes = MIB(50) };
                GuardOutlook o;

                for (unsigned s = 0; s <= 5; s++)
                        add_free(&node, SEC(s + 1), MIB(50) + cases[i].room + MIB(10) * (5 - s));
                o = look_at(&node);
                assert_int_equal(o.fall_bytes_per_sec, MIB(10));
                assert_int_equal(o.gone_usec, cases[i].room * 1000000 / MIB(10));
                assert_int_equal(guard_judge(&o), cases[i].verdict);
        }
}

/* A burst that has ended, and one that has just begun. */
static void test_a_burst_is_no_fall(void **state) {
        GuardNode node = { .headroom_bytes = MIB(50) };

        (void)state;
        for (unsigned s = 1; s <= 5; s++)
                add_free(&node, SEC(s), MIB(450));
        add_free(&node, SEC(6), MIB(350)); /* 3.5 s at the rate of the second, 9 at a third of it */
        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(100) / 3);
        add_free(&node, SEC(7), MIB(350));
        assert_int_equal(look_at(&node).fall_bytes_per_sec, 0);
        assert_int_equal(judge(&node), GUARD_QUIET);
        /* And when it goes up again, it is none over the longer span either. */
        add_free(&node, SEC(8), MIB(460));
        add_free(&node, SEC(9), MIB(455));
        assert_int_equal(look_at(&node).fall_bytes_per_sec, 0);
}

/* Of many readings in a second the right ones are compared, the whole ring around. */
static void test_spans_at_the_shorter_interval(void **state) {
        GuardNode node = { .headroom_bytes = 0 };
        uint64_t left = GIB(100);

        (void)state;
        for (unsigned i = 1; i <= 95; i++) {
                left -= MIB(i < 60 ? 1 : 4); /* a tenth of a second each */
                add_free(&node, SEC(i) / 10, left);
                if (i == 59)
                        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(10));
                if (i == 69) /* the last second fell by 40, the last three by 60 together */
                        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(20));
                if (i == 95)
                        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(40));
        }
        for (unsigned i = 96; i <= 105; i++)
                add_free(&node, SEC(i) / 10, left -= MIB(1));
        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(10));
}

static void test_time_that_does_not_pass(void **state) {
        GuardNode node = { .headroom_bytes = MIB(1) };

        (void)state;
        add_free(&node, SEC(5), MIB(100));
        add_free(&node, SEC(5), MIB(1));
        add_free(&node, SEC(4), MIB(1));
        assert_int_equal(look_at(&node).room_bytes, MIB(99));
}

static void test_a_gap_ends_the_past(void **state) {
        GuardNode node = { .headroom_bytes = 0 };

        (void)state;
        add_free(&node, SEC(1), GIB(10));
        add_free(&node, SEC(6), GIB(9)); /* 5 s: still one history */
        assert_int_equal(look_at(&node).fall_bytes_per_sec, GIB(1) / 5);
        add_free(&node, SEC(11.1), GIB(1));
        assert_int_equal(look_at(&node).fall_bytes_per_sec, 0);
        add_free(&node, SEC(12.1), GIB(1) - MIB(12)); /* what was before is taken for calm */
        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(4));
}

/* --- page cache --- */

/* A file is read, read again, and written: nothing is lost by that. */
static void test_cache_is_no_fall(void **state) {
        GuardReading r = { .free_bytes = GIB(20) };
        GuardNode node = { .headroom_bytes = GIB(1) };

        (void)state;
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
                assert_int_equal(look_at(&node).fall_bytes_per_sec, 0);
                assert_int_equal(judge(&node), GUARD_QUIET);
        }
}

/* What a database host is like all the time: nothing free, all of it cache. */
static void test_a_node_full_of_cache_is_not_full(void **state) {
        GuardReading r = { .free_bytes = MIB(200), .inactive_file_bytes = GIB(20) };
        GuardNode node = { .headroom_bytes = GIB(1) };

        (void)state;
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

/* Programs take cache: that is a fall although MemFree stands still. */
static void test_taking_cache_is_a_fall(void **state) {
        GuardReading r = { .free_bytes = MIB(200), .inactive_file_bytes = GIB(4) };
        GuardNode node = { .headroom_bytes = GIB(1) };

        (void)state;
        for (unsigned s = 1; s <= 5; s++) {
                r.usec = SEC(s);
                r.inactive_file_bytes -= MIB(500);
                guard_add(&node, &r);
        }
        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(500));
        assert_int_equal(judge(&node), GUARD_WIDEN);
}

/* Up to the rate that we move at, and as long as we do. */
static void test_what_we_move_there_is_no_fall(void **state) {
        GuardReading r = { .free_bytes = GIB(20), .pull_bytes_per_sec = MIB(256) };
        GuardNode node = { .headroom_bytes = GIB(1) };

        (void)state;
        for (unsigned s = 1; s <= 10; s++) {
                r.usec = SEC(s);
                r.free_bytes -= MIB(266);
                guard_add(&node, &r);
        }
        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(10));
        for (unsigned s = 11; s <= 20; s++) { /* slower than it may be: that saves nothing up */
                r.usec = SEC(s);
                r.free_bytes -= MIB(100);
                guard_add(&node, &r);
        }
        assert_int_equal(look_at(&node).fall_bytes_per_sec, 0);
        for (unsigned s = 21; s <= 30; s++) { /* the first second still had a part of the pass */
                r.usec = SEC(s);
                r.free_bytes -= MIB(100);
                r.pull_bytes_per_sec = 0;
                guard_add(&node, &r);
                if (s == 21)
                        assert_int_equal(look_at(&node).fall_bytes_per_sec, 0);
                if (s == 22)
                        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(100) / 3);
        }
        assert_int_equal(look_at(&node).fall_bytes_per_sec, MIB(100));
        r.pull_bytes_per_sec = MIB(256); /* a pass begins: what came before it is still known */
        r.usec = SEC(31);
        r.free_bytes -= MIB(200);
        guard_add(&node, &r);
        assert_int_equal(look_at(&node).fall_bytes_per_sec, 0);
        r.usec = SEC(32);
        r.free_bytes += MIB(200); /* and nothing is made of what comes back */
        guard_add(&node, &r);
        assert_int_equal(look_at(&node).fall_bytes_per_sec, 0);
}

/* --- several nodes --- */

static void test_a_set_of_nodes_is_one(void **state) {
        GuardNode nodes[3] = { { .node = 2, .headroom_bytes = MIB(100) },
                               { .node = 4, .headroom_bytes = MIB(200) },
                               { .node = 5, .headroom_bytes = MIB(400) } };
        const NodeSet both = ids("2,4"), one = ids("2"), other = ids("7"), none = ids("");
        GuardOutlook o;

        (void)state;
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
static void test_falls_of_a_set_are_summed(void **state) {
        GuardNode nodes[2] = { { .node = 0 }, { .node = 1 } };
        const NodeSet both = ids("0-1");

        (void)state;
        for (unsigned s = 1; s <= 5; s++) {
                add_free(&nodes[0], SEC(s), MIB(100) - MIB(10) * s);
                add_free(&nodes[1], SEC(s), MIB(100) + MIB(10) * s);
        }
        assert_int_equal(guard_predict(nodes, 2, &both).fall_bytes_per_sec, 0);
}

/* --- narrowing again --- */

static GuardOutlook calm_outlook(void) {
        return (GuardOutlook){ .known = true,
                               .room_bytes = MIB(100),
                               .headroom_bytes = MIB(100),
                               .gone_usec = GUARD_WATCH_USEC + 1 };
}

static void test_a_minute_of_rest(void **state) {
        const GuardOutlook calm = calm_outlook();
        GuardOutlook o = calm;
        uint64_t since = 0;

        (void)state;
        assert_false(guard_has_rested(&calm, &since, SEC(100)));
        assert_int_equal(since, SEC(100));
        assert_false(guard_has_rested(&calm, &since, SEC(160) - 1));
        assert_true(guard_has_rested(&calm, &since, SEC(160)));
        assert_true(guard_has_rested(&calm, &since, SEC(500)));
        o.room_bytes--; /* a moment without room: from the start */
        assert_false(guard_has_rested(&o, &since, SEC(501)));
        assert_int_equal(since, 0);
        assert_false(guard_has_rested(&calm, &since, SEC(502)));
        assert_true(guard_has_rested(&calm, &since, SEC(562)));
        o = calm;
        o.gone_usec = GUARD_WATCH_USEC; /* a fall */
        assert_false(guard_has_rested(&o, &since, SEC(563)));
        assert_int_equal(since, 0);
        o = calm;
        o.known = false;
        since = SEC(1);
        assert_false(guard_has_rested(&o, &since, SEC(564)));
        assert_int_equal(since, 0);
}

/* --- which node --- */

/* As the EPYC host: two sockets of four nodes. */
static void make_topology(Topology *t, Node *nodes, uint16_t *distances) {
        *t = (Topology){ .nodes = nodes, .n_nodes = 8, .distances = distances };
        for (uint32_t i = 0; i < 8; i++) {
                nodes[i] = (Node){ .id = i, .package = i / 4 };
                for (uint32_t k = 0; k < 8; k++)
                        distances[i * 8 + k] = i == k ? 10 : i / 4 == k / 4 ? 12 : 28;
        }
}

typedef struct Search {
        Node nodes[8];
        uint16_t distances[64];
        Topology topology;
        NodeSet home, barred, reserved;
        NodeRoom rooms[8];
        GuardSearch search;
} Search;

/* Home is 1; all have a GiB of room above 100 MiB. */
static void search_init(Search *s) {
        *s = (Search){ .home = ids("1"), .barred = ids("1"), .reserved = ids("") };
        make_topology(&s->topology, s->nodes, s->distances);
        for (uint32_t i = 0; i < 8; i++)
                s->rooms[i] = (NodeRoom){ .node = i,
                                          .free_bytes = MIB(1124),
                                          .headroom_bytes = MIB(100) };
        s->search = (GuardSearch){ .topology = &s->topology,
                                   .home = &s->home,
                                   .barred = &s->barred,
                                   .reserved = &s->reserved,
                                   .rooms = s->rooms,
                                   .n_rooms = 8,
                                   .want_bytes = MIB(500) };
}

static void set_room(Search *s, uint32_t node, uint64_t bytes) {
        s->rooms[node].free_bytes = s->rooms[node].headroom_bytes + bytes;
}

static void test_the_nearest_node(void **state) {
        Search s;

        (void)state;
        search_init(&s);
        set_room(&s, 6, GIB(9));
        assert_int_equal(guard_choose(&s.search), 0); /* of equal ones the first */
        set_room(&s, 3, MIB(1025));                   /* of equally near ones that with the most */
        assert_int_equal(guard_choose(&s.search), 3);
        s.rooms[3].promised_bytes = MIB(2);
        assert_int_equal(guard_choose(&s.search), 0);
        s.barred = ids("0-2");
        assert_int_equal(guard_choose(&s.search), 3);
        s.barred = ids("0-3");
        assert_int_equal(guard_choose(&s.search), 6);
        s.home = ids("1,5"); /* near one of them is near */
        s.barred = ids("1,5,6");
        set_room(&s, 7, GIB(2));
        assert_int_equal(guard_choose(&s.search), 7);
}

static void test_room_that_lasts(void **state) {
        Search s;

        (void)state;
        search_init(&s);
        for (uint32_t i = 0; i < 4; i++)
                set_room(&s, i, MIB(499));
        assert_int_equal(guard_choose(&s.search), 4);
        set_room(&s, 2, MIB(500));
        assert_int_equal(guard_choose(&s.search), 2);
        /* Far ones last but for a little longer. */
        for (uint32_t i = 0; i < 8; i++)
                set_room(&s, i, i < 4 ? MIB(499) : MIB(600));
        assert_int_equal(guard_choose(&s.search), 0);
        /* Its own headroom twice, however slow the fall. */
        s.search.want_bytes = 0;
        for (uint32_t i = 0; i < 8; i++)
                set_room(&s, i, MIB(99));
        set_room(&s, 7, MIB(100));
        assert_int_equal(guard_choose(&s.search), 7);
        /* None lasts: a near one, unless another has more than twice as much. Cache counts. */
        set_room(&s, 7, MIB(50));
        s.rooms[3].reclaimable_bytes = 1;
        assert_int_equal(guard_choose(&s.search), 3);
        for (uint32_t i = 0; i < 4; i++)
                set_room(&s, i, MIB(49));
        s.rooms[3].reclaimable_bytes = 0;
        s.rooms[5].reclaimable_bytes = 1;
        assert_int_equal(guard_choose(&s.search), 5);
        set_room(&s, 2, MIB(50));
        assert_int_equal(guard_choose(&s.search), 2);
        for (uint32_t i = 0; i < 8; i++) {
                set_room(&s, i, 0);
                s.rooms[i].reclaimable_bytes = 0;
        }
        assert_int_equal(guard_choose(&s.search), -1);
        s.rooms[4].free_bytes++;
        assert_int_equal(guard_choose(&s.search), 4);
        s.search.n_rooms = 0;
        assert_int_equal(guard_choose(&s.search), -1);
}

static void test_reserved_nodes(void **state) {
        Search s;

        (void)state;
        search_init(&s);
        s.reserved = ids("0,2-3");
        assert_int_equal(guard_choose(&s.search), 4); /* rather far than reserved */
        for (uint32_t i = 4; i < 8; i++)
                set_room(&s, i, MIB(300));
        assert_int_equal(guard_choose(&s.search), 0); /* which will not do */
        s.search.strict = true;
        assert_int_equal(guard_choose(&s.search), 4);
        s.reserved = ids("0-7");
        assert_int_equal(guard_choose(&s.search), -1);
        /* None will do: then not the reserved one, though it has more. */
        s.search.strict = false;
        s.reserved = ids("0,2-3");
        for (uint32_t i = 0; i < 8; i++)
                set_room(&s, i, i < 4 ? MIB(40) : MIB(30));
        assert_int_equal(guard_choose(&s.search), 4);
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
 * is gone; where there are ten seconds, some ten seconds before. */
static void test_widened_in_time(void **state) {
        unsigned slow = 0, sudden = 0;

        (void)state;
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
                if (lasts > 16) {
                        slow++;
                        if (gone - widened < 8.9 || gone - widened > 10.1)
                                fail_msg("history %u: %f s before", i, gone - widened);
                }
                sudden += lasts < 2;
        }
        assert_true(slow > 100 && sudden > 50);
}

/* Whatever cache does, as long as programs take nothing: a node that has room is left alone. */
static void test_cache_alone_never_widens(void **state) {
        (void)state;
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
static void test_choices(void **state) {
        (void)state;
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
                                id_set_add(&s.barred, n);
                        if (next_number(&seed, 4) == 0)
                                id_set_add(&s.reserved, n);
                        any |= s.rooms[n].free_bytes > s.rooms[n].headroom_bytes &&
                               !id_set_has(&s.barred, n) &&
                               (!s.search.strict || !id_set_has(&s.reserved, n));
                }
                best = guard_choose(&s.search);
                assert_int_equal(best >= 0, any);
                if (best < 0)
                        continue;
                assert_false(id_set_has(&s.barred, (uint32_t)best));
                assert_true(s.rooms[best].free_bytes > s.rooms[best].headroom_bytes);
                assert_false(s.search.strict && id_set_has(&s.reserved, (uint32_t)best));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_is_known_at_first),
                cmocka_unit_test(test_what_is_left),
                cmocka_unit_test(test_one_reading_tells_no_fall),
                cmocka_unit_test(test_below_the_headroom),
                cmocka_unit_test(test_the_borders_in_time),
                cmocka_unit_test(test_a_burst_is_no_fall),
                cmocka_unit_test(test_spans_at_the_shorter_interval),
                cmocka_unit_test(test_time_that_does_not_pass),
                cmocka_unit_test(test_a_gap_ends_the_past),
                cmocka_unit_test(test_cache_is_no_fall),
                cmocka_unit_test(test_a_node_full_of_cache_is_not_full),
                cmocka_unit_test(test_taking_cache_is_a_fall),
                cmocka_unit_test(test_what_we_move_there_is_no_fall),
                cmocka_unit_test(test_a_set_of_nodes_is_one),
                cmocka_unit_test(test_falls_of_a_set_are_summed),
                cmocka_unit_test(test_a_minute_of_rest),
                cmocka_unit_test(test_the_nearest_node),
                cmocka_unit_test(test_room_that_lasts),
                cmocka_unit_test(test_reserved_nodes),
                cmocka_unit_test(test_widened_in_time),
                cmocka_unit_test(test_cache_alone_never_widens),
                cmocka_unit_test(test_choices),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
