/* Which units can be bound, and what is said of hosts where none can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/enforce/backend.h"

static void assert_refuses(const char *unit, const char *in_reason) {
        const BackendOps ops = { .name = "test" };
        const Backend backend = { .ops = &ops };
        const char *reason = backend_refuses(&backend, unit);

        if (!reason)
                fail_msg("%s is not refused", unit ? unit : "no unit");
        if (!strstr(reason, in_reason))
                fail_msg("'%s' does not say '%s'", reason, in_reason);
}

static void test_refuses(void **state) {
        (void)state;
        assert_refuses(NULL, "a systemd service of its own");
        assert_refuses("", "a systemd service of its own");
        assert_refuses(".service", "a systemd service of its own");
        assert_refuses("session-1.scope", "a systemd service of its own");
        assert_refuses("a.service.slice", "a systemd service of its own");
        assert_refuses("user@1000.service", "a user's own manager");
}

static void test_takes(void **state) {
        static const char *const units[] = { "a.service", "tikv@20160.service", "user.service",
                                             "users@1.service", "a.b.service" };
        const BackendOps ops = { .name = "test" };
        const Backend backend = { .ops = &ops };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                assert_null(backend_refuses(&backend, units[i]));
}

static void test_host_without_backend(void **state) {
        const Backend backend = { .why_not = "because" };

        (void)state;
        assert_string_equal(backend_refuses(&backend, "a.service"), "because");
        assert_string_equal(backend_refuses(&backend, NULL), "because");
}

/* Whatever the dump looks like: this machine must not be changed for it. */
static void test_dump_is_never_changed(void **state) {
        _cleanup_fake_ FakeTree tree;
        Backend backend;

        (void)state;
        fake_init(&tree);
        fake_write(&tree, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
        backend_init(&backend, &tree.sysroot, NULL);
        assert_null(backend.ops);
        assert_non_null(backend.why_not);
        assert_non_null(strstr(backend_refuses(&backend, "a.service"), "another machine"));
        backend_done(&backend);
}

static void test_this_machine(void **state) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        Backend backend;

        (void)state;
        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        backend_init(&backend, &sysroot, NULL);
        assert_true((backend.ops != NULL) != (backend.why_not != NULL));
        if (access("/run/systemd/system/", F_OK) < 0)
                assert_non_null(strstr(backend.why_not, "systemd"));
        backend_done(&backend);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refuses),
                cmocka_unit_test(test_takes),
                cmocka_unit_test(test_host_without_backend),
                cmocka_unit_test(test_dump_is_never_changed),
                cmocka_unit_test(test_this_machine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
