/* `count: auto`: the nodes left for a policy, divided by its instances, within a socket. */

#include "../../support/test.h"

#include "placement-support.h"

static Policy *auto_policy(World *w, const char *name) {
        Policy *policy = world_policy(w, name);

        give_count(policy, PLACE_COUNT_AUTO);
        return policy;
}

static void assert_divided(unsigned packages, unsigned nodes_each, unsigned n,
                           const char *expected) {
        _cleanup_world_ World *w = world_new(packages, nodes_each, 4);

        (void)world_add_many(w, auto_policy(w, "tikv"), n);
        assert_plan(w, expected);
}

TEST(alone) {
        assert_divided(2, 4, 1, "0-3"); /* not more than a socket has */
        assert_divided(2, 4, 2, "0-3 4-7");
        assert_divided(2, 4, 3, "0-1 2-3 4-5");
        assert_divided(2, 4, 8, "0 1 2 3 4 5 6 7");
        assert_divided(1, 4, 5, "0 0 1 2 3"); /* at least one */
        /* Six nodes by three are two, but of three a socket has one pair only. */
        assert_divided(2, 3, 3, "0 1 3");
        assert_divided(2, 3, 2, "0-2 3-5");
}

PLAN_TEST(any_socket, 2, 3, 4) {
        Policy *tikv = auto_policy(w, "tikv");

        tikv->place.same_package = false;
        (void)world_add_many(w, tikv, 1);
        assert_plan(w, "0-5");
        (void)world_add(w, tikv, "tikv-2");
        assert_plan(w, "0-2 3-5");
}

/* Reserved nodes, and those of others' exclusive instances, are not left for it. */
PLAN_TEST(what_is_left, 1, 8, 4) {
        Policy *tikv = auto_policy(w, "tikv"), *tidb = world_policy(w, "tidb");
        Policy *pd = world_policy(w, "pd");
        PlacementInstance *in;

        pd->place.share = SHARE_SHARED;
        (void)world_add_many(w, tikv, 2);
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("0-1");
        assert_plan(w, "2-4 5-7");
        in = world_add(w, pd, "pd-1"); /* a shared one takes nothing, nor does one that stays */
        assert_plan(w, "2-4 5-7 2");
        in->in_force = node_set("2");
        assert_plan(w, "2-4 5-7 2");
        in->in_force = (NodeSet){ 0 };
        in = world_add(w, tidb, "tidb-1");
        assert_plan(w, "2-3 4-5 7 6");
        in->in_force = node_set("7");
        assert_plan(w, "2-3 4-5 6 7");
        in->in_force = node_set("0"); /* which was not left anyway */
        assert_plan(w, "2-4 5-7 2 0");
        tidb->place.nodes = node_set("0-1"); /* nor would it take what is */
        in->in_force = (NodeSet){ 0 };
        tidb->place.count_is_set = true;
        assert_plan(w, "2-4 5-7 2 0");
}

/* Others that want more nodes than they may have take no more than those. */
PLAN_TEST(others_in_a_corner, 1, 8, 4) {
        Policy *tikv = auto_policy(w, "tikv"), *tidb = world_policy(w, "tidb");

        tidb->place.nodes = node_set("0-1");
        tidb->place.count_is_set = true;
        (void)world_add_many(w, tikv, 2);
        (void)world_add_many(w, tidb, 4);
        assert_plan(w, "2-4 5-7 0 0 1 1");
        tikv->place.avoid = node_set("0"); /* of the two, one is open to it */
        assert_plan(w, "2-4 5-7 0 0 1 1");
}

PLAN_TEST(two_policies_divide, 2, 4, 4) {
        Policy *tikv = auto_policy(w, "tikv"), *tidb = auto_policy(w, "tidb");

        (void)world_add_many(w, tikv, 2);
        (void)world_add_many(w, tidb, 2);
        assert_plan(w, "2-3 6-7 0-1 4-5");
        tidb->place.share = SHARE_SHARED; /* it fills gaps */
        assert_plan(w, "0-3 4-7 0-3 4-7");
}

/* One that came later gets what is left, and moves no other. */
PLAN_TEST(one_more, 2, 2, 4) {
        Policy *tikv = auto_policy(w, "tikv");
        PlacementInstance *in = world_add_many(w, tikv, 3);

        in[0].in_force = node_set("0-1");
        in[1].in_force = node_set("2");
        assert_plan(w, "0-1 2 3");
        in[1].in_force = node_set("2-3");
        assert_plan(w, "0-1 2-3 0");
}

PLAN_TEST(cpu_list_is_more, 1, 4, 4) {
        Policy *tikv = auto_policy(w, "tikv");

        tikv->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("1,9") };
        (void)world_add_many(w, tikv, 4);
        assert_plan(w, "0,2 0,2 0,2 0,2");
}

/* Instances of one policy in cgroups of their own divide what is open to each. */
PLAN_TEST(cgroups, 2, 4, 4) {
        PlacementInstance *in = world_add_many(w, auto_policy(w, "tikv"), 2);

        in[0].allowed_nodes = node_set("0");
        assert_plan(w, "0 4-7");
        in[1].allowed_nodes = node_set("4-5");
        assert_plan(w, "0 4");
}
