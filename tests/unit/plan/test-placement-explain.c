/* What the planner reports beside the nodes: warnings, and the alternatives that lost. */

#include "../../support/test.h"

#include "placement-random.h"

static void assert_warnings(const World *w, size_t i, uint32_t warnings) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);

        assert_int_equal(plan.choices[i].warnings, warnings);
}

PLAN_TEST(not_exclusive, 1, 2, 4) {
        Policy *tidb = world_policy(w, "tidb"), *pd = world_policy(w, "pd");

        pd->place.share = SHARE_SHARED;
        (void)world_add_many(w, tidb, 2);
        (void)world_add_many(w, pd, 3);
        for (size_t i = 0; i < 5; i++)
                assert_warnings(w, i, 0);
        (void)world_add(w, tidb, "tidb-3"); /* beside tidb-1 on node 0 */
        assert_plan(w, "0 0 0 1 1 1");
        assert_warnings(w, 0, WARN_NOT_EXCLUSIVE);
        assert_warnings(w, 1, WARN_NOT_EXCLUSIVE);
        assert_warnings(w, 2, 0);
        assert_warnings(w, 5, 0);
}

PLAN_TEST(device, 1, 4, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        assert_warnings(w, 0, 0);
        tikv->place.near = NEAR_STORAGE;
        assert_warnings(w, 0, WARN_DEVICE_UNKNOWN);
        in->device_nodes = node_set("77"); /* a node that is not there */
        assert_warnings(w, 0, WARN_DEVICE_UNKNOWN);
        in->device_nodes = node_set("2,77");
        assert_warnings(w, 0, 0);
        give_count(tikv, 2); /* one of the two is enough */
        assert_warnings(w, 0, 0);
        tikv->place.avoid = node_set("2");
        assert_warnings(w, 0, WARN_FAR_DEVICE);
        tikv->place.near = NEAR_NIC;
        assert_warnings(w, 0, WARN_DEVICE_UNKNOWN);
        w->input.nic_nodes = node_set("2");
        assert_warnings(w, 0, WARN_FAR_DEVICE);
        w->host.reserve.kind = RESERVE_NIC; /* it keeps off the card's node as it should */
        assert_warnings(w, 0, 0);
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("1");
        assert_warnings(w, 0, WARN_FAR_DEVICE);
}

PLAN_TEST(memory, 1, 2, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add_many(w, tikv, 2);

        in[0].need_bytes = UINT64_C(64) << 30;
        assert_warnings(w, 0, 0);
        in[0].need_bytes++;
        assert_warnings(w, 0, WARN_MEMORY);
        assert_warnings(w, 1, 0);
        tikv->memory = MEMORY_PREFERRED;
        assert_warnings(w, 0, 0);
        tikv->memory = MEMORY_BIND;
        tikv->place.nodes = node_set("0"); /* with another one there that needs little */
        tikv->place.count_is_set = true;
        in[0].need_bytes = UINT64_C(63) << 30;
        in[1].need_bytes = UINT64_C(1) << 30;
        assert_warnings(w, 0, WARN_NOT_EXCLUSIVE);
        in[1].need_bytes++;
        assert_warnings(w, 0, WARN_NOT_EXCLUSIVE | WARN_MEMORY);
        assert_warnings(w, 1, WARN_NOT_EXCLUSIVE | WARN_MEMORY);
        in[1].need_bytes = 0;
        in[0].need_bytes = UINT64_C(80) << 30;
        assert_warnings(w, 1, WARN_NOT_EXCLUSIVE); /* it holds nothing itself */
}

/* A strict binding to several nodes takes from all of them. */
PLAN_TEST(memory_of_several_nodes, 1, 2, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        tikv->place.nodes = node_set("0-1");
        in->need_bytes = UINT64_C(70) << 30;
        w->free_bytes[0] = UINT64_C(10) << 30;
        w->free_bytes[1] = UINT64_C(60) << 30;
        w->input.free_bytes = w->free_bytes;
        assert_warnings(w, 0, 0);
        w->free_bytes[1]--;
        assert_warnings(w, 0, WARN_MEMORY);
        w->nodes[0].memory_bytes = 0; /* then the other one has to hold all of it */
        in->need_bytes = w->free_bytes[1] - (1 << 20);
        assert_warnings(w, 0, 0);
}

PLAN_TEST(many_nodes, 1, 4, 4) {
        Policy *tidb = world_policy(w, "tidb");

        (void)world_add(w, tidb, "tidb-1");
        tidb->match.exe = (char *)"tidb-server";
        assert_warnings(w, 0, 0);
        give_count(tidb, 2);
        assert_warnings(w, 0, WARN_MANY_NODES);
        tidb->match.exe = (char *)"/opt/*/bin/tidb-server";
        assert_warnings(w, 0, WARN_MANY_NODES);
        tidb->match.exe = (char *)"/opt/tidb-server/tikv-server";
        assert_warnings(w, 0, 0);
        tidb->match.exe = NULL;
        assert_warnings(w, 0, 0);
}

/* Eight nodes of nine CPUs, most of which are offline: node 0 has one left. */
PLAN_TEST(few_cpus, 2, 4, 9) {
        Policy *tidb = world_policy(w, "tidb"), *pd = world_policy(w, "pd");

        tidb->match.exe = (char *)"tidb-server";
        pd->match.exe = (char *)"pd-server";
        tidb->place.nodes = pd->place.nodes = node_set("0");
        tidb->place.share = pd->place.share = SHARE_SHARED;
        (void)world_add(w, tidb, "tidb-1");
        (void)world_add(w, pd, "pd-1");
        assert_warnings(w, 0, 0);
        w->topology.offline_cpus = cpu_set("1-8");
        w->nodes[0].cpus = w->nodes[0].first_threads = cpu_set("0");
        assert_warnings(w, 0, WARN_FEW_CPUS);
        assert_warnings(w, 1, 0);      /* a PD is light */
        tidb->cpus.choice = CPUS_LIST; /* chosen by the policy */
        tidb->cpus.list = cpu_set("0");
        assert_warnings(w, 0, 0);
        tidb->cpus.choice = CPUS_ALL;
        /* All but one node are offline: that one has what it should have. */
        for (uint32_t i = 1; i < 8; i++) {
                id_set_union(&w->topology.offline_cpus, &w->nodes[i].cpus);
                w->nodes[i].cpus = w->nodes[i].first_threads = (CpuSet){ 0 };
        }
        w->nodes[0].cpus = w->nodes[0].first_threads = cpu_set("0-2");
        assert_warnings(w, 0, 0);
}

/* --- alternatives --- */

static void assert_alternative(const PlacementAlternative *a, const char *nodes,
                               PlacementCriterion criterion, uint64_t chosen, uint64_t other) {
        assert_ids(a->nodes, nodes);
        assert_string_equal(placement_criterion_to_string(a->criterion),
                            placement_criterion_to_string(criterion));
        assert_int_equal(a->chosen, chosen);
        assert_int_equal(a->other, other);
}

PLAN_TEST(alternatives, 2, 2, 4) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tidb = world_policy(w, "tidb");
        const PlacementAlternative *a;

        (void)world_add_many(w, tidb, 2);
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("3");
        world_add(w, tidb, "tidb-3")->in_force = node_set("1");
        w->input.explain = true;
        plan = plan_of(w);
        assert_plan(w, "0 2 1");
        assert_int_equal(plan.choices[0].n_feasible, 4);
        assert_int_equal(plan.choices[0].n_alternatives, 3);
        a = plan.choices[0].alternatives;
        assert_alternative(&a[0], "3", WEIGH_RESERVED, 0, 1);
        assert_alternative(&a[1], "1", WEIGH_EXCLUSIVE, 0, 1);
        assert_alternative(&a[2], "2", WEIGH_EXCLUSIVE, 0, 1);
        assert_int_equal(plan.choices[0].grounds.decides,
                         1 << WEIGH_RESERVED | 1 << WEIGH_EXCLUSIVE);
        assert_int_equal(plan.choices[0].grounds.others, 0);
        assert_int_equal(plan.choices[0].grounds.in_sockets, 2); /* exclusive, of its policy */
        assert_int_equal(plan.choices[2].basis, BASIS_KEPT);
        assert_int_equal(plan.choices[2].n_alternatives, 0);
        w->input.explain = false;
        placement_plan_done(&plan);
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].n_alternatives, 0);
        assert_null(plan.choices[0].alternatives);
}

/* Sets that are just as good say so: the last number, the same on both sides. */
PLAN_TEST(alternative_that_ties, 1, 4, 4) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tikv = world_policy(w, "tikv");

        give_count(tikv, 2);
        tikv->place.nodes = node_set("0-3");
        tikv->cpus = (PolicyCpus){ .choice = CPUS_ALL };
        (void)world_add_many(w, tikv, 2);
        w->input.explain = true;
        assert_plan(w, "0-1 2-3");
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].n_feasible, 6);
        assert_int_equal(plan.choices[0].n_alternatives, 5);
        assert_alternative(&plan.choices[0].alternatives[0], "0,2", WEIGH_EXCLUSIVE, 0, 1);
}

/* All share, and the grounds say so. */
PLAN_TEST(grounds_of_those_who_share, 2, 1, 8) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tidb = world_policy(w, "tidb"), *tikv = world_policy(w, "tikv");

        (void)world_add_many(w, tidb, 2);
        (void)world_add_many(w, tikv, 2);
        w->input.explain = true;
        plan = plan_of(w);
        for (size_t i = 0; i < 4; i++) {
                const PlacementGrounds *grounds = &plan.choices[i].grounds;

                assert_int_equal(grounds->decides, 1 << WEIGH_EXCLUSIVE);
                assert_int_equal(grounds->others, 1);
                assert_int_equal(grounds->exclusive, 1);
                assert_int_equal(grounds->of_policy, 0);
                assert_int_equal(grounds->in_sockets, 1);
        }
}

/* Hundreds of sets are as good but for their numbers and fill the list of alternatives; those that
 * lost by more decide all the same. */
PLAN_TEST(grounds_beyond_what_is_kept, 2, 32, 1) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tikv = world_policy(w, "tikv");
        bool kept = false;

        give_count(tikv, 2);
        (void)world_add_many(w, tikv, 2);
        w->input.explain = true;
        plan = plan_of(w);
        for (size_t k = 0; k < plan.choices[0].n_alternatives; k++)
                kept |= plan.choices[0].alternatives[k].criterion != WEIGH_NUMBER;
        assert_false(kept);
        assert_int_equal(plan.choices[0].grounds.decides,
                         1 << WEIGH_NUMBER | 1 << WEIGH_SPREAD | 1 << WEIGH_EXCLUSIVE);
}

PLAN_TEST(not_more_than_are_read, 2, 32, 1) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tikv = world_policy(w, "tikv");

        give_count(tikv, 2);
        (void)world_add(w, tikv, "tikv-1");
        w->input.explain = true;
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].n_feasible, 2 * 32 * 31 / 2);
        assert_int_equal(plan.choices[0].n_alternatives, PLACEMENT_ALTERNATIVES_MAX);
        /* The best ones: by the sums of their numbers. */
        assert_alternative(&plan.choices[0].alternatives[0], "0,2", WEIGH_NUMBER, 1, 2);
        give_count(tikv, 16); /* some hundred million: only those around each node are reported */
        placement_plan_done(&plan);
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].n_feasible, UINT64_C(2) * 601080390);
        assert_ids(plan.choices[0].placement.nodes, "0-15");
        assert_true(plan.choices[0].n_alternatives > 32);
}

/* Each alternative, put into the plan, makes it worse by what it says; the best come first. */
static void check_alternatives(const World *w, const PlacementPlan *plan, size_t i) {
        const PlacementChoice *choice = &plan->choices[i];
        PlacementScore before = plan->score;
        NodeSet nodes[INSTANCES_MOST];

        for (size_t k = 0; k < plan->n_choices; k++)
                nodes[k] = plan->choices[k].placement.nodes;
        for (size_t k = 0; k < choice->n_alternatives; k++) {
                const PlacementAlternative *a = &choice->alternatives[k];
                PlacementScore score;

                assert_false(id_set_equal(&a->nodes, &choice->placement.nodes));
                nodes[i] = a->nodes;
                score = placement_score(&w->input, nodes);
                for (unsigned c = 0; c < a->criterion; c++)
                        assert_int_equal(score.by[c], plan->score.by[c]);
                assert_int_equal(plan->score.by[a->criterion], a->chosen);
                assert_int_equal(score.by[a->criterion], a->other);
                assert_true(a->other > a->chosen ||
                            (a->criterion == WEIGH_NUMBER && a->other == a->chosen));
                assert_true(placement_score_compare(&before, &score) <= 0);
                before = score;
        }
}

TEST(generated) {
        const Shape shape = {
                .nodes = 8, .instances = 6, .policies = 3, .count = 3, .memory = true
        };

        for (uint32_t i = 1; i <= 100; i++) {
                uint32_t seed = i;
                _cleanup_world_ World *w = world_random(&seed, &shape);
                _cleanup_placement_plan_ PlacementPlan plan = { 0 };

                w->input.explain = true;
                plan = plan_of(w);
                for (size_t k = 0; k < plan.n_choices; k++)
                        check_alternatives(w, &plan, k);
        }
}
