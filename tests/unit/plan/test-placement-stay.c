/* What stays where it is bound, and what has to move. */

#include "../../support/test.h"

#include "placement-one.h"

ONE_TEST(kept, true) {
        one->in->in_force = node_set("2"); /* not the best, and good enough */
        assert_placed(one, BASIS_KEPT, "2", "8-11", 0);
        one->world->host.reserve.kind = RESERVE_LIST;
        one->world->host.reserve.nodes = node_set("2");
        assert_placed(one, BASIS_KEPT, "2", "8-11", WARN_RESERVED);
        one->policy->place.near = NEAR_NIC;
        one->world->input.nic_nodes = node_set("2");
        assert_placed(one, BASIS_KEPT, "2", "8-11", WARN_RESERVED);
}

static void assert_moved(void (*change)(One *one), const char *nodes, const char *cpus) {
        _cleanup_one_ One one;

        one_init(&one, true);
        one.in->in_force = node_set("1-2");
        give_count(one.policy, 2);
        one.policy->place.same_package = false;
        assert_placed(&one, BASIS_KEPT, "1-2", "4-11", 0);
        change(&one);
        assert_placed(&one, BASIS_CHOSEN, nodes, cpus, WARN_MOVED);
}

static void set_same_package(One *one) {
        one->policy->place.same_package = true;
}

static void set_count(One *one) {
        give_count(one->policy, 1);
}

static void avoid_node(One *one) {
        one->policy->place.avoid = node_set("2");
}

static void disallow_node(One *one) {
        one->in->allowed_nodes = node_set("0,2-3");
}

static void disallow_cpus(One *one) {
        one->in->allowed_cpus = cpu_set("0-7");
}

static void remove_memory(One *one) {
        one->world->nodes[1].memory_bytes = 0;
}

static void reserve_strictly(One *one) {
        one->world->host.reserve = (Reserve){ .kind = RESERVE_LIST, .strict = true };
        one->world->host.reserve.nodes = node_set("1");
}

static void need_other_cpus(One *one) {
        one->policy->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("0") };
}

static void lose_node(One *one) {
        one->in->in_force = node_set("2,9");
}

/* What does not fit any more is given up, and of that as little as can be. */
TEST(moved) {
        assert_moved(set_same_package, "0-1", "0-7");
        assert_moved(set_count, "1", "4-7");
        assert_moved(avoid_node, "0-1", "0-7");
        assert_moved(disallow_node, "2-3", "8-15");
        assert_moved(disallow_cpus, "0-1", "0-7");
        assert_moved(remove_memory, "2-3", "8-15");
        assert_moved(reserve_strictly, "2-3", "8-15");
        assert_moved(need_other_cpus, "0-1", "0");
        assert_moved(lose_node, "2-3", "8-15");
}

/* With a count that is automatic any size is a possible one. */
ONE_TEST(kept_with_auto_count, true) {
        give_count(one->policy, PLACE_COUNT_AUTO);
        assert_placed(one, BASIS_CHOSEN, "0-1", "0-7", 0);
        one->in->in_force = node_set("3");
        assert_placed(one, BASIS_KEPT, "3", "12-15", 0);
        one->in->in_force = node_set("1-2"); /* but of two sockets */
        assert_placed(one, BASIS_CHOSEN, "0-1", "0-7", WARN_MOVED);
}

/* Explicit nodes win over what is in force; nothing is given up where there are only more. */
ONE_TEST(explicit_moves, true) {
        one->policy->place.count_is_set = false;
        one->policy->place.nodes = node_set("2-3");
        one->in->in_force = node_set("1-2");
        assert_placed(one, BASIS_EXPLICIT, "2-3", "8-15", WARN_MOVED);
        one->in->in_force = node_set("2");
        assert_placed(one, BASIS_EXPLICIT, "2-3", "8-15", 0);
}
