/* Names of instances, from the best to the longest. */

#include "../../support/test.h"

#include "tidbnumad/model/workload.h"

static void check(const InstanceIdentity *identity, unsigned rank, const char *expected) {
        _cleanup_free_ char *name = NULL;

        assert_int_equal(instance_name_render(identity, rank, &name), 0);
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
