/* Defaults and life of policies. */

#include "../../support/test.h"

#include "tidbnumad/model/policy.h"

TEST(defaults) {
        PolicySet set;

        memset(&set, 0xa5, sizeof(set));
        policy_set_init(&set);
        assert_int_equal(set.n_policies, 0);
        assert_int_equal(set.mode, ENFORCEMENT_ENFORCE);
        assert_int_equal(set.sampling_interval_usec, 10000000);
        policy_set_done(&set);
}

/* With a sanitizer this also finds what is not freed. */
TEST(done) {
        PolicySet set;

        policy_set_init(&set);
        set.policies = calloc(1, sizeof(Policy));
        assert_non_null(set.policies);
        set.n_policies = 1;
        set.policies[0] = (Policy){
                .name = strdup("a"),
                .file = strdup("a.yaml"),
                .match = { .exe = strdup("a"), .unit = strdup("b"), .user = strdup("c") },
                .instances = calloc(1, sizeof(PolicyInstance)),
                .n_instances = 1,
        };
        set.policies[0].instances[0].match.unit = strdup("d");
        set.policies[0].match.args = strdup("e");
        set.irqs = calloc(1, sizeof(IrqPolicy));
        assert_non_null(set.irqs);
        set.n_irqs = 1;
        set.irqs[0].file = strdup("a.yaml");
        assert_int_equal(word_list_add(&set.irqs[0].net, "eth0"), 0);
        assert_int_equal(word_list_add(&set.irqs[0].nvme, "nvme0"), 0);
        assert_int_equal(word_list_add(&set.irqs[0].pci, "0000:3b:00.0"), 0);
        assert_int_equal(word_list_add(&set.host.reserve.devices, "eth0"), 0);
        assert_int_equal(word_list_add(&set.host.reserve.devices, "eth1"), 0);
        assert_int_equal(set.host.reserve.devices.n_words, 2);
        assert_string_equal(set.host.reserve.devices.words[1], "eth1");
        policy_set_done(&set);
        assert_null(set.policies);
        assert_int_equal(set.n_policies, 0);
        policy_set_done(&set); /* once more does nothing */
}

TEST(count_written) {
        Policy policies[] = { { .built_in = true }, { .name = NULL }, { .built_in = true } };
        const PolicySet set = { .policies = policies, .n_policies = 3 };
        const PolicySet none = { 0 };

        assert_int_equal(policy_set_count_written(&set), 1);
        assert_int_equal(policy_set_count_written(&none), 0);
}

TEST(mode_names) {
        assert_string_equal(memory_mode_to_string(MEMORY_BIND), "bind");
        assert_string_equal(memory_mode_to_string(MEMORY_PREFERRED), "preferred");
        assert_string_equal(memory_mode_to_string(MEMORY_NONE), "none");
}
