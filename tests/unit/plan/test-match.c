/* Which policy a process belongs to: by what it runs, as whom and in which unit. */

#include "../../support/test.h"

#include "tidbnumad/plan/match.h"

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

        assert_true(match_wants_path(&set, "/opt/1/b"));
        assert_false(match_wants_path(&set, "/srv/1/b")); /* by its base name alone */
        policies[1].match = (PolicyMatch){ .unit = S("u.service") };
        assert_false(match_wants_path(&set, "/opt/1/b"));
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
