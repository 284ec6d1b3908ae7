/* What the planner weighs: for each criterion a case that it decides, against those behind it. */

#include "../../support/test.h"

#include "placement-support.h"

/* The plan is this one; beside `other`, which has the same numbers up to there, it is better by the
 * criterion, by these sums. */
static void assert_decides(const World *w, const char *const *other, PlacementCriterion criterion,
                           uint64_t chosen, uint64_t lost) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);
        NodeSet nodes[INSTANCES_MOST];
        PlacementScore score = score_of(w, &plan), others;

        for (size_t i = 0; i < w->input.n_instances; i++)
                nodes[i] = node_set(other[i]);
        others = placement_score(&w->input, nodes);
        assert_memory_equal(&score, &plan.score, sizeof(score));
        for (unsigned i = 0; i < criterion; i++)
                assert_int_equal(score.by[i], others.by[i]);
        assert_int_equal(score.by[criterion], chosen);
        assert_int_equal(others.by[criterion], lost);
        assert_true(placement_score_compare(&score, &others) < 0);
}

#define NODES(...) ((const char *const[]){ __VA_ARGS__ })

/* One of its two nodes is open no more: the other one stays, though its device is elsewhere. */
PLAN_TEST(stability, 2, 4, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        give_count(tikv, 2);
        tikv->place.near = NEAR_STORAGE;
        tikv->place.avoid = node_set("2");
        in->device_nodes = node_set("5");
        in->in_force = node_set("2-3");
        assert_plan(w, "0,3");
        assert_decides(w, NODES("4-5"), WEIGH_STABILITY, 1, 2);
}

/* Two on one node, rather than one away from its disk. */
PLAN_TEST(device, 2, 2, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add_many(w, tikv, 2);

        tikv->place.near = NEAR_STORAGE;
        in[0].device_nodes = in[1].device_nodes = node_set("2");
        assert_plan(w, "2 2");
        assert_decides(w, NODES("2", "3"), WEIGH_DEVICE, 20, 22);
}

/* Of several devices the nearest, by distance and not by number; of several nodes each counts. */
PLAN_TEST(device_by_distance, 1, 4, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        tikv->place.near = NEAR_STORAGE;
        tikv->place.avoid = node_set("0");
        in->device_nodes = node_set("0,9"); /* 9 is not there */
        w->distances[3 * 4 + 0] = 11;
        assert_plan(w, "3");
        assert_decides(w, NODES("1"), WEIGH_DEVICE, 11, 12);
        in->device_nodes = node_set("0,2");
        assert_plan(w, "2");
        give_count(tikv, 2);
        assert_plan(w, "2-3");
        assert_decides(w, NODES("1-2"), WEIGH_DEVICE, 21, 22);
        in->device_nodes = node_set("9"); /* not known: it does not count */
        assert_plan(w, "1-2");
}

/* Exclusive instances of two policies: apart, though a reserved node is taken for it. */
PLAN_TEST(exclusive, 1, 2, 4) {
        (void)world_add(w, world_policy(w, "tidb"), "tidb-1");
        (void)world_add(w, world_policy(w, "tikv"), "tikv-1");
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("0");
        assert_plan(w, "1 0");
        assert_decides(w, NODES("1", "1"), WEIGH_EXCLUSIVE, 0, 1);
}

/* Shared instances of one policy: apart, though a reserved node is taken for it. */
PLAN_TEST(policy, 1, 2, 4) {
        Policy *pd = world_policy(w, "pd");

        pd->place.share = SHARE_SHARED;
        (void)world_add_many(w, pd, 2);
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("0");
        assert_plan(w, "0 1");
        assert_decides(w, NODES("1", "1"), WEIGH_POLICY, 0, 1);
}

/* Both on one socket, rather than one on the network card's node. */
PLAN_TEST(reserved, 2, 2, 4) {
        (void)world_add_many(w, world_policy(w, "tidb"), 2);
        w->host.reserve.kind = RESERVE_NIC;
        w->input.nic_nodes = node_set("0-1");
        assert_plan(w, "2 3");
        assert_decides(w, NODES("0", "2"), WEIGH_RESERVED, 0, 1);
}

/* On two sockets, though one has less memory left. */
PLAN_TEST(spread, 2, 2, 4) {
        Policy *tidb = world_policy(w, "tidb");
        PlacementInstance *in = world_add_many(w, tidb, 2);

        in[0].need_bytes = in[1].need_bytes = UINT64_C(8) << 30;
        for (unsigned i = 0; i < 4; i++)
                w->free_bytes[i] = i < 2 ? UINT64_C(64) << 30 : UINT64_C(1) << 30;
        w->input.free_bytes = w->free_bytes;
        assert_plan(w, "0 2");
        assert_decides(w, NODES("0", "1"), WEIGH_SPREAD, 0, 2);
        tidb->place.share = SHARE_SHARED; /* of one policy all the same */
        assert_decides(w, NODES("0", "1"), WEIGH_SPREAD, 0, 1);
}

/* An instance on both nodes of a socket is there once. */
PLAN_TEST(spread_counts_sockets, 2, 2, 4) {
        Policy *tikv = world_policy(w, "tikv"), *tidb = world_policy(w, "tidb");

        give_count(tikv, 2);
        (void)world_add(w, tikv, "tikv-1");
        (void)world_add(w, tidb, "tidb-1");
        assert_plan(w, "0-1 2");
        assert_decides(w, NODES("0-1", "1"), WEIGH_EXCLUSIVE, 0, 1);
        assert_int_equal(placement_score(&w->input, (NodeSet[]){ node_set("0-1"), node_set("1") })
                                 .by[WEIGH_SPREAD],
                         1);
}

/* Where its memory fits, though it is a socket's second node by number and has company. */
PLAN_TEST(memory, 1, 3, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        in->need_bytes = (UINT64_C(4) << 30) + 1;
        w->free_bytes[0] = (UINT64_C(4) << 30) - 1;
        w->free_bytes[1] = UINT64_C(4) << 30;
        w->free_bytes[2] = UINT64_C(1) << 30;
        w->input.free_bytes = w->free_bytes;
        assert_plan(w, "1"); /* in whole MiB: one is missing there, and two on node 0 */
        assert_decides(w, NODES("0"), WEIGH_MEMORY, 1, 2);
        give_count(tikv, 2);
        assert_plan(w, "0-1");
        assert_decides(w, NODES("0,2"), WEIGH_MEMORY, 0, 1025);
        w->input.free_bytes = NULL; /* then all of their memory */
        give_count(tikv, 1);
        assert_plan(w, "0");
}

/* Two large ones and two small ones: one of each on a node. */
PLAN_TEST(memory_packs, 1, 2, 4) {
        Policy *pd = world_policy(w, "pd");
        PlacementInstance *in = world_add_many(w, pd, 4);

        pd->place.share = SHARE_SHARED;
        in[0].need_bytes = in[1].need_bytes = UINT64_C(50) << 30;
        in[2].need_bytes = in[3].need_bytes = UINT64_C(10) << 30;
        assert_plan(w, "0 1 0 1");
        assert_decides(w, NODES("0", "0", "1", "1"), WEIGH_MEMORY, 0, 36 * 1024);
}

/* The two nodes that are near each other, not the first two. */
PLAN_TEST(distance, 1, 4, 4) {
        Policy *tikv = world_policy(w, "tikv");

        give_count(tikv, 2);
        (void)world_add(w, tikv, "tikv-1");
        w->distances[1 * 4 + 3] = 11;
        assert_plan(w, "1,3");
        assert_decides(w, NODES("0-1"), WEIGH_DISTANCE, 23, 24);
        w->distances[3 * 4 + 1] = 16; /* the way back counts as well */
        assert_plan(w, "0-1");
        assert_decides(w, NODES("1,3"), WEIGH_DISTANCE, 24, 27);
}

/* A shared one goes where the least of the CPUs is taken. */
PLAN_TEST(load, 1, 3, 4) {
        Policy *pd = world_policy(w, "pd"), *tidb = world_policy(w, "tidb");

        pd->match.exe = (char *)"pd-server";
        tidb->match.exe = (char *)"tidb-server";
        pd->place.share = SHARE_SHARED;
        (void)world_add(w, pd, "pd-1");
        (void)world_add_many(w, tidb, 2);
        assert_plan(w, "2 0 1");
        /* weights 1, 8 and 8, 250 thousandths a CPU: alone each, or PD and a TiDB together */
        assert_decides(w, NODES("0", "0", "1"), WEIGH_LOAD, (1 + 64 + 64) * 250, (81 + 64) * 250);
        (void)world_add(w, tidb, "tidb-3");
        id_set_union(&w->nodes[1].cpus, &(CpuSet){ .words[1] = 0xf }); /* eight there */
        assert_plan(w, "1 0 1 2");
        assert_decides(w, NODES("0", "0", "1", "2"), WEIGH_LOAD, 81 * 125 + 2 * 64 * 250,
                       81 * 250 + 64 * 125 + 64 * 250);
}

static Policy *shared_policy(World *w, const char *name, const char *exe) {
        Policy *policy = world_policy(w, name);

        policy->place.share = SHARE_SHARED;
        policy->match.exe = (char *)exe;
        return policy;
}

/* R3: on two sockets the two that work are apart, and PD is beside one of them, whatever the order
 * of their names. */
PLAN_TEST(two_sockets, 2, 1, 48) {
        (void)world_add(w, shared_policy(w, "tidb", "tidb-server"), "b-tidb");
        (void)world_add(w, shared_policy(w, "tikv", "tikv-server"), "c-tikv");
        (void)world_add(w, shared_policy(w, "pd", "pd-server"), "a-pd");
        assert_plan(w, "0 1 0");
        w->instances[2].name = "d-pd";
        assert_plan(w, "0 1 0");
}

/* A single one takes the node with more CPUs left to it; PD goes where the work is not. */
PLAN_TEST(more_cpus, 2, 1, 8) {
        id_set_subtract(&w->nodes[0].cpus, &(CpuSet){ .words[0] = 1 });
        (void)world_add(w, shared_policy(w, "tidb", "tidb-server"), "tidb-1");
        (void)world_add(w, shared_policy(w, "pd", "pd-server"), "pd-1");
        assert_plan(w, "1 0");
}

/* R8: of nodes of 16 and 64 GiB the large ones come first, and weights are in proportion. */
PLAN_TEST(room, 1, 4, 4) {
        const Policy *tidb = shared_policy(w, "tidb", "tidb-server");

        w->nodes[0].memory_bytes = w->nodes[2].memory_bytes = UINT64_C(16) << 30;
        (void)world_add_many(w, tidb, 2);
        assert_plan(w, "1 3");
        assert_decides(w, NODES("0", "1"), WEIGH_ROOM, 2 * 64 * 3, 64 * 12 + 64 * 3);
        (void)world_add(w, shared_policy(w, "pd", "pd-server"), "pd-1");
        assert_plan(w, "1 3 0"); /* 1 x 12 there, 17 x 3 more beside a TiDB */
        /* what the kernel keeps for itself on the first node decides nothing */
        for (unsigned i = 0; i < 4; i++)
                w->nodes[i].memory_bytes = UINT64_C(64) << 30;
        w->nodes[0].memory_bytes -= UINT64_C(3) << 30;
        assert_plan(w, "0 1 2");
}

TEST(weight) {
        static const struct {
                const char *pattern, *exe;
                uint32_t of_policy, cpus_used, weight;
        } cases[] = {
                { "tidb-server", NULL, WEIGHT_AUTO, 0, 8 },
                { "/srv/*/bin/tikv-server", NULL, WEIGHT_AUTO, 0, 8 },
                { "tiflash", NULL, WEIGHT_AUTO, 0, 8 },
                { "java", NULL, WEIGHT_AUTO, 0, 8 },
                { "haproxy", NULL, WEIGHT_AUTO, 0, 2 },
                { "pd-server", NULL, WEIGHT_AUTO, 0, 1 },
                { "/srv/bin/*", NULL, WEIGHT_AUTO, 0, 2 }, /* any of them */
                { NULL, NULL, WEIGHT_AUTO, 0, 2 },
                { NULL, "/srv/bin/tikv-server", WEIGHT_AUTO, 0, 8 },
                { "tidb-server", NULL, WEIGHT_AUTO, 1, 8 }, /* idle now */
                { "tidb-server", NULL, WEIGHT_AUTO, 8, 8 },
                { "tidb-server", NULL, WEIGHT_AUTO, 9, 16 },
                { "tidb-server", NULL, WEIGHT_AUTO, 16, 16 },
                { "pd-server", NULL, WEIGHT_AUTO, 3, 4 },
                { "pd-server", NULL, WEIGHT_AUTO, UINT32_MAX, WEIGHT_MAX },
                { "pd-server", NULL, 5, 40, 5 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const Policy policy = { .match.exe = (char *)cases[i].pattern,
                                        .weight = cases[i].of_policy };
                const PlacementInstance in = { .policy = &policy,
                                               .exe = cases[i].exe,
                                               .cpus_used = cases[i].cpus_used };

                assert_int_equal(placement_weight(&in), cases[i].weight);
        }
}

/* Each where most of its memory is, if nothing else tells the nodes apart: 18 GiB are moved, and
 * not the 25 of the order of their names. */
PLAN_TEST(move, 1, 4, 4) {
        PlacementInstance *in = world_add_many(w, world_policy(w, "tikv"), 4);

        for (size_t i = 0; i < 4; i++) {
                world_hold(w, &in[i], i, 3 * 1024);
                world_hold(w, &in[i], (i + 1) % 4, 5 * 1024);
                world_hold(w, &in[i], (i + 2) % 4, 2 * 1024);
        }
        world_hold(w, &in[3], 0, 4 * 1024);
        world_hold(w, &in[3], 1, 0);
        assert_plan(w, "1 2 3 0");
        assert_decides(w, NODES("0", "1", "2", "3"), WEIGH_MOVE, 18 * 1024, 25 * 1024);
}

/* It decides nothing before the load of the CPUs, and some MiB decide nothing at all. */
PLAN_TEST(move_comes_late, 1, 2, 4) {
        Policy *tidb = world_policy(w, "tidb"), *pd = world_policy(w, "pd"),
               *proxy = world_policy(w, "haproxy");
        PlacementInstance *a, *b, *c;

        tidb->place.share = pd->place.share = proxy->place.share = SHARE_SHARED;
        a = world_add(w, tidb, "tidb-1");
        b = world_add(w, pd, "pd-1");
        a->exe = "tidb-server";
        b->exe = "pd-server";
        world_hold(w, a, 0, 1024);
        world_hold(w, b, 0, 1024);
        assert_plan(w, "0 1");
        world_hold(w, a, 1, 1536); /* now it is the heavier one's memory that stays */
        assert_plan(w, "1 0");
        world_hold(w, a, 1, 1024 + 7);
        world_hold(w, b, 1, 1024);
        assert_plan(w, "0 1");
        c = world_add(w, proxy, "haproxy-1");
        c->exe = "haproxy";
        world_hold(w, c, 0, 4096);
        assert_plan(w, "0 1 1");
}

PLAN_TEST(number, 1, 3, 4) {
        w->nodes[1].id = 4; /* ranks, not numbers */
        w->nodes[2].id = 9;
        (void)world_add_many(w, world_policy(w, "tidb"), 2);
        assert_plan(w, "0 4");
        assert_decides(w, NODES("0", "9"), WEIGH_NUMBER, 1, 2);
}

/* Of interchangeable ones the lower name gets the lower nodes, in whatever order they come. */
PLAN_TEST(names, 1, 4, 4) {
        Policy *tidb = world_policy(w, "tidb");

        (void)world_add(w, tidb, "tidb-10");
        (void)world_add(w, tidb, "tidb-2");
        (void)world_add(w, tidb, "tidb-9");
        (void)world_add(w, tidb, "tidb-1");
        assert_plan(w, "3 1 2 0");
        give_count(tidb, 2);
        assert_plan(w, "2-3 0-1 2-3 0-1");
}

/* What cannot be placed has no part in the score, and takes nothing from the others. */
PLAN_TEST(refused_count_nothing, 1, 2, 4) {
        Policy *other = world_policy(w, "other");

        give_count(other, 3);
        world_add(w, other, "a-1")->in_force = node_set("0-1");
        (void)world_add_many(w, world_policy(w, "tidb"), 2);
        assert_plan(w, "- 0 1");
        assert_decides(w, NODES("", "1", "1"), WEIGH_EXCLUSIVE, 0, 1);
}

/* Reserved huge pages are memory of their own: the node that has them, though it comes later. */
PLAN_TEST(memory_of_a_pool, 1, 4, 4) {
        uint64_t n_free[4] = { 20, 10, 30, 60 };
        const HugePools pools = { .list = { { .page_bytes = 2 << 20, .n_free = n_free } }, .n = 1 };
        Policy *tidb = world_policy(w, "tidb");
        PlacementInstance *in = world_add_many(w, tidb, 2);
        HugeNeed need = { 0 }, other = { 0 };

        tidb->memory = MEMORY_BIND;
        huge_need_add(&need, &(HugeUse){ .page_bytes = 2 << 20, .n_mapped = 26, .n_touched = 2 });
        huge_need_add(&other, &(HugeUse){ .page_bytes = 2 << 20, .n_mapped = 50 });
        assert_plan(w, "0 1");
        in[0].huge = &need;
        in[1].huge = &other;
        assert_plan(w, "0 1"); /* pools that are not known decide nothing */
        w->input.pools = &pools;
        assert_plan(w, "2 3");
        n_free[2] = 23; /* one page less than it may still touch */
        n_free[1] = 24;
        assert_plan(w, "1 3");
}
