/* Roots that are there or not. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/sysroot.h"

static int open_root(const FakeTree *tree) {
        Sysroot sysroot = { .proc_fd = 77 };
        int r = sysroot_open(tree->path, &sysroot);

        if (r == 0)
                sysroot_close(&sysroot);
        else
                assert_int_equal(sysroot.proc_fd, 77);
        return r;
}

FAKE_TEST(roots) {
        Sysroot sysroot = SYSROOT_NONE;

        assert_false(tree->sysroot.live);
        assert_string_equal(tree->sysroot.path, tree->path);
        assert_true(tree->sysroot.cgroup_fd >= 0);
        fake_remove(tree, "sys/fs");
        assert_int_equal(sysroot_open(tree->path, &sysroot), 0);
        assert_int_equal(sysroot.cgroup_fd, -EBADF);
        sysroot_close(&sysroot);
        assert_int_equal(sysroot.proc_fd, -EBADF);
        assert_null(sysroot.path);
        fake_remove(tree, "sys");
        assert_int_equal(open_root(tree), -ENOENT);
        fake_mkdir(tree, "sys");
        fake_remove(tree, "proc");
        assert_int_equal(open_root(tree), -ENOENT);
        fake_write(tree, "proc", "");
        assert_int_equal(open_root(tree), -ENOTDIR);
        assert_int_equal(sysroot_open("/nonexistent", &sysroot), -ENOENT);
}

LIVE_TEST(this_machine) {
        assert_true(sysroot->live);
        assert_string_equal(sysroot->path, "/");
        assert_int_equal(faccessat(sysroot->proc_fd, "self/stat", F_OK, 0), 0);
        assert_int_equal(faccessat(sysroot->sys_fd, "devices", F_OK, 0), 0);
}
