/* Those who are left alone: why, no more than there is room for, and gone when they have ended. */

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "tidbnumad/daemon/registry/registry.h"

#define S(text) ((char *)(text))

static const Policy policy = { .name = S("tidb"), .match = { .user = S("tidb") } };

static int add(IgnoredList *ignored, pid_t pid, Foreign foreign, ProcHandle *handle) {
        _cleanup_process_ Process p = { .id = { .pid = pid, .start_ticks = 7 },
                                        .uid = 65534,
                                        .exe = strdup("/opt/tidb-server"),
                                        .foreign = foreign };

        assert_non_null(p.exe);
        return ignored_add(ignored, &p, handle, &policy,
                           foreign == FOREIGN_NONE ? MATCH_OTHER_USER : MATCH_FOREIGN);
}

TEST(reasons) {
        ProcHandle none = PROC_HANDLE_NONE;
        IgnoredList s = { 0 };

        assert_int_equal(add(&s, 10, FOREIGN_NONE, &none), 0);
        assert_int_equal(add(&s, 11, FOREIGN_MOUNT, &none), 0);
        assert_int_equal(s.n_processes, 2);
        assert_string_equal(s.processes[0].reason,
                            "it runs as user 65534, and policy 'tidb' is for user tidb");
        assert_non_null(strstr(s.processes[1].reason, "another mount namespace"));
        assert_non_null(strstr(s.processes[1].reason, "containers: true"));
        assert_string_equal(s.processes[1].policy, "tidb");
        ignored_forget(&s, 10);
        assert_int_equal(s.n_processes, 1);
        assert_int_equal(s.processes[0].process.id.pid, 11);
        ignored_done(&s);
        assert_int_equal(s.n_processes, 0);
}

TEST(the_very_process) {
        Process same = { .id = { 10, 7 }, .uid = 65534, .exe = S("/opt/tidb-server") };
        ProcHandle none = PROC_HANDLE_NONE;
        IgnoredList s = { 0 };

        assert_int_equal(add(&s, 10, FOREIGN_PID, &none), 0);
        assert_true(ignored_has(&s, &same));
        same.id.start_ticks++; /* another one with its number */
        assert_false(ignored_has(&s, &same));
        same.id.start_ticks--;
        same.uid = 0; /* it has become another user's */
        assert_false(ignored_has(&s, &same));
        same.uid = 65534;
        same.unit = S("a.service");
        assert_false(ignored_has(&s, &same));
        ignored_done(&s);
}

/* Any user can make as many as they like. */
TEST(room) {
        ProcHandle none = PROC_HANDLE_NONE;
        IgnoredList s = { 0 };

        for (pid_t pid = 1; pid <= IGNORED_MAX; pid++)
                assert_int_equal(add(&s, pid, FOREIGN_PID, &none), 0);
        assert_int_equal(add(&s, 999, FOREIGN_PID, &none), -ENOSPC);
        assert_int_equal(s.n_processes, IGNORED_MAX);
        assert_int_equal(ignored_add_counted(&s, 999, MATCH_FOREIGN), 0);
        assert_int_equal(ignored_add_counted(&s, 999, MATCH_FOREIGN), 0); /* again at each scan */
        assert_int_equal(ignored_count(&s, MATCH_FOREIGN), IGNORED_MAX + 1);
        assert_int_equal(ignored_count(&s, MATCH_OTHER_USER), 0);
        ignored_forget(&s, 999);
        assert_int_equal(ignored_count(&s, MATCH_FOREIGN), IGNORED_MAX);
        ignored_forget(&s, 5);
        assert_int_equal(add(&s, 999, FOREIGN_PID, &none), 0);
        ignored_done(&s);
}

TEST(prune) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        ProcHandle handle = PROC_HANDLE_NONE, none = PROC_HANDLE_NONE;
        pid_t pid = child_start();
        IgnoredList s = { 0 };

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, pid, &handle), 0);
        assert_int_equal(add(&s, pid, FOREIGN_PID, &handle), 0);
        assert_int_equal(handle.pidfd, -EBADF); /* taken over */
        assert_int_equal(add(&s, 1, FOREIGN_PID, &none), 0);
        ignored_prune(&s);
        assert_int_equal(s.n_processes, 2);
        child_end(pid);
        ignored_prune(&s);
        assert_int_equal(s.n_processes, 1);
        assert_int_equal(s.processes[0].process.id.pid, 1);
        ignored_done(&s);
}

/* They are counted as distinct processes, and forgotten when a whole round has not met them. */
TEST(only_counted) {
        IgnoredList s = { 0 };

        for (pid_t pid = 1000; pid > 0; pid--)
                assert_int_equal(ignored_add_counted(&s, pid, MATCH_FULL), 0);
        ignored_begin_round(&s);
        assert_int_equal(ignored_count(&s, MATCH_FULL), 1000);
        for (pid_t pid = 1; pid <= 500; pid++)
                assert_int_equal(ignored_add_counted(&s, pid, MATCH_FULL), 0);
        assert_int_equal(ignored_count(&s, MATCH_FULL), 1000);
        ignored_begin_round(&s);
        assert_int_equal(ignored_count(&s, MATCH_FULL), 500);
        ignored_forget(&s, 7);
        ignored_forget(&s, 777);
        assert_int_equal(ignored_count(&s, MATCH_FULL), 499);
        assert_int_equal(s.n_processes, 0);
        ignored_done(&s);
}
