/* The machines of the field and what was found best on them, by name. */

#include "../../support/test.h"

#include "placement-support.h"

static void on_storage(World *w, PlacementInstance *first, const char *const *nodes, size_t n) {
        ((Policy *)first->policy)->place.near = NEAR_STORAGE;
        (void)w;
        for (size_t i = 0; i < n; i++)
                first[i].device_nodes = node_set(nodes[i]);
}

/* 8-node EPYC, 8 TiKV: one a node, each at its own NVMe, in whatever order the disks are. */
TEST(epyc8_8_tikv) {
        static const char *const disks[] = { "7", "6", "5", "4", "3", "2", "1", "0" };
        _cleanup_world_ World *w = world_new(2, 4, 16);
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };

        on_storage(w, world_add_many(w, world_policy(w, "tikv"), 8), disks, 8);
        assert_plan(w, "7 6 5 4 3 2 1 0");
        plan = plan_of(w);
        for (size_t i = 0; i < 8; i++) {
                assert_int_equal(plan.choices[i].basis, BASIS_CHOSEN);
                assert_int_equal(plan.choices[i].warnings, 0);
        }
}

/* 8-node EPYC, 4 TiKV: two nodes of one socket each, however the two are asked for. */
TEST(epyc8_4_tikv) {
        static const char *const disks[] = { "0", "2", "5", "7" };
        _cleanup_world_ World *w = world_new(2, 4, 16);
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *first = world_add_many(w, tikv, 4);

        give_count(tikv, 2);
        assert_plan(w, "0-1 2-3 4-5 6-7");
        give_count(tikv, PLACE_COUNT_AUTO);
        assert_plan(w, "0-1 2-3 4-5 6-7");
        on_storage(w, first, disks, 4);
        assert_plan(w, "0-1 2-3 4-5 6-7");
        first[1].device_nodes = node_set("1"); /* two disks on one socket's first two nodes */
        assert_plan(w, "0,3 1-2 4-5 6-7");
}

/* Distances decide, not numbers: pairs of neighbours within a socket. */
PLAN_TEST(epyc8_4_tikv_odd_distances, 2, 4, 16) {
        Policy *tikv = world_policy(w, "tikv");

        for (unsigned i = 0; i < 8; i++) /* 0 and 2, 1 and 3, … are the closest */
                for (unsigned k = 0; k < 8; k++)
                        if (i != k && i / 4 == k / 4)
                                w->distances[i * 8 + k] = i % 2 == k % 2 ? 11 : 14;
        give_count(tikv, 2);
        (void)world_add_many(w, tikv, 4);
        assert_plan(w, "0,2 1,3 4,6 5,7");
}

/* 16-node Arm: 2 sockets of 8 nodes with 8 cores each. Node 0 is left to the network, one TiKV has
 * four nodes of one socket, eleven TiDB have one each, PD and HAProxy share. */
static void build_arm(World *w) {
        Policy *tidb = world_policy(w, "tidb"), *tikv = world_policy(w, "tikv");
        Policy *shared = world_policy(w, "pd"), *haproxy = world_policy(w, "haproxy");

        tidb->match.exe = (char *)"tidb-server";
        tikv->match.exe = (char *)"tikv-server";
        shared->match.exe = (char *)"pd-server";
        haproxy->match.exe = (char *)"haproxy";
        give_count(tikv, PLACE_COUNT_AUTO);
        shared->place.share = haproxy->place.share = SHARE_SHARED;
        w->host.reserve.kind = RESERVE_NIC;
        w->input.nic_nodes = node_set("0");
        (void)world_add_many(w, tidb, 11);
        (void)world_add(w, tikv, "tikv-1");
        (void)world_add(w, shared, "pd-1");
        (void)world_add(w, haproxy, "haproxy-1");
}

PLAN_TEST(arm16, 2, 8, 8) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        NodeSet seen = { 0 };

        build_arm(w);
        plan = plan_of(w);
        for (size_t i = 0; i < 14; i++) {
                const Placement *p = &plan.choices[i].placement;

                assert_int_equal(plan.choices[i].warnings, 0);
                assert_int_equal(id_set_count(&p->nodes), i == 11 ? 4 : 1);
                assert_false(id_set_has(&p->nodes, 0));
                if (i < 12)
                        assert_false(id_set_intersects(&seen, &p->nodes));
                id_set_union(&seen, &p->nodes);
        }
        assert_int_equal(id_set_count(&seen), 15);
        /* beside the TiKV, which weighs a fourth on each of its nodes; haproxy-1 goes before pd-1,
         * by name */
        assert_plan(w, "1 2 3 4 5 6 7 12 13 14 15 8-11 9 8");
}

/* 2 × Xeon 6252, one node a socket: one TiDB each. */
PLAN_TEST(xeon_6252, 2, 1, 48) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tidb = world_policy(w, "tidb");

        tidb->match.exe = (char *)"tidb-server";
        (void)world_add_many(w, tidb, 2);
        assert_plan(w, "0 1");
        plan = plan_of(w);
        assert_ids(plan.choices[1].placement.cpus, "48-95");
        assert_int_equal(plan.choices[0].warnings | plan.choices[1].warnings, 0);
}

/* Mixed: tidb, tikv, pd and haproxy on two nodes. One of each kind a node. */
PLAN_TEST(xeon_mixed, 2, 1, 48) {
        Policy *pd = world_policy(w, "pd");

        pd->place.share = SHARE_SHARED;
        (void)world_add_many(w, world_policy(w, "tidb"), 2);
        (void)world_add_many(w, world_policy(w, "tikv"), 2);
        (void)world_add_many(w, pd, 1);
        assert_plan(w, "0 1 0 1 0");
}

/* The node of the network card is used only when nothing else is left, and with the warning. */
PLAN_TEST(nic_node_last, 2, 4, 16) {
        Policy *tidb = world_policy(w, "tidb");
        uint32_t reserved = 0;

        w->host.reserve.kind = RESERVE_NIC;
        w->input.nic_nodes = node_set("2");
        (void)world_add_many(w, tidb, 7);
        assert_plan(w, "0 1 3 4 5 6 7");
        (void)world_add(w, tidb, "tidb-8");
        assert_plan(w, "0 1 2 3 4 5 6 7");
        {
                _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);

                for (size_t i = 0; i < 8; i++) {
                        bool there = id_set_has(&plan.choices[i].placement.nodes, 2);

                        assert_int_equal(plan.choices[i].warnings, there ? WARN_RESERVED : 0);
                        assert_ids(plan.choices[i].reserved, there ? "2" : "");
                        reserved += there;
                }
        }
        assert_int_equal(reserved, 1);
        /* One more than nodes: two share, and not the card's node. */
        (void)world_add(w, tidb, "tidb-9");
        assert_plan(w, "0 0 1 2 3 4 5 6 7");
}

/* Strict: not even in need. Two share a node rather than use it. */
PLAN_TEST(nic_node_strict, 2, 4, 16) {
        w->host.reserve.kind = RESERVE_NIC;
        w->host.reserve.strict = true;
        w->input.nic_nodes = node_set("2");
        (void)world_add_many(w, world_policy(w, "tidb"), 8);
        assert_plan(w, "0 0 1 3 4 5 6 7");
}

/* HAProxy near the card: on the node beside, of the card's socket, while the card's is reserved. */
PLAN_TEST(near_the_nic, 2, 4, 16) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *haproxy = world_policy(w, "haproxy");

        haproxy->place.near = NEAR_NIC;
        haproxy->place.share = SHARE_SHARED;
        w->input.nic_nodes = node_set("5");
        (void)world_add(w, haproxy, "haproxy-1");
        assert_plan(w, "5");
        w->host.reserve.kind = RESERVE_NIC;
        assert_plan(w, "4");
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].warnings, 0);
        haproxy->place.nodes = node_set("5"); /* with a count: chosen, though there is one only */
        haproxy->place.count_is_set = true;
        assert_plan(w, "5");
}
