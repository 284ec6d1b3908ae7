/* The guard: when to narrow again, which node to widen to, and whole histories. */
#include "guard-node.h"

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
        NodeSet home, barred, reserved;
        NodeRoom rooms[8];
        GuardSearch search;
} Search;

/* Home is 1; all have a GiB of room above 100 MiB. */
static void search_init(Search *s) {
        *s = (Search){ .home = node_set("1"), .barred = node_set("1"), .reserved = node_set("") };
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
        s->barred = node_set("0-2");
        assert_int_equal(guard_choose(&s->search), 3);
        s->barred = node_set("0-3");
        assert_int_equal(guard_choose(&s->search), 6);
        s->home = node_set("1,5"); /* near one of them is near */
        s->barred = node_set("1,5,6");
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
        s->barred = node_set("1-2,4-7");
        assert_int_equal(guard_choose(&s->search), 0); /* rather than none */
        s->barred = node_set("1-2,5-7");
        set_room(s, 4, 1);
        assert_int_equal(guard_choose(&s->search), 4); /* as long as a home has any */
        s->reserved = node_set("4");
        assert_int_equal(guard_choose(&s->search), 4);
        s->search.strict = true;
        assert_int_equal(guard_choose(&s->search), 0);
        s->barred = node_set("0-7");
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
