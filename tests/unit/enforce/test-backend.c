/* Which units can be bound, and what is said of hosts where none can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/enforce/backend.h"

static void assert_refuses(const char *unit, const char *in_reason) {
        Backend backend = { .ops = &backend_systemd_ops };
        const BackendTarget target = { .unit = unit };
        const Placement placement = { .reason = "" };
        const char *reason = backend_refuses(&backend, &target, &placement);

        if (!reason)
                fail_msg("%s is not refused", unit ? unit : "no unit");
        if (!strstr(reason, in_reason))
                fail_msg("'%s' does not say '%s'", reason, in_reason);
        assert_string_equal(backend_refuses_unit(unit), reason);
}

static void test_systemd_refuses(void **state) {
        (void)state;
        assert_refuses(NULL, "a systemd service of its own");
        assert_refuses("", "a systemd service of its own");
        assert_refuses(".service", "a systemd service of its own");
        assert_refuses("session-1.scope", "a systemd service of its own");
        assert_refuses("a.service.slice", "a systemd service of its own");
        assert_refuses("user@1000.service", "a user's own manager");
}

static void test_systemd_takes(void **state) {
        static const char *const units[] = { "a.service", "tikv@20160.service", "user.service",
                                             "users@1.service", "a.b.service" };
        Backend backend = { .ops = &backend_systemd_ops };
        const Placement placement = { .reason = "" };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                const BackendTarget target = { .unit = units[i] };

                assert_null(backend_refuses(&backend, &target, &placement));
        }
}

/* Whatever unit it is in, or none. */
static void test_affinity_takes_all(void **state) {
        Backend backend = { .ops = &backend_affinity_ops };
        const BackendTarget target = { 0 };
        const Placement placement = { .reason = "" };

        (void)state;
        assert_null(backend_refuses(&backend, &target, &placement));
        assert_null(backend_affinity_ops.set_mems);
}

static void test_host_without_backend(void **state) {
        Backend backend = { .why_not = "because" };
        const BackendTarget target = { .unit = "a.service" };
        const Placement placement = { .reason = "" };

        (void)state;
        assert_string_equal(backend_refuses(&backend, &target, &placement), "because");
        assert_int_equal(backend_kind(&backend), BACKEND_AUTO);
        assert_string_equal(backend_name(&backend), "none");
}

/* Whatever the dump looks like: this machine must not be changed for it. */
static void test_dump_is_never_changed(void **state) {
        _cleanup_fake_ FakeTree tree;
        Backend backend;

        (void)state;
        fake_init(&tree);
        fake_write(&tree, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
        backend_init(&backend, &tree.sysroot, NULL);
        for (BackendKind kind = BACKEND_AUTO; kind <= BACKEND_AFFINITY; kind++) {
                assert_false(backend_choose(&backend, kind));
                assert_null(backend.ops);
                assert_non_null(strstr(backend.why_not, "another machine"));
        }
        backend_done(&backend);
}

static void test_this_machine(void **state) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        BackendKind best;
        Backend backend;

        (void)state;
        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        backend_init(&backend, &sysroot, NULL);
        assert_null(backend.ops);
        assert_true(backend_choose(&backend, BACKEND_AUTO)); /* something it always is */
        best = backend_kind(&backend);
        assert_false(backend_choose(&backend, BACKEND_AUTO));
        if (access("/run/systemd/system/", F_OK) < 0)
                assert_int_not_equal(best, BACKEND_SYSTEMD);
        for (BackendKind kind = BACKEND_SYSTEMD; kind <= BACKEND_AFFINITY; kind++) {
                (void)backend_choose(&backend, kind);
                assert_true((backend.ops != NULL) != (backend.why_not != NULL));
                if (backend.ops)
                        assert_int_equal(backend_kind(&backend), kind);
                else /* by name */
                        assert_non_null(strstr(backend.why_not, "enforcement.backend is "));
                assert_true(backend.ops ? best <= kind : best != kind);
        }
        backend_done(&backend);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_systemd_refuses),
                cmocka_unit_test(test_systemd_takes),
                cmocka_unit_test(test_affinity_takes_all),
                cmocka_unit_test(test_host_without_backend),
                cmocka_unit_test(test_dump_is_never_changed),
                cmocka_unit_test(test_this_machine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
