/* Which policy a process belongs to: by what it runs, as whom and in which unit. */
#include "../../support/id-sets.h"
#include "../../support/test.h"

#include "tidbnumad/model/match.h"

#define S(text) ((char *)(text))

static bool exe_matches(const char *pattern, const char *exe) {
        Policy policy = { .match = { .exe = S(pattern) } };
        PolicySet set = { .policies = &policy, .n_policies = 1 };
        Process process = { .exe = S(exe), .unit = S("x.service") };
        bool matches = match_process(&set, &process) != NULL;

        /* What a scan asks first must never leave out what would match. */
        assert_int_equal(match_wants_exe(&set, exe), matches);
        return matches;
}

static bool unit_matches(const char *pattern, const char *unit) {
        Policy policy = { .match = { .unit = S(pattern) } };
        PolicySet set = { .policies = &policy, .n_policies = 1 };
        Process process = { .exe = S("/x"), .unit = S(unit) };

        return match_process(&set, &process) != NULL;
}

TEST(exe_by_base_name) {
        assert_true(exe_matches("tidb-server", "/srv/tidb/bin/tidb-server"));
        assert_true(exe_matches("tidb-server", "tidb-server"));
        assert_false(exe_matches("tidb-server", "/srv/tidb-server/bin/tidb-server.sh"));
        assert_false(exe_matches("tidb-server", "/srv/bin/my-tidb-server"));
        assert_false(exe_matches("tidb-server", "/srv/tidb-server/bin/sh"));
        assert_false(exe_matches("tidb-server", "/srv/bin/tidb-server/"));
        /* A base name is a name, not a glob. */
        assert_false(exe_matches("tidb*", "/srv/bin/tidb-server"));
        assert_true(exe_matches("a[1]", "/srv/bin/a[1]"));
}

TEST(exe_by_absolute_path) {
        assert_true(exe_matches("/srv/*/bin/tikv-server", "/srv/tikv-1/bin/tikv-server"));
        assert_false(exe_matches("/srv/*/bin/tikv-server", "/srv/a/b/bin/tikv-server"));
        assert_false(exe_matches("/srv/*", "/srv/bin/tikv-server"));
        assert_false(exe_matches("/bin/tikv-server", "/srv/bin/tikv-server"));
        assert_false(exe_matches("/bin/tikv-server", "/bin/tikv-server (deleted)"));
        assert_true(exe_matches("/bin/tikv-?erver", "/bin/tikv-server"));
}

TEST(wants_any_policy) {
        Policy policies[2] = { { .match = { .exe = S("a") } }, { .match = { .exe = S("b") } } };
        PolicySet set = { .policies = policies, .n_policies = 2 };

        assert_true(match_wants_exe(&set, "/bin/b"));
        assert_false(match_wants_exe(&set, "/bin/c"));
        policies[0].match = (PolicyMatch){ .unit = S("u.service") };
        assert_true(match_wants_exe(&set, "/bin/c")); /* by unit alone: any program */
        set.n_policies = 0;
        assert_false(match_wants_exe(&set, "/bin/b"));
}

TEST(wants_the_path) {
        Policy policies[2] = { { .match = { .exe = S("b") } },
                               { .match = { .exe = S("/opt/*/b") } } };
        PolicySet set = { .policies = policies, .n_policies = 2 };

        assert_true(match_wants_mounts(&set, &(Process){ .exe = (char *)"/opt/1/b" }));
        assert_false(match_wants_mounts(
                &set, &(Process){ .exe = (char *)"/srv/1/b" })); /* by its base name alone */
        policies[1].match = (PolicyMatch){ .unit = S("u.service") };
        assert_false(match_wants_mounts(&set, &(Process){ .exe = (char *)"/opt/1/b" }));
}

TEST(wants_the_arguments) {
        Policy policies[2] = { { .match = { .exe = S("a") } },
                               { .match = { .exe = S("java"), .args = S("*Tomcat*") } } };
        PolicySet set = { .policies = policies, .n_policies = 2 };

        assert_true(match_wants_args(&set, "/usr/bin/java"));
        assert_false(match_wants_args(&set, "/bin/a"));
        policies[1].match = (PolicyMatch){ .unit = S("app.service"), .args = S("*Tomcat*") };
        assert_true(match_wants_args(&set, "/bin/a")); /* whatever its program */
}

TEST(who_belongs_by_exe_alone) {
        Policy policies[] = {
                { .match = { .exe = S("a") } },
                { .match = { .exe = S("b"), .unit = S("b.service") } },
                { .match = { .exe = S("b") } },
                { .match = { .exe = S("c"), .user = S("tidb") } },
                { .match = { .exe = S("d"), .args = S("*x*") } },
                { .match = { .exe = S("e"), .only_services = true } },
                { .match = { .unit = S("any.service") } },
                { .match = { .exe = S("f") } },
        };
        PolicySet set = { .policies = policies, .n_policies = ELEMENTSOF(policies) };

        assert_ptr_equal(match_by_exe_alone(&set, "/bin/a"), &policies[0]);
        assert_null(match_by_exe_alone(&set, "/bin/b")); /* its unit decides between two */
        assert_ptr_equal(match_by_exe_alone(&set, "/bin/c"), &policies[3]);
        assert_null(match_by_exe_alone(&set, "/bin/d"));
        assert_null(match_by_exe_alone(&set, "/bin/e"));
        assert_null(match_by_exe_alone(&set, "/bin/f")); /* it may be in that unit */
        assert_null(match_by_exe_alone(&set, "/bin/other"));
        set.n_policies = 1;
        assert_null(match_by_exe_alone(&set, "/bin/other"));
}

TEST(unit) {
        assert_true(unit_matches("tikv-*.service", "tikv-20160.service"));
        assert_false(unit_matches("tikv-*.service", "tikv-20160.scope"));
        assert_false(unit_matches("tikv-*.service", "my-tikv-20160.service"));
        assert_true(unit_matches("tikv@[0-3].service", "tikv@2.service"));
        assert_false(unit_matches("tikv@[0-3].service", "tikv@4.service"));
        assert_true(unit_matches("a\\\\x2db.service", "a\\x2db.service"));
        /* Without a unit none matches, not even the widest glob. */
        assert_false(unit_matches("*", NULL));
        assert_true(unit_matches(NULL, NULL));
}

/* Of an adopted policy: these processes and no later one, of the same number either. */
TEST(certain_processes) {
        ProcessId ids[] = { { 7, 70 }, { 8, 80 } };
        Policy policy = { .match = { .ids = ids, .n_ids = 2 } };
        PolicySet set = { .policies = &policy, .n_policies = 1 };
        Process process = { .exe = S("/x"), .id = { 8, 80 } };

        assert_ptr_equal(match_process(&set, &process), &policy);
        process.id.start_ticks = 81;
        assert_null(match_process(&set, &process));
        process.id = (ProcessId){ 9, 80 };
        assert_null(match_process(&set, &process));
        policy.match.n_ids = 0; /* of none, not of any */
        assert_null(match_process(&set, &process));
}

TEST(user) {
        Policy policy = { .match = { .exe = S("a"), .user = S("tidb"), .uid = 997 } };
        PolicySet set = { .policies = &policy, .n_policies = 1 };
        Process process = { .exe = S("/bin/a"), .uid = 997 };

        assert_null(match_process(&set, &process)); /* no such user here: matches no process */
        policy.match.uid_known = true;
        assert_ptr_equal(match_process(&set, &process), &policy);
        process.uid = 0;
        assert_null(match_process(&set, &process));
        policy.match.uid = 0;
        policy.match.uid_known = false; /* the zero of a user that does not exist is not root */
        assert_null(match_process(&set, &process));
}

TEST(every_key_must_hold) {
        Policy policy = { .match = { .exe = S("a"),
                                     .unit = S("u.service"),
                                     .user = S("0"),
                                     .uid_known = true } };
        PolicySet set = { .policies = &policy, .n_policies = 1 };
        Process good = { .exe = S("/bin/a"), .unit = S("u.service") }, bad = good;

        assert_non_null(match_process(&set, &good));
        bad.exe = S("/bin/b");
        assert_null(match_process(&set, &bad));
        bad = good;
        bad.unit = S("v.service");
        assert_null(match_process(&set, &bad));
        bad = good;
        bad.uid = 1;
        assert_null(match_process(&set, &bad));
}

TEST(first_policy_counts) {
        Policy policies[3] = { { .match = { .exe = S("b") } },
                               { .match = { .exe = S("a") } },
                               { .match = { .unit = S("*") } } };
        PolicySet set = { .policies = policies, .n_policies = 3 };
        Process process = { .exe = S("/bin/a"), .unit = S("a.service") };

        assert_ptr_equal(match_process(&set, &process), &policies[1]);
        process.exe = S("/bin/c");
        assert_ptr_equal(match_process(&set, &process), &policies[2]);
        process.unit = NULL;
        assert_null(match_process(&set, &process));
}

TEST(foreign) {
        Policy policy = { .match = { .exe = S("a") } };
        PolicySet set = { .policies = &policy, .n_policies = 1 };
        Process process = { .exe = S("/bin/a") };

        for (Foreign f = FOREIGN_PID; f <= FOREIGN_ROOT; f++) {
                process.foreign = f;
                policy.match.containers = CONTAINERS_EXCLUDED;
                assert_null(match_process(&set, &process));
                policy.match.containers = CONTAINERS_INCLUDED;
                assert_ptr_equal(match_process(&set, &process), &policy);
        }
}

/* What status says of those that are left alone. */
TEST(verdicts) {
        Policy policies[3] = {
                { .match = { .exe = S("a"), .user = S("tidb"), .uid = 997, .uid_known = true } },
                { .match = { .exe = S("a"), .unit = S("u.service"), .user = S("x") } },
                { .match = { .exe = S("a"), .unit = S("v.service") } },
        };
        PolicySet set = { .policies = policies, .n_policies = 3 };
        Process process = { .exe = S("/bin/b"), .uid = 997, .foreign = FOREIGN_PID };
        const Policy *policy = NULL;

        assert_int_equal(match_judge(&set, &process, &policy), MATCH_NONE);
        assert_null(policy);
        process.exe = S("/bin/a");
        assert_int_equal(match_judge(&set, &process, &policy), MATCH_FOREIGN);
        assert_ptr_equal(policy, &policies[0]);
        process.uid = 1; /* who it is goes before where it lives; the first policy that names it */
        process.unit = S("u.service");
        assert_int_equal(match_judge(&set, &process, &policy), MATCH_OTHER_USER);
        assert_ptr_equal(policy, &policies[0]);
        process.unit = S("v.service"); /* a later policy takes it as it is */
        process.foreign = FOREIGN_NONE;
        assert_int_equal(match_judge(&set, &process, &policy), MATCH_POLICY);
        assert_ptr_equal(policy, &policies[2]);
}

static const PolicyInstance *instance_of(const Policy *policy, const char *unit) {
        return match_instance(policy, unit, NULL, 0);
}

TEST(instances) {
        PolicyInstance instances[3] = { { .match = { .unit = S("tikv-1.service") } },
                                        { .match = { .unit = S("tikv-*.service") } },
                                        { .match = { .unit = S("tikv-2.service") } } };
        Policy policy = { .instances = instances, .n_instances = 3 };

        assert_ptr_equal(instance_of(&policy, "tikv-1.service"), &instances[0]);
        assert_ptr_equal(instance_of(&policy, "tikv-2.service"), &instances[1]);
        assert_null(instance_of(&policy, "tidb.service"));
        assert_null(instance_of(&policy, NULL));
        assert_false(match_needs_port(&policy, "tikv-1.service"));
        assert_false(match_needs_port(&policy, NULL));
}

TEST(instances_by_port) {
        PolicyInstance instances[3] = {
                { .match = { .port = 4000 } },
                { .match = { .port = 4001, .unit = S("b.service") } },
                { .match = { .unit = S("c.service") } },
        };
        Policy policy = { .instances = instances, .n_instances = 3 };
        const uint16_t first[] = { 4000, 10080 }, second[] = { 80, 4001 };

        assert_ptr_equal(match_instance(&policy, NULL, first, 2), &instances[0]);
        assert_ptr_equal(match_instance(&policy, "b.service", second, 2), &instances[1]);
        assert_null(match_instance(&policy, "x.service", second, 2)); /* every key must hold */
        assert_null(match_instance(&policy, NULL, NULL, 0));
        assert_true(match_needs_port(&policy, NULL));
        assert_true(match_needs_port(&policy, "c.service")); /* the first that could be its */
        policy.instances = instances + 2;
        policy.n_instances = 1;
        assert_false(match_needs_port(&policy, "c.service"));
}

/* The first key that does not hold, in the order of exe, unit, user and containers. */
TEST(failing_key) {
        const PolicyMatch match = {
                .exe = S("a"), .unit = S("u-*"), .user = S("1"), .uid_known = true, .uid = 1
        };
        Process process = { .exe = S("/b"), .unit = S("v"), .uid = 2, .foreign = FOREIGN_PID };

        assert_int_equal(match_failing_key(&match, &process), MATCH_KEY_EXE);
        process.exe = S("/a");
        assert_int_equal(match_failing_key(&match, &process), MATCH_KEY_UNIT);
        process.unit = S("u-1");
        assert_int_equal(match_failing_key(&match, &process), MATCH_KEY_USER);
        process.uid = 1;
        assert_int_equal(match_failing_key(&match, &process), MATCH_KEY_CONTAINERS);
        process.foreign = FOREIGN_NONE;
        assert_int_equal(match_failing_key(&match, &process), MATCH_KEY_NONE);
}

/* Without a policy, a program of that name that some user starts is no part of the database. */
TEST(only_services) {
        Policy policy = { .match = { .exe = S("tidb-server"), .only_services = true } };
        PolicySet set = { .policies = &policy, .n_policies = 1 };
        static const struct {
                const char *unit;
                bool matches;
        } units[] = {
                { "tidb-4000.service", true }, { NULL, false },
                { "session-3.scope", false },  { "user@1000.service", false },
                { "tidb@4000.service", true }, { "run-1.scope", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                Process process = { .exe = S("/opt/tidb-server"), .unit = S(units[i].unit) };

                assert_int_equal(match_process(&set, &process) != NULL, units[i].matches);
        }
}

/* --- Units that a policy knows by name: which they are, whose, and what is written to them --- */

#define UNIT_S(text) ((char *)(text))

static bool named(const char *glob, const char *unit) {
        Policy policy = { .match = { .unit = UNIT_S(glob) } };
        const PolicySet set = { .policies = &policy, .n_policies = 1 };

        return known_unit_is_named(&set, unit);
}

static const Policy *policy_of(Policy *policies, size_t n, const char *unit, uid_t uid,
                               const char **ret_reason) {
        const PolicySet set = { .policies = policies, .n_policies = n };
        const char *reason;

        return known_unit_policy(&set, unit, true, uid, false, ret_reason ? ret_reason : &reason);
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

TEST(units_of_the_daemon_itself) {
        assert_true(known_unit_is_own("tidbnumad.service", "tidbnumad.service"));
        assert_true(known_unit_is_own("tidbnumad.service", "tidbnumad-exporter.service"));
        assert_false(known_unit_is_own("tidbnumad.service", "tidb-4000.service"));
        assert_false(known_unit_is_own("tidbnumad.service", "tidbnumads.service"));
        assert_false(known_unit_is_own("session-1.scope", "session-1-x.service"));
        assert_false(known_unit_is_own(NULL, "tidbnumad.service"));
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
        PolicyInstance instance = { .match = { .unit = UNIT_S("tidb-4000.service") } };
        Policy policy = { .match = { .exe = UNIT_S("tidb-server") },
                          .instances = &instance,
                          .n_instances = 1 };
        const PolicySet set = { .policies = &policy, .n_policies = 1 };

        assert_true(known_unit_is_named(&set, "tidb-4000.service"));
        assert_false(known_unit_is_named(&set, "tidb-4001.service"));
        policy.match.unit = UNIT_S("*.service"); /* too wide by itself */
        assert_true(known_unit_is_named(&set, "tidb-4000.service"));
        assert_false(known_unit_is_named(&set, "tidb-4001.service"));
        policy.match.unit = UNIT_S("other-*.service"); /* no process of it could match */
        assert_false(known_unit_is_named(&set, "tidb-4000.service"));
}

TEST(patterns) {
        PolicyInstance instances[2] = { { .match = { .unit = UNIT_S("tidb-4000.service") } },
                                        { .match = { .unit = UNIT_S("tidb\\x-\\*[ab]*") } } };
        Policy policies[3] = { { .match = { .unit = UNIT_S("tidb-*.service") },
                                 .instances = instances,
                                 .n_instances = 2 },
                               { .match = { .unit = UNIT_S("*.service") } },
                               { .match = { .unit = UNIT_S("a\\\\x2db.service") } } };
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

TEST(unit_user) {
        Policy policy = { .match = { .unit = UNIT_S("tidb-*.service"),
                                     .user = UNIT_S("tidb"),
                                     .uid = 997,
                                     .uid_known = true } };
        const PolicySet set = { .policies = &policy, .n_policies = 1 };
        const char *reason;

        assert_ptr_equal(policy_of(&policy, 1, "tidb-1.service", 997, &reason), &policy);
        assert_string_equal(reason, "");
        assert_null(policy_of(&policy, 1, "tidb-1.service", 0, &reason));
        assert_non_null(strstr(reason, "User="));
        assert_null(known_unit_policy(&set, "tidb-1.service", false, 997, false, &reason));
        assert_null(policy_of(&policy, 1, "tikv-1.service", 997, &reason));
        assert_string_equal(reason, "");
        policy.match.uid_known =
                false; /* does not exist here: matches no unit_user, not even root */
        policy.match.uid = 0;
        assert_null(policy_of(&policy, 1, "tidb-1.service", 0, &reason));
        policy.match.user = NULL;
        assert_ptr_equal(known_unit_policy(&set, "tidb-1.service", false, 0, false, &reason),
                         &policy);
}

TEST(unit_that_is_a_container) {
        Policy policy = { .match = { .unit = UNIT_S("tidb-*.service") } };
        const PolicySet set = { .policies = &policy, .n_policies = 1 };
        const char *reason;

        assert_ptr_equal(known_unit_policy(&set, "tidb-1.service", true, 0, false, &reason),
                         &policy);
        assert_null(known_unit_policy(&set, "tidb-1.service", true, 0, true, &reason));
        assert_non_null(strstr(reason, "containers: true"));
        policy.match.containers = CONTAINERS_INCLUDED;
        assert_ptr_equal(known_unit_policy(&set, "tidb-1.service", true, 0, true, &reason),
                         &policy);
}

TEST(two_that_name_it) {
        Policy p[2] = { { .match = { .exe = UNIT_S("a"), .unit = UNIT_S("tidb-*") },
                          .place.nodes = node_set("1") },
                        { .match = { .exe = UNIT_S("b"), .unit = UNIT_S("tidb-*") },
                          .place.nodes = node_set("2") } };
        const char *reason;

        assert_null(policy_of(p, 2, "tidb-1.service", 0, &reason));
        assert_non_null(strstr(reason, "two policies"));
        p[1].place.nodes = node_set("1"); /* the same for both programs */
        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[0]);
        p[1].memory = MEMORY_PREFERRED;
        assert_null(policy_of(p, 2, "tidb-1.service", 0, NULL));
        p[0].match.exe = NULL; /* nothing is left for the second */
        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[0]);
        p[0].match.exe = UNIT_S("b");
        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[0]);
}

TEST(two_that_give_it_the_same_nodes) {
        PolicyInstance instance = { .match = { .unit = UNIT_S("tidb-1.*") },
                                    .nodes = node_set("1") };
        Policy p[2] = {
                { .match = { .exe = UNIT_S("a"), .unit = UNIT_S("tidb-*") },
                  .place.nodes = node_set("1") },
                { .match = { .exe = UNIT_S("b"), .unit = UNIT_S("tidb-*") },
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
        Policy p[2] = { { .match = { .exe = UNIT_S("haproxy") }, .place.nodes = node_set("1") },
                        { .match = { .exe = UNIT_S("tidb-server"), .unit = UNIT_S("tidb-*") },
                          .place.nodes = node_set("2") } };
        const char *reason;

        /* Other programs: the name decides which it will be. */
        assert_ptr_equal(policy_of(p, 2, "tidb-1.service", 0, NULL), &p[1]);
        p[0].match.exe = UNIT_S("/opt/*/tidb-server");
        assert_null(policy_of(p, 2, "tidb-1.service", 0, &reason));
        assert_non_null(strstr(reason, "earlier policy"));
        p[1].match.exe = UNIT_S("/srv/bin/tidb-server"); /* two globs may have a path in common */
        assert_null(policy_of(p, 2, "tidb-1.service", 0, &reason));
        p[1].match.exe = UNIT_S("tidb-server");
        p[0].match = (PolicyMatch){ .unit = UNIT_S("*.service") };
        assert_null(policy_of(p, 2, "tidb-1.service", 0, NULL));
        /* … of another unit_user. */
        p[0].match.user = UNIT_S("x");
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

/* --- Instances by policy and user --- */

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
