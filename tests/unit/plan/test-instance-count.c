/* Instances by policy and user. */
#include "../../support/test.h"

#include "tidbnumad/plan/instance-count.h"

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
        assert_true(instance_counts_log_full(&c, 0, 7));
        assert_false(instance_counts_log_full(&c, 0, 7));
        instance_counts_remove(&c, 0, 7);
        assert_int_equal(instance_counts_add(&c, 0, 7), 0);
        assert_false(instance_counts_log_full(&c, 0, 7)); /* also when it fills up again */
        instance_counts_done(&c);
}
