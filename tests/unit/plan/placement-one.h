/* One instance and what the planner answers about it. */
#pragma once

#include "placement-support.h"

/* One instance of one policy on two sockets of two nodes with four CPUs each. Unless it is `whole`,
 * node 3 has no memory and node 2 no CPU. */
typedef struct One {
        World *world;
        Policy *policy;
        PlacementInstance *in;
} One;

static inline void one_init(One *one, bool whole) {
        *one = (One){ .world = world_new(2, 2, 4) };
        one->policy = world_policy(one->world, "tidb");
        one->policy->place.count_is_set = true;
        one->in = world_add(one->world, one->policy, "tidb-1");
        one->in->unit = "tidb-1.service";
        if (whole)
                return;
        one->world->nodes[3].memory_bytes = 0;
        one->world->nodes[2].cpus = (CpuSet){ 0 };
}

static inline void one_done(One *one) {
        free(one->world);
}
#define _cleanup_one_ _cleanup_(one_done)
#define ONE_TEST(test, whole) TEST_AFTER(test, One, one, one_init(one, whole), one_done)

static inline void assert_refused(const One *one, PlacementRefusal refusal) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(one->world);
        const PlacementChoice *choice = &plan.choices[0];

        assert_string_equal(placement_refusal_to_id(choice->refusal),
                            placement_refusal_to_id(refusal));
        assert_int_equal(choice->basis, BASIS_REFUSED);
        assert_ids(choice->placement.nodes, "");
        assert_ids(choice->placement.cpus, "");
        assert_string_equal(choice->placement.reason, placement_refusal_to_string(refusal));
        assert_true(choice->placement.reason[0] != '\0');
        assert_int_equal(choice->warnings, 0);
        assert_int_equal(choice->n_alternatives, 0);
        for (unsigned i = 0; i < N_CRITERIA; i++)
                assert_int_equal(plan.score.by[i], 0);
}

static inline void assert_placed(const One *one, PlacementBasis basis, const char *nodes,
                                 const char *cpus, uint32_t warnings) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(one->world);
        const PlacementChoice *choice = &plan.choices[0];

        assert_string_equal(placement_refusal_to_id(choice->refusal), "");
        assert_int_equal(choice->basis, basis);
        assert_ids(choice->placement.nodes, nodes);
        assert_ids(choice->placement.cpus, cpus);
        assert_string_equal(choice->placement.reason, "");
        assert_int_equal(choice->warnings, warnings);
        if (basis != BASIS_CHOSEN)
                assert_int_equal(choice->n_feasible, 1);
}
