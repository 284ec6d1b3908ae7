/* Memory limits: how much, and when they may be in force. */
#include "../../support/test.h"

#include "placement-support.h"

#include "tidbnumad/plan/limit.h"

#define MB(n) ((uint64_t)(n) << 20)
#define GB(n) ((uint64_t)(n) << 30)

/* --- how much --- */

/* Two sockets of two nodes with 64 GiB each, of which 2 GiB are headroom. */
typedef struct Share {
        World *world;
        Policy *tikv, *tidb, *pd;
        uint64_t headrooms[4];
} Share;

static void share_init(Share *s) {
        *s = (Share){ .world = world_new(2, 2, 4), .headrooms = { GB(2), GB(2), GB(2), GB(2) } };
        for (size_t n = 0; n < 4; n++)
                s->world->nodes[n].memory_bytes = GB(64);
        s->tikv = world_policy(s->world, "tikv");
        s->tidb = world_policy(s->world, "tidb");
        s->pd = world_policy(s->world, "pd");
        s->tikv->match.exe = (char *)"tikv-server";
        s->tidb->match.exe = (char *)"tidb-server";
        s->pd->match.exe = (char *)"pd-server";
        s->tikv->memory_limit = s->tidb->memory_limit = MEMORY_LIMIT_SHARE;
}

static void share_done(Share *s) {
        free(s->world);
}
#define _cleanup_share_ _cleanup_(share_done)
#define SHARE_TEST(test) TEST_AFTER(test, Share, s, share_init(s), share_done)

/* In MiB, of the instance `self` with these nodes for each. */
static uint64_t share_of(const Share *s, const char *const *nodes, size_t self) {
        PlacementChoice choices[8] = { 0 };

        for (size_t i = 0; i < s->world->input.n_instances; i++)
                choices[i].placement.nodes = node_set(nodes[i]);
        return limit_wanted_bytes(&s->world->topology, s->headrooms, s->world->instances, choices,
                                  s->world->input.n_instances, self) >>
               20;
}

SHARE_TEST(alone_it_is_the_node_less_the_headroom) {
        (void)world_add(s->world, s->tikv, "tikv-1");
        assert_int_equal(share_of(s, (const char *[]){ "1" }, 0), 62 * 1024);
        assert_int_equal(share_of(s, (const char *[]){ "0-1" }, 0), 124 * 1024);
        assert_int_equal(share_of(s, (const char *[]){ "" }, 0), 0);
}

/* PD takes no part: it is not heavy. */
SHARE_TEST(the_heavy_ones_divide_it) {
        (void)world_add(s->world, s->tikv, "tikv-1");
        (void)world_add(s->world, s->tidb, "tidb-1");
        (void)world_add(s->world, s->pd, "pd-1");
        assert_int_equal(share_of(s, (const char *[]){ "1", "1", "1" }, 0), 31 * 1024);
        assert_int_equal(share_of(s, (const char *[]){ "1", "1", "1" }, 1), 31 * 1024);
        assert_int_equal(share_of(s, (const char *[]){ "1", "2", "1" }, 0), 62 * 1024);
        assert_int_equal(share_of(s, (const char *[]){ "1", "1", "1" }, 2),
                         0); /* it asks for none */
}

/* One that is not heavy and asks for a share counts itself. */
SHARE_TEST(by_weight) {
        (void)world_add(s->world, s->tikv, "tikv-1");
        (void)world_add(s->world, s->tidb, "tidb-1");
        (void)world_add(s->world, s->pd, "pd-1");
        s->tikv->weight = 24;
        s->pd->memory_limit = MEMORY_LIMIT_SHARE;
        assert_int_equal(share_of(s, (const char *[]){ "1", "1", "2" }, 0), 62 * 1024 * 3 / 4);
        assert_int_equal(share_of(s, (const char *[]){ "1", "1", "2" }, 1), 62 * 1024 / 4);
        assert_in_range(share_of(s, (const char *[]){ "2", "2", "1" }, 2), 62 * 1024, 62 * 1024);
        s->tikv->weight = 8;
        s->tidb->weight = 1;
        s->pd->weight = 1;
        assert_in_range(share_of(s, (const char *[]){ "1", "2", "1" }, 2), 62 * 1024 / 9 - 1,
                        62 * 1024 / 9 + 1);
}

/* Of an instance with two nodes half of its weight is on each. */
SHARE_TEST(weights_are_spread_over_nodes) {
        (void)world_add(s->world, s->tikv, "tikv-1");
        (void)world_add(s->world, s->tidb, "tidb-1");
        assert_in_range(share_of(s, (const char *[]){ "0-1", "1" }, 0),
                        62 * 1024 + 62 * 1024 / 3 - 2, 62 * 1024 + 62 * 1024 / 3 + 2);
}

SHARE_TEST(a_size_is_a_size) {
        (void)world_add(s->world, s->tikv, "tikv-1");
        s->tikv->memory_limit = GB(20) + 5;
        assert_int_equal(share_of(s, (const char *[]){ "1" }, 0), 20 * 1024);
        assert_int_equal(share_of(s, (const char *[]){ "" }, 0), 0);
}

/* --- what is held --- */

static const LimitMemory FULL_OF_CACHE = { .limit_bytes = MB(1000),
                                           .brake_bytes = MB(950),
                                           .has_brake = true,
                                           .current_bytes = MB(950),
                                           .inactive_file_bytes = MB(300),
                                           .active_file_bytes = MB(400),
                                           .unclean_bytes = MB(50) };

TEST(clean_cache_is_not_held) {
        const LimitMemory odd = { .current_bytes = MB(10), .inactive_file_bytes = MB(20) };

        assert_int_equal(limit_held_bytes(&FULL_OF_CACHE), MB(300));
        assert_int_equal(limit_held_bytes(&odd), 0); /* counters that disagree */
}

/* As a node of the size of the brake. */
TEST(the_guard_sees_cache_as_room) {
        LimitMemory m = FULL_OF_CACHE;
        GuardReading r = limit_reading(&m, MB(1000), 7);

        assert_int_equal(r.usec, 7);
        assert_int_equal(guard_left_bytes(&r), MB(950) - MB(300));
        m.current_bytes = MB(990); /* above the brake, 40 more that are held */
        r = limit_reading(&m, MB(1000), 8);
        assert_int_equal(guard_left_bytes(&r), MB(950) - MB(340));
        m.inactive_file_bytes = m.active_file_bytes = m.unclean_bytes = 0;
        r = limit_reading(&m, MB(1000), 9);
        assert_int_equal(guard_left_bytes(&r), 0);
}

/* Readings are a tenth of a second apart. */
TEST(a_burst_is_seen_by_two_readings) {
        assert_true(limit_is_near(MB(500), MB(350), MB(1000))); /* 450 are left */
        assert_false(limit_is_near(MB(500), MB(351), MB(1000)));
        assert_false(limit_is_near(MB(500), MB(500), MB(1000)));
        assert_false(limit_is_near(MB(400), MB(900), MB(1000)));
        assert_true(limit_is_near(MB(990), MB(989), MB(1000)));
}

/* --- what is done --- */

static const LimitMemory FREE = { .limit_bytes = UINT64_MAX,
                                  .brake_bytes = UINT64_MAX,
                                  .has_brake = true,
                                  .current_bytes = MB(100) };

static LimitInput wanted(const LimitMemory *memory) {
        return (LimitInput){ .wanted = true,
                             .wanted_bytes = MB(1000),
                             .before_bytes = UINT64_MAX,
                             .memory = memory,
                             .guarded = true,
                             .may_change = true };
}

#define assert_step(in, action_, state_)                                                           \
        do {                                                                                       \
                const LimitStep step_ = limit_next(in);                                            \
                assert_string_equal(limit_state_to_string(step_.state),                            \
                                    limit_state_to_string(state_));                                \
                assert_int_equal(step_.action, action_);                                           \
        } while (0)

TEST(set_where_there_is_room) {
        LimitMemory m = FREE;
        LimitInput in = wanted(&m);

        /* Under the brake nothing grows past the limit while systemd sets it. */
        assert_step(&in, LIMIT_RECLAIM, LIMIT_PENDING);
        m.brake_bytes = MB(950);
        assert_step(&in, LIMIT_SET_PROPERTY, LIMIT_PENDING);
        m.current_bytes = MB(899);
        assert_step(&in, LIMIT_SET_PROPERTY, LIMIT_PENDING);
        m.current_bytes = MB(900); /* nine tenths */
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_HELD);
        m.inactive_file_bytes = MB(1);
        assert_step(&in, LIMIT_SET_PROPERTY, LIMIT_PENDING);
        in.memory = NULL;
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_WAITING);
}

/* The kernel would reclaim it within systemd's write, and kill where it cannot. */
TEST(cache_beyond_the_limit_is_reclaimed_first) {
        LimitMemory m = FREE;
        LimitInput in = wanted(&m);

        m.current_bytes = MB(5000);
        m.active_file_bytes = MB(4500);
        assert_step(&in, LIMIT_RECLAIM, LIMIT_PENDING);
        m.brake_bytes = MB(950);
        assert_step(&in, LIMIT_RECLAIM, LIMIT_PENDING);
        m.current_bytes = MB(1000);
        m.active_file_bytes = MB(500);
        assert_step(&in, LIMIT_SET_PROPERTY, LIMIT_PENDING);
        m.has_brake = false; /* v1: in the kernel's file already, and recorded */
        m.limit_bytes = MB(1000);
        in.is_ours = in.before_known = in.recorded = true;
        assert_step(&in, LIMIT_SET_PROPERTY, LIMIT_PENDING);
}

/* Nobody would lift a brake, or a limit of v1, that is there before the property is set. */
TEST(what_was_reclaimed_by_is_taken_back) {
        LimitMemory m = FREE;
        LimitInput in = wanted(&m);

        in.before_known = in.recorded = true;
        m.brake_bytes = MB(950);
        in.wanted = false;
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_NONE);
        in.wanted = true;
        in.refused = "why";
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_NO_UNIT);
        in.refused = NULL;
        in.may_change = false;
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_PLANNED);
        in.may_change = true;
        m.current_bytes = MB(940); /* it has grown meanwhile */
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_HELD);
        in.may_change = false;
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_HELD);
}

TEST(nothing_is_set_unguarded) {
        LimitMemory m = FREE;
        LimitInput in = wanted(&m);

        in.guarded = false;
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_PLANNED);
        in.guarded = true;
        in.may_change = false;
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_PLANNED);
}

TEST(in_force) {
        LimitMemory m = FULL_OF_CACHE;
        LimitInput in = wanted(&m);

        in.is_ours = in.before_known = in.recorded = in.before_start = true;
        in.ours_bytes = MB(1000);
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_SET);
        in.before_start = false;
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_NEXT_START);
        m.brake_bytes = UINT64_MAX; /* each start has a new group */
        assert_step(&in, LIMIT_RECLAIM, LIMIT_NEXT_START);
        m.brake_bytes = MB(500); /* the admin's */
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_NEXT_START);
        m.brake_bytes = UINT64_MAX;
        m.has_brake = false;
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_NEXT_START);
        in.may_change = false; /* a pause changes nothing of it */
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_NEXT_START);
}

TEST(lifted) {
        LimitMemory m = FREE;
        LimitInput in = wanted(&m);

        in.before_known = in.recorded = in.lifted = true;
        in.ours_bytes = MB(1000);
        m.current_bytes = MB(2000);
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_LIFTED);
        in.may_change = false;
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_LIFTED);
        in.may_change = true;
        in.lifted = false; /* a daemon that has just started */
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_LIFTED);
        m.current_bytes = MB(100);
        m.brake_bytes = MB(950);
        assert_step(&in, LIMIT_SET_PROPERTY, LIMIT_PENDING);
        in.lifted = true;
        in.before_known = in.recorded = false; /* since the property was lifted */
        in.ours_bytes = 0;
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_LIFTED);
}

TEST(another_share) {
        LimitMemory m = FULL_OF_CACHE;
        LimitInput in = wanted(&m);

        in.is_ours = in.before_known = in.recorded = true;
        in.ours_bytes = MB(1000);
        in.wanted_bytes = MB(500);
        m.current_bytes = MB(400);
        m.inactive_file_bytes = m.active_file_bytes = m.unclean_bytes = 0;
        assert_step(&in, LIMIT_RECLAIM, LIMIT_PENDING);
        m.brake_bytes = MB(475);
        in.ours_bytes = 0;
        assert_step(&in, LIMIT_SET_PROPERTY, LIMIT_PENDING);
        m.current_bytes = MB(480); /* it would be held up, though its limit is 1000 */
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_HELD);
        m.brake_bytes = MB(950);
        in.ours_bytes = MB(1000);
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_HELD);
        in.wanted_bytes = MB(2000); /* a larger one always */
        m.current_bytes = MB(990);
        assert_step(&in, LIMIT_SET_PROPERTY, LIMIT_PENDING);
}

TEST(the_admins_smaller_limit_stays) {
        LimitMemory m = FREE;
        LimitInput in = wanted(&m);

        m.limit_bytes = MB(600);
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_SMALLER);
        m.limit_bytes = MB(6000);
        assert_step(&in, LIMIT_RECLAIM, LIMIT_PENDING);
        in.before_known = in.recorded =
                true; /* ours is set, and somebody has written another one since */
        in.ours_bytes = MB(1000);
        m.limit_bytes = MB(700);
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_SMALLER);
        in.wanted = false; /* nor does it go with ours */
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_NONE);
        in.wanted = true;
        m.limit_bytes = MB(1000);
        in.is_ours = true;
        in.before_bytes = MB(900); /* and a drop-in of his, read since */
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_SMALLER);
}

TEST(taken_back) {
        LimitMemory m = FULL_OF_CACHE;
        LimitInput in = wanted(&m);

        in.is_ours = in.before_known = in.recorded = true;
        in.ours_bytes = MB(1000);
        in.refused = "why";
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_NO_UNIT);
        in.wanted_bytes = 0; /* it is released */
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_WAITING);
        in.refused = NULL; /* no plan has it yet: what was prepared stays */
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_WAITING);
        in.wanted = false;
        assert_step(&in, LIMIT_TAKE_BACK, LIMIT_NONE);
        in.may_change = false;
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_NONE);
        in.may_change = true;
        in.recorded = false;
        assert_step(&in, LIMIT_DO_NOTHING, LIMIT_NONE);
}
