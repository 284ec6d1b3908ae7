/* A host without any policy: four programs are watched, and nothing else is said of them. */
#include "load-support.h"

static void assert_built_in(const Load *load) {
        static const char *const expected[][2] = { { "tidb", "tidb-server" },
                                                   { "tikv", "tikv-server" },
                                                   { "pd", "pd-server" },
                                                   { "haproxy", "haproxy" } };

        assert_int_equal(load->result, 0);
        assert_int_equal(load->warnings.n_messages, 0);
        assert_int_equal(policy_set_count_written(&load->set), 0);
        assert_int_equal(load->set.n_policies, ELEMENTSOF(expected));
        for (size_t i = 0; i < ELEMENTSOF(expected); i++) {
                const Policy *policy = &load->set.policies[i];

                assert_string_equal(policy->name, expected[i][0]);
                assert_string_equal(policy->match.exe, expected[i][1]);
                assert_null(policy->match.unit); /* or every service would be prepared */
                assert_true(policy->match.only_services);
                assert_null(policy->match.user);
                assert_true(policy->built_in);
                assert_int_equal(policy->memory, MEMORY_NONE);
                assert_int_equal(policy->migrate, MIGRATE_NONE);
                assert_string_equal(policy->file, "");
                assert_int_equal(policy->line, 0);
                assert_int_equal(policy->place.count, 1);
                assert_true(id_set_is_empty(&policy->place.nodes));
        }
}

TEST(nothing) {
        _cleanup_load_ Load load = { 0 };

        load_run(&load);
        assert_built_in(&load);
}

/* Settings are no policy. */
TEST(settings_alone) {
        _cleanup_load_ Load load = load_text(V "enforcement: {mode: observe}\n");

        assert_built_in(&load);
        assert_int_equal(load.set.mode, ENFORCEMENT_OBSERVE);
}

TEST(one_policy) {
        _cleanup_load_ Load load = load_text(V "policies: [{name: a, match: {unit: a.scope}}]\n");

        assert_int_equal(load.set.n_policies, 1);
        assert_int_equal(policy_set_count_written(&load.set), 1);
        assert_false(load.set.policies[0].built_in);
}
