/* Instances, their units, and what servers say of themselves; histograms. */
#include <math.h>

#include "../../support/test.h"

#include "tidbnumad/model/instance.h"
#include "tidbnumad/model/server-report.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/workload.h"

/* --- which unit a cgroup path names, and that no process can pass for one of another unit --- */

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

static void check(const InstanceFacts *facts, unsigned rank, const char *expected) {
        _cleanup_free_ char *name = NULL;

        assert_int_equal(facts_choose_name(facts, is_taken, &rank, &name), 0);
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
        uint16_t ports[] = { 4000, 10080 };
        Member first = { .process.id = { .pid = 77, .start_ticks = 12345678901 } };
        InstanceFacts i = { .unit = (char *)"tidb-4000.service",
                            .exe = (char *)"/opt/bin/tidb-server",
                            .ports = ports,
                            .n_ports = 2,
                            .members = &first,
                            .n_members = 1 };

        check(&i, 0, "tidb-4000");
        check(&i, 1, "tidb-4000.service");
        check(&i, 2, "tidb-4000.service:77");
        i.unit = (char *)"user@1000.service";
        check(&i, 0, "tidb-server:4000");
        i.unit = NULL;
        check(&i, 0, "tidb-server:4000");
        check(&i, 1, "tidb-server:4000:77");
        check(&i, 2, "tidb-server:4000:77:12345678901");
        i.n_ports = 0;
        i.exe = (char *)"haproxy";
        check(&i, 0, "haproxy:77");
        check(&i, 1, "haproxy:77:77");
}

/* --- versions, settings and labels in the words of servers --- */

TEST(versions) {
        static const struct {
                const char *text;
                uint32_t version;
        } rows[] = {
                { "8.5.5", SERVER_VERSION(8, 5, 5) },
                { "v9.0.0-beta.2", SERVER_VERSION(9, 0, 0) },
                { "8.0.11-TiDB-v7.5.0", SERVER_VERSION(7, 5, 0) },
                { "5.7.25-TiDB-v6.1.7-20240101-abc", SERVER_VERSION(6, 1, 7) },
                { "8.0.11-TiDB-", 0 },
                { "8.0.11-TiDB-None", 0 },
                { "", 0 },
                { "8.5", 0 },
                { "8.5.", 0 },
                { "-8.5.5", 0 },
                { "12345.1.1", 0 },
                { "7.10.123", SERVER_VERSION(7, 10, 123) },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                print_message("%s\n", rows[i].text);
                assert_int_equal(server_version_parse(rows[i].text), rows[i].version);
        }
        assert_true(SERVER_VERSION(8, 5, 10) > SERVER_VERSION(8, 5, 9));
        assert_true(SERVER_VERSION(10, 0, 0) > SERVER_VERSION(9, 5, 9));
}

TEST(values) {
        static const struct {
                const char *text;
                int error;
                uint64_t value;
        } rows[] = {
                { "0", 0, 0 },
                { "8", 0, 8 },
                { "8GiB", 0, UINT64_C(8) << 30 },
                { "8GB", 0, UINT64_C(8) << 30 },
                { "7372MiB", 0, UINT64_C(7372) << 20 },
                { "1536K", 0, 1536 << 10 },
                { "100B", 0, 100 },
                { "1PiB", 0, UINT64_C(1) << 50 },
                { "99999PiB", -ERANGE, 0 },
                { "99999999999999999999", -ERANGE, 0 },
                { "123456789012345678901234567890", -EINVAL, 0 },
                { "", -EINVAL, 0 },
                { "-1", -EINVAL, 0 },
                { "1.5GiB", -EINVAL, 0 },
                { "8GiBs", -EINVAL, 0 },
                { "8iB", -EINVAL, 0 },
                { "GiB", -EINVAL, 0 },
                { "80%", -EINVAL, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t value = 0;

                print_message("%s\n", rows[i].text);
                assert_int_equal(server_setting_parse(rows[i].text, &value), rows[i].error);
                if (rows[i].error == 0)
                        assert_true(value == rows[i].value);
        }
}

TEST(labels) {
        _cleanup_server_report_ ServerReport tikv = { 0 };

        assert_false(server_report_tells_host(&tikv, NULL));
        assert_int_equal(server_report_add(&tikv, "server.labels.rack", "r1"), 0);
        assert_false(server_report_tells_host(&tikv, NULL));
        assert_false(server_report_tells_host(&tikv, "rack,machine"));
        assert_true(server_report_tells_host(&tikv, "zone,rack"));
        assert_true(server_report_tells_host(&tikv, "rack"));
        assert_int_equal(server_report_add(&tikv, "server.labels.host", "db1"), 0);
        assert_true(server_report_tells_host(&tikv, "zone,machine"));
        assert_true(server_report_tells_host(&tikv, ""));
}

TEST(no_end_of_settings) {
        _cleanup_server_report_ ServerReport report = { 0 };

        for (size_t i = 0; i < SERVER_SETTINGS_MAX; i++)
                assert_int_equal(server_report_add(&report, "a", "1"), 0);
        assert_int_equal(server_report_add(&report, "a", "1"), -E2BIG);
}

/* --- histograms --- */

TEST(bounds_ascend) {
        for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++)
                assert_true(histogram_bound(i) > histogram_bound(i - 1));
        assert_true(histogram_bound(0) > 0);
}

TEST(each_in_one_bucket) {
        Histogram h = { 0 };

        histogram_add(&h, 0);
        histogram_add(&h, histogram_bound(3)); /* it is in */
        histogram_add(&h, histogram_bound(3) * 1.0001);
        histogram_add(&h, histogram_bound(HISTOGRAM_BUCKETS - 1) + 1);
        for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
                assert_int_equal(h.counts[i], i == 0 || i == 3 || i == 4);
        assert_int_equal(h.n, 4);
        assert_true(fabs(h.sum - (histogram_bound(3) * 2.0001 +
                                  histogram_bound(HISTOGRAM_BUCKETS - 1) + 1)) < 1e-9);
}
