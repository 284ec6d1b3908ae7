/* Which unit a cgroup path names, and that no process can pass for one of another unit. */
#include "../../support/test.h"

#include "tidbnumad/model/workload.h"

static void assert_unit(const char *path, const char *expected) {
        char *unit = NULL;

        assert_int_equal(unit_from_cgroup(path, &unit), 0);
        assert_string_equal(unit, expected);
        free(unit);
}

TEST(units) {
        char *unit = NULL;

        assert_unit("/system.slice/tidb-4000.service", "tidb-4000.service");
        assert_unit("/system.slice/system-tidb.slice/tidb@1.service", "tidb@1.service");
        assert_unit("/tidb-4000.service", "tidb-4000.service");
        assert_unit("/system.slice/haproxy.service/worker/1", "haproxy.service");
        assert_unit("/system.slice/_cpuset.service", "cpuset.service");
        assert_unit("/user.slice/user-0.slice/session-1.scope", "session-1.scope");
        assert_int_equal(unit_from_cgroup("/", &unit), -ENXIO);
        assert_int_equal(unit_from_cgroup("", &unit), -ENXIO);
        assert_int_equal(unit_from_cgroup("/system.slice", &unit), -ENXIO);
        assert_int_equal(unit_from_cgroup("/init.slice/_.service", &unit), -ENXIO);
        assert_int_equal(unit_from_cgroup("/docker/0123456789ab", &unit), -ENXIO);
        assert_null(unit);
}

/* A user may name a unit of their own manager as they like; the system unit is user@UID.service. */
TEST(units_of_users_are_not_system_units) {
        assert_unit("/user.slice/user-1000.slice/user@1000.service/app.slice/tidb-4000.service",
                    "user@1000.service");
}

TEST(own_scopes) {
        assert_true(unit_is_own_scope("tidbnumad-tidb-server:4000-77.scope"));
        assert_false(unit_is_own_scope("tidbnumad.service"));
        assert_false(unit_is_own_scope("tidbnumad-a.service"));
        assert_false(unit_is_own_scope("session-1.scope"));
        assert_false(unit_is_own_scope(".scope"));
        assert_false(unit_is_own_scope(""));
        assert_false(unit_is_own_scope(NULL));
}

TEST(the_units_part_of_a_path) {
        static const struct {
                const char *path, *unit, *own;
        } cases[] = {
                { "/system.slice/a.service", "a.service", "/system.slice/a.service" },
                { "/system.slice/a.service/b/c", "a.service", "/system.slice/a.service" },
                { "/a.service/a.service", "a.service", "/a.service" },
                { "/system.slice/_cpuset.service/b", "cpuset.service",
                  "/system.slice/_cpuset.service" },
                { "/system.slice/a.service-2/b", "a.service", "" },
                { "/system.slice/xa.service", "a.service", "" },
                { "/", "a.service", "" },
                { "", "a.service", "" },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_int_equal(unit_cgroup_length(cases[i].path, cases[i].unit),
                                 strlen(cases[i].own));
}

/* --- Names of instances, from the best to the longest --- */

/* The better names, `userdata` of them, are others'. */
static bool is_taken(_unused_ const char *name, void *userdata) {
        unsigned *n = userdata;

        return (*n)-- > 0;
}

static void check(const InstanceIdentity *identity, unsigned rank, const char *expected) {
        _cleanup_free_ char *name = NULL;

        assert_int_equal(instance_name_choose(identity, is_taken, &rank, &name), 0);
        assert_string_equal(name, expected);
}

TEST(services) {
        assert_true(unit_is_service("tidb-4000.service"));
        assert_true(unit_is_service("tidb@4000.service"));
        assert_false(unit_is_service(NULL));
        assert_false(unit_is_service(""));
        assert_false(unit_is_service(".service"));
        assert_false(unit_is_service("session-3.scope"));
        assert_false(unit_is_service("a.service.scope"));
        assert_false(unit_is_service("user@1000.service"));
        assert_true(unit_is_service("users@1000.service"));
}

TEST(names) {
        static const uint16_t ports[] = { 4000, 10080 };
        InstanceIdentity i = { .unit = "tidb-4000.service",
                               .exe = "/opt/bin/tidb-server",
                               .ports = ports,
                               .n_ports = 2,
                               .first = { .pid = 77, .start_ticks = 12345678901 } };

        check(&i, 0, "tidb-4000");
        check(&i, 1, "tidb-4000.service");
        check(&i, 2, "tidb-4000.service:77");
        i.unit = "user@1000.service";
        check(&i, 0, "tidb-server:4000");
        i.unit = NULL;
        check(&i, 0, "tidb-server:4000");
        check(&i, 1, "tidb-server:4000:77");
        check(&i, 2, "tidb-server:4000:77:12345678901");
        i.n_ports = 0;
        i.exe = "haproxy";
        check(&i, 0, "haproxy:77");
        check(&i, 1, "haproxy:77:77");
}
