/* Units that a policy knows by name: which they are, whose, and what is written to them. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/plan/match.h"

#define S(text) ((char *)(text))

static bool named(const char *glob, const char *unit) {
        Policy policy = { .match = { .unit = S(glob) } };
        const PolicySet set = { .policies = &policy, .n_policies = 1 };

        return known_unit_is_named(&set, unit);
}

static const Policy *policy_of(Policy *policies, size_t n, const char *unit, uid_t uid,
                               const char **ret_reason) {
        const PolicySet set = { .policies = policies, .n_policies = n };
        const char *reason;

        return known_unit_policy(&set, unit, true, uid, ret_reason ? ret_reason : &reason);
}

TEST(services_only) {
        assert_true(known_unit_is_service("tidb-4000.service"));
        assert_true(known_unit_is_service("tidb@4000.service"));
        assert_false(known_unit_is_service("tidb@.service"));
        assert_false(known_unit_is_service("user@1000.service"));
        assert_false(known_unit_is_service("session-1.scope"));
        assert_false(known_unit_is_service("tidb.slice"));
        assert_false(known_unit_is_service(".service"));
}

TEST(named) {
        assert_true(named("tidb-*.service", "tidb-4000.service"));
        assert_true(named("tidb-4000.service", "tidb-4000.service"));
        assert_false(named("tidb-*.service", "tikv-20160.service"));
        assert_true(named("pd*", "pd-2379.service"));
        /* Half the host. */
        assert_false(named("*.service", "ssh.service"));
        assert_false(named("*", "ssh.service"));
        assert_false(named("[a-z]*.service", "ssh.service"));
        assert_false(named("s*.service", "ssh.service"));
        /* By its program alone. */
        assert_false(named(NULL, "ssh.service"));
}

TEST(named_by_an_instance) {
        PolicyInstance instance = { .match = { .unit = S("tidb-4000.service") } };
        Policy policy = { .match = { .exe = S("tidb-server") },
                          .instances = &instance,
                          .n_instances = 1 };
        const PolicySet set = { .policies = &policy, .n_policies = 1 };

        assert_true(known_unit_is_named(&set, "tidb-4000.service"));
        assert_false(known_unit_is_named(&set, "tidb-4001.service"));
        policy.match.unit = S("*.service"); /* too wide by itself */
        assert_true(known_unit_is_named(&set, "tidb-4000.service"));
        assert_false(known_unit_is_named(&set, "tidb-4001.service"));
        policy.match.unit = S("other-*.service"); /* no process of it could match */
        assert_false(known_unit_is_named(&set, "tidb-4000.service"));
}

TEST(patterns) {
        PolicyInstance instances[2] = { { .match = { .unit = S("tidb-4000.service") } },
                                        { .match = { .unit = S("tidb\\x-\\*[ab]*") } } };
        Policy policies[3] = { { .match = { .unit = S("tidb-*.service") },
                                 .instances = instances,
                                 .n_instances = 2 },
                               { .match = { .unit = S("*.service") } },
                               { .match = { .unit = S("a\\\\x2db.service") } } };
        const PolicySet set = { .policies = policies, .n_policies = 3 };
        _cleanup_unit_patterns_ UnitPatterns p = { 0 };

        assert_int_equal(known_unit_patterns(&set, &p), 0);
        assert_int_equal(p.names.n_words, 2);
        assert_string_equal(p.names.words[0], "tidb-4000.service");
        assert_string_equal(p.names.words[1], "a\\x2db.service");
        assert_null(p.names.words[2]);
        assert_int_equal(p.globs.n_words, 2);
        assert_string_equal(p.globs.words[0], "tidb-*.service");
        assert_string_equal(p.globs.words[1], "tidb?-?[ab]*");
        assert_null(p.globs.words[2]);
}

TEST(user) {
        Policy policy = { .match = { .unit = S("tidb-*.service"),
                                     .user = S("tidb"),
                                     .uid = 997,
                                     .uid_known = true } };
        const PolicySet set = { .policies = &policy, .n_policies = 1 };
        const char *reason;

        assert_ptr_equal(policy_of(&policy, 1, "tidb-1.service", 997, &reason), &policy);
        assert_string_equal(reason, "");
        assert_null(policy_of(&policy, 1, "tidb-1.service", 0, &reason));
        assert_non_null(strstr(reason, "User="));
        assert_null(known_unit_policy(&set, "tidb-1.service", false, 997, &reason));
        assert_null(policy_of(&policy, 1, "tikv-1.service", 997, &reason));
        assert_string_equal(reason, "");
        policy.match.uid_known = false; /* does not exist here: matches no user, not even root */
        policy.match.uid = 0;
        assert_null(policy_of(&policy, 1, "tidb-1.service", 0, &reason));
        policy.match.user = NULL;
        assert_ptr_equal(known_unit_policy(&set, "tidb-1.service", false, 0, &reason), &policy);
}

TEST(two_that_name_it) {
        Policy p[2] = {
                { .match = { .exe = S("a"), .unit = S("tidb-*") }, .place.nodes = node_set("1") },
                { .match = { .exe = S("b"), .unit = S("tidb-*") }, .place.nodes = node_set("2") }
        };
        const char *reason;

        assert_null(policy_of(p, 2, "tidb-1.service", 0, &reason));
        assert_non_null(strstr(reason, "two policies"));
        p[1].place.nodes = node_set("1"); /* the same for both programs */
        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[0]);
        p[1].memory = MEMORY_PREFERRED;
        assert_null(policy_of(p, 2, "tidb-1.service", 0, NULL));
        p[0].match.exe = NULL; /* nothing is left for the second */
        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[0]);
        p[0].match.exe = S("b");
        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[0]);
}

TEST(two_that_give_it_the_same_nodes) {
        PolicyInstance instance = { .match = { .unit = S("tidb-1.*") }, .nodes = node_set("1") };
        Policy p[2] = {
                { .match = { .exe = S("a"), .unit = S("tidb-*") }, .place.nodes = node_set("1") },
                { .match = { .exe = S("b"), .unit = S("tidb-*") },
                  .place.nodes = node_set("2"),
                  .instances = &instance,
                  .n_instances = 1 },
        };

        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[0]);
        assert_null(policy_of(p, 2, "tidb-2.service", 0, NULL)); /* not in `instances` */
        instance.nodes = node_set("3");
        assert_null(policy_of(p, 2, "tidb-1.service", 0, NULL));
        instance =
                (PolicyInstance){ .nodes = node_set("1") }; /* by a port, which is not known yet */
        assert_ptr_equal(policy_of(p, 2, "tidb-2.service", 0, NULL), &p[0]);
}

TEST(earlier_one_without_the_name) {
        Policy p[2] = { { .match = { .exe = S("haproxy") }, .place.nodes = node_set("1") },
                        { .match = { .exe = S("tidb-server"), .unit = S("tidb-*") },
                          .place.nodes = node_set("2") } };
        const char *reason;

        /* Other programs: the name decides which it will be. */
        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[1]);
        p[0].match.exe = S("/opt/*/tidb-server");
        assert_null(policy_of(p, 2, "tidb-1.service", 0, &reason));
        assert_non_null(strstr(reason, "earlier policy"));
        p[1].match.exe = S("/srv/bin/tidb-server"); /* two globs may have a path in common */
        assert_null(policy_of(p, 2, "tidb-1.service", 0, &reason));
        p[1].match.exe = S("tidb-server");
        p[0].match = (PolicyMatch){ .unit = S("*.service") };
        assert_null(policy_of(p, 2, "tidb-1.service", 0, NULL));
        /* … of another user. */
        p[0].match.user = S("x");
        p[0].match.uid_known = true;
        p[0].match.uid = 5;
        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[1]);
}

TEST(room) {
        Node nodes[2] = { { .id = 0, .memory_bytes = 1600 }, { .id = 3, .memory_bytes = 3200 } };
        const Topology t = { .nodes = nodes, .n_nodes = 2 };
        const NodeSet one = node_set("3"), both = node_set("0,3"), none = node_set("7");

        assert_int_equal(known_unit_room_bytes(&t, &one, false), 400);
        assert_int_equal(known_unit_room_bytes(&t, &both, false), 600);
        assert_int_equal(known_unit_room_bytes(&t, &both, true), 300);
        assert_int_equal(known_unit_room_bytes(&t, &none, false), 0);
}

static bool plan(const KnownProperty *p, const char *want, const char *expected) {
        const IdSet w = id_set(want), e = id_set(expected);
        IdSet value = p->value;
        bool write = known_property_plan(p, &w, &value);

        assert_true(id_set_equal(&value, &e));
        return write;
}

static void confirm(KnownProperty *p, const char *want, const char *value) {
        const IdSet w = id_set(want), v = id_set(value);

        known_property_done(p, &w, &v);
}

TEST(set_and_back) {
        KnownProperty p = { 0 };

        assert_false(plan(&p, "", ""));
        assert_true(plan(&p, "2", "2"));
        confirm(&p, "2", "2");
        assert_false(plan(&p, "2", "2"));
        assert_true(plan(&p, "3", "3"));
        confirm(&p, "3", "3");
        assert_ids(*known_property_own(&p), "");
        assert_true(plan(&p, "", ""));
        confirm(&p, "", "");
        assert_false(p.ours);
}

TEST(gives_back_what_the_admin_had_set) {
        KnownProperty p = { .value = id_set("0-3") };

        assert_false(plan(&p, "", "0-3")); /* not ours to clear */
        assert_ids(*known_property_own(&p), "0-3");
        assert_true(plan(&p, "2", "2"));
        confirm(&p, "2", "2");
        assert_ids(*known_property_own(&p), "0-3");
        assert_true(plan(&p, "", "0-3"));
}

TEST(found_as_it_is_to_be) {
        KnownProperty p = { .value = id_set("2") };

        assert_false(plan(&p, "2", "2"));
        confirm(&p, "2", "2");
        assert_false(p.ours); /* another program has set it */
        assert_false(plan(&p, "", "2"));
}

/* What an earlier life of the daemon has written down. */
TEST(read_with_a_record) {
        const IdSet value = id_set("2"), before = id_set("0-3"), none = { 0 };
        KnownProperty p = { 0 };

        known_property_read(&p, ID_VIEW(&value), true, &before);
        assert_ids(*known_property_own(&p), "0-3");
        assert_true(plan(&p, "", "0-3"));
        known_property_read(&p, ID_VIEW(&value), true, &none);
        assert_true(plan(&p, "", ""));
        known_property_read(&p, ID_VIEW(&value), false, &before);
        assert_ids(*known_property_own(&p), "2");
        assert_false(plan(&p, "", "2"));
}
