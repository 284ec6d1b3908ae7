/* By which backend the daemon binds: as it says, else as it would choose. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/ctl/machine.h"

TREE_TEST(a_dump_is_judged_by_its_files) {
        const Machine machine = { .sysroot = tree->sysroot, .status.backend = "cgroup1" };
        const char *weaker = "";

        fake_write(tree, "sys/fs/cgroup/cgroup.controllers", "cpuset\n");
        assert_int_equal(machine_backend(&machine, BACKEND_AUTO, &weaker), BACKEND_SYSTEMD);
        assert_null(weaker);
}

/* The daemon has tried, in its own mount namespace. */
TREE_TEST(a_daemon_that_runs_knows) {
        static const struct {
                BackendKind wanted;
                const char *backend, *reason;
                BackendKind found;
        } rows[] = {
                { BACKEND_AUTO, NULL, NULL, BACKEND_AFFINITY },
                { BACKEND_AUTO, "cgroup1", NULL, BACKEND_CGROUP1 },
                { BACKEND_AUTO, "affinity", "it refuses", BACKEND_AFFINITY },
                { BACKEND_AUTO, "none", "it refuses", BACKEND_AFFINITY },
                { BACKEND_AFFINITY, "cgroup1", NULL, BACKEND_AFFINITY },
        };

        fake_write(tree, "sys/fs/cgroup/cgroup.controllers", "io\n");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const Machine machine = { .sysroot = tree->sysroot,
                                          .daemon_runs = true,
                                          .status = { .backend = rows[i].backend,
                                                      .backend_reason = rows[i].reason } };
                const char *weaker = "";

                assert_int_equal(machine_backend(&machine, rows[i].wanted, &weaker), rows[i].found);
                assert_int_equal(weaker != NULL,
                                 rows[i].backend && strcmp(rows[i].backend, "affinity") == 0);
        }
}

/* Without a reason it is affinity because its own policies say so. */
TREE_TEST(a_daemon_that_was_told_knows_nothing) {
        const Machine machine = { .sysroot = tree->sysroot,
                                  .daemon_runs = true,
                                  .status.backend = "affinity" };
        const char *weaker;

        fake_write(tree, "cgroup/cpuset/mark", "");
        fake_write(tree, "proc/1/comm", "init\n");
        fake_write(tree, "proc/self/mountinfo",
                   "36 31 0:32 / /cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
        assert_int_equal(machine_backend(&machine, BACKEND_AUTO, &weaker), BACKEND_CGROUP1);
}
