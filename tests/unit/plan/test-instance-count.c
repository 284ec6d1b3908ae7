/* Instances by policy and user. */
#include "../../support/test.h"

#include "tidbnumad/plan/match.h"

TEST(counts_by_policy_and_user) {
        InstanceCounts c = { 0 };

        for (uid_t uid = 200; uid > 100; uid--)
                for (size_t policy = 0; policy < 3; policy++)
                        assert_int_equal(instance_counts_add(&c, policy, uid), 0);
        assert_int_equal(instance_counts_add(&c, 1, 150), 0);
        assert_int_equal(c.n_counts, 300);
        assert_int_equal(instance_counts_of(&c, 1, 150), 2);
        assert_int_equal(instance_counts_of(&c, 0, 150), 1);
        assert_int_equal(instance_counts_of(&c, 1, 151), 1);
        assert_int_equal(instance_counts_of(&c, 3, 150), 0);
        instance_counts_remove(&c, 1, 150);
        assert_int_equal(instance_counts_of(&c, 1, 150), 1);
        instance_counts_done(&c);
}

TEST(never_below_zero) {
        InstanceCounts c = { 0 };

        instance_counts_remove(&c, 0, 7); /* not counted: its policy was gone before */
        assert_int_equal(instance_counts_add(&c, 0, 7), 0);
        instance_counts_remove(&c, 0, 7);
        instance_counts_remove(&c, 0, 7);
        assert_int_equal(instance_counts_of(&c, 0, 7), 0);
        assert_int_equal(instance_counts_add(&c, 0, 7), 0);
        assert_int_equal(instance_counts_of(&c, 0, 7), 1);
        instance_counts_done(&c);
}

TEST(logged_once) {
        InstanceCounts c = { 0 };

        assert_int_equal(instance_counts_add(&c, 0, 7), 0);
        assert_true(instance_counts_log(&c, 0, 7, INSTANCE_LIMIT_INSTANCES));
        assert_false(instance_counts_log(&c, 0, 7, INSTANCE_LIMIT_INSTANCES));
        assert_true(instance_counts_log(&c, 0, 7, INSTANCE_LIMIT_PLACES));
        instance_counts_remove(&c, 0, 7);
        assert_int_equal(instance_counts_add(&c, 0, 7), 0);
        /* also when it fills up again */
        assert_false(instance_counts_log(&c, 0, 7, INSTANCE_LIMIT_INSTANCES));
        instance_counts_done(&c);
}

/* Starts processes until no place is left for this policy and user. */
static size_t fill(InstanceCounts *c, size_t policy, uid_t uid, size_t n_places) {
        size_t n = 0;

        assert_int_equal(instance_counts_add(c, policy, uid), 0);
        for (; instance_counts_have_place(c, policy, uid, n_places); n++)
                instance_counts_join(c, policy, uid, 1);
        return n;
}

TEST(whoever_takes_many_places_leaves_some) {
        InstanceCounts c = { 0 };

        assert_int_equal(fill(&c, 0, 7, 1000), 500);
        assert_int_equal(fill(&c, 1, 7, 1000), 250); /* another policy of the same user */
        assert_int_equal(fill(&c, 2, 7, 1000), 0);   /* the last quarter is for other users */
        assert_int_equal(fill(&c, 0, 8, 1000), 125);
        for (uid_t uid = 10; uid < 14; uid++)
                assert_true(fill(&c, 0, uid, 1000) > 0);
        instance_counts_leave(&c, 0, 7);
        instance_counts_leave(&c, 0, 7);
        assert_int_equal(fill(&c, 3, 7, 1000), 2);
        instance_counts_leave(&c, 9, 9); /* not counted */
        assert_false(instance_counts_have_place(&c, 9, 9, 0));
        instance_counts_done(&c);
}
