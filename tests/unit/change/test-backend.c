/* Which units can be bound, and what is said of hosts where none can. */

#include <sys/resource.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/change/backend.h"

/* Whatever unit it is in, or none: where it may not be bound with its unit, a scope is refused. */
TEST(systemd_and_affinity_take_all) {
        assert_null(backend_systemd_ops.refuses);
        assert_null(backend_affinity_ops.refuses);
        assert_null(backend_affinity_ops.set_mems);
}

TEST(sets_threads) {
        assert_true(backend_sets_threads(BACKEND_AFFINITY));
        assert_true(backend_sets_threads(BACKEND_CGROUP1));
        assert_false(backend_sets_threads(BACKEND_SYSTEMD));
        assert_false(backend_sets_threads(BACKEND_AUTO));
}

TEST(host_without_backend) {
        Backend backend = { .why_not = "because" };

        assert_int_equal(backend_kind(&backend), BACKEND_AUTO);
        assert_string_equal(backend_name(&backend), "none");
}

/* Whatever the dump looks like: this machine must not be changed for it. */
TREE_TEST(dump_is_never_changed) {
        Backend backend;

        fake_write(tree, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
        backend_init(&backend, &tree->sysroot, NULL);
        for (BackendKind kind = BACKEND_AUTO; kind <= BACKEND_AFFINITY; kind++) {
                assert_false(backend_choose(&backend, kind));
                assert_null(backend.ops);
                assert_non_null(strstr(backend.why_not, "another machine"));
        }
        backend_done(&backend);
}

static BackendKind choose_for(const Sysroot *sysroot, BackendKind kind) {
        return backend_choose_for(sysroot, kind, NULL);
}

/* What `tidbnumactl plan` foretells for the machine of an archive that gather made. */
TREE_TEST(chosen_on_the_machine_of_a_dump) {
        Sysroot without = tree->sysroot;

        without.cgroup_fd = -EBADF;
        assert_int_equal(choose_for(&without, BACKEND_AUTO), BACKEND_AUTO);
        assert_int_equal(choose_for(&tree->sysroot, BACKEND_AFFINITY), BACKEND_AFFINITY);
        fake_write(tree, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
        assert_int_equal(choose_for(&tree->sysroot, BACKEND_AUTO), BACKEND_SYSTEMD);
        fake_write(tree, "proc/1/comm", "systemd\n");
        assert_int_equal(choose_for(&tree->sysroot, BACKEND_AUTO), BACKEND_SYSTEMD);
        fake_write(tree, "proc/1/comm", "init\n");
        assert_int_equal(choose_for(&tree->sysroot, BACKEND_AUTO), BACKEND_AFFINITY);
        fake_write(tree, "proc/1/comm", "systemd\n");
        fake_write(tree, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        assert_int_equal(choose_for(&tree->sysroot, BACKEND_AUTO), BACKEND_AFFINITY);
}

/* The kernel's controller is in a hierarchy of cgroup v1, as TuneD's and Slurm's are. */
TREE_TEST(a_hierarchy_that_cannot_be_written) {
        static const struct {
                const char *init, *mount;
                BackendKind chosen;
        } rows[] = {
                { "systemd", "/sys/fs/cgroup/cpuset rw", BACKEND_CGROUP1 },
                { "systemd", "/sys/fs/cgroup/cpuset ro,nosuid", BACKEND_AFFINITY },
                /* The sandbox of the unit, not of this process. */
                { "systemd", "/cgroup/cpuset rw", BACKEND_AFFINITY },
                { "init", "/cgroup/cpuset rw", BACKEND_CGROUP1 },
                { "init", "/cgroup/cpuset ro", BACKEND_AFFINITY },
        };

        fake_write(tree, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        fake_write(tree, "sys/fs/cgroup/cpuset/mark", "");
        fake_write(tree, "cgroup/cpuset/mark", "");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *weaker = "";

                fake_write(tree, "proc/1/comm", rows[i].init);
                fake_write(tree, "proc/self/mountinfo",
                           fmt("36 31 0:32 / %s - cgroup cgroup rw,cpuset\n", rows[i].mount));
                assert_int_equal(backend_choose_for(&tree->sysroot, BACKEND_AUTO, &weaker),
                                 rows[i].chosen);
                if (rows[i].chosen == BACKEND_AFFINITY)
                        assert_non_null(strstr(weaker, "cannot write"));
                else
                        assert_null(weaker);
        }
}

/* Whatever could not be seen before. */
LIVE_TEST(a_hierarchy_that_refuses_is_not_chosen_again) {
        Backend backend;

        if (backend_cgroup1_probe(sysroot, false) < 0 || !backend_systemd_why_not(sysroot))
                skip();
        backend_init(&backend, sysroot, NULL);
        assert_true(backend_choose(&backend, BACKEND_AUTO));
        assert_int_equal(backend_kind(&backend), BACKEND_CGROUP1);
        assert_null(backend.weaker);
        backend_note_refusal(&backend, -ENOMEM);
        backend_note_refusal(&backend, -ETIMEDOUT);
        assert_false(backend_choose(&backend, BACKEND_AUTO));
        backend_note_refusal(&backend, -EACCES);
        assert_true(backend_choose(&backend, BACKEND_AUTO));
        assert_int_equal(backend_kind(&backend), BACKEND_AFFINITY);
        assert_non_null(strstr(backend.weaker, "cannot write"));
        assert_true(backend_choose(&backend, BACKEND_CGROUP1)); /* the policies insist */
        assert_null(backend.ops);
        assert_non_null(strstr(backend.why_not, "use auto"));
        backend_done(&backend);
}

/* Binding by affinity, because for a moment there was no descriptor, would last until a reload. */
LIVE_TEST(what_cannot_be_read_is_not_missing) {
        struct rlimit limit, none;
        Backend backend;

        backend_init(&backend, sysroot, NULL);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        (void)backend_choose(&backend, BACKEND_AUTO);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_null(backend.ops);
        assert_non_null(strstr(backend.why_not, "cannot be read"));
        assert_true(backend_choose(&backend, BACKEND_AUTO));
        assert_non_null(backend.ops);
        backend_done(&backend);
}

LIVE_TEST(this_machine) {
        BackendKind best;
        Backend backend;

        backend_init(&backend, sysroot, NULL);
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

/* The unit's own group is widened, whatever group below it the process is in. */
static void assert_systemd_widens(const char *unit, const char *cgroup, const char *group) {
        _cleanup_fake_ FakeTree tree;
        Backend backend = { .ops = &backend_systemd_ops };
        const Member member = { .process.cgroup = (char *)cgroup };
        const BackendTarget target = { .unit = unit, .members = &member, .n_members = 1 };
        const NodeSet mems = node_set("2-3");
        char text[64];

        fake_init(&tree);
        backend.sysroot = &tree.sysroot;
        fake_write(&tree, fmt("sys/fs/cgroup%s/cpuset.mems", group), "3\n");
        fake_link(&tree, fmt("sys/fs/cgroup%s/cpuset.mems.effective", group), "cpuset.mems");
        assert_int_equal(backend_systemd_ops.widen_mems(&backend, &target, &mems), 0);
        assert_true(path_read(tree.fd, text, sizeof(text), "sys/fs/cgroup%s/cpuset.mems", group) >=
                    0);
        assert_string_equal(text, "2-3");
}

TEST(systemd_widens) {
        assert_systemd_widens("a.service", "/system.slice/a.service", "/system.slice/a.service");
        assert_systemd_widens("a.service", "/a.service", "/a.service");
        assert_systemd_widens("a.service", "/system.slice/a.service/b/c",
                              "/system.slice/a.service");
        assert_systemd_widens("t@1.service", "/system.slice/system-t.slice/t@1.service",
                              "/system.slice/system-t.slice/t@1.service");
        assert_systemd_widens("a.service", "/a.service.d.slice/a.service",
                              "/a.service.d.slice/a.service");
}

TREE_TEST(systemd_widens_no_other) {
        Backend backend = { .ops = &backend_systemd_ops };
        Member member = { .process.cgroup = (char *)"/system.slice/aa.service" };
        BackendTarget target = { .unit = "a.service", .members = &member };
        const NodeSet mems = node_set("2-3");

        backend.sysroot = &tree->sysroot;
        fake_write(tree, "sys/fs/cgroup/system.slice/aa.service/cpuset.mems", "3\n");
        fake_write(tree, "sys/fs/cgroup/system.slice/aa.service/cpuset.mems.effective", "3\n");
        assert_int_equal(backend_systemd_ops.widen_mems(&backend, &target, &mems), -ENXIO);
        target.n_members = 1;
        assert_int_equal(backend_systemd_ops.widen_mems(&backend, &target, &mems), -ENXIO);
        member.process.cgroup = (char *)"/system.slice/a.service"; /* it has ended */
        assert_int_equal(backend_systemd_ops.widen_mems(&backend, &target, &mems), -ESRCH);
        assert_null(backend_affinity_ops.widen_mems);
}
