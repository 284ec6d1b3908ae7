/* Hierarchies of cgroup v1: their mounts, a process's paths, names for folders. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/cgroup.h"

#define TMPFS "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
#define CPU                                                                                        \
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup "            \
        "rw,cpu,cpuacct\n"
#define CPUSET "35 31 0:32 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
#define V2 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cpuset rw,cpuset\n"

static void assert_mount(const char *text, const char *controller, const char *expected) {
        _cleanup_cgroup1_mount_ Cgroup1Mount mount = { 0 };
        int r = cgroup1_mount_parse(text, controller, &mount);

        assert_int_equal(r, expected ? 0 : -ENOENT);
        if (expected)
                assert_string_equal(mount.point, expected);
}

TEST(mount) {
        assert_mount(TMPFS CPU V2 CPUSET, "cpuset", "/sys/fs/cgroup/cpuset");
        assert_mount(TMPFS CPU CPUSET, "cpuacct", "/sys/fs/cgroup/cpu,cpuacct");
        assert_mount(TMPFS CPU CPUSET, "cpu", "/sys/fs/cgroup/cpu,cpuacct");
        assert_mount(TMPFS CPU V2, "cpuset", NULL);
        assert_mount("", "cpuset", NULL);
        /* A part of it, as in a container; and cpusets of old. */
        assert_mount("1 2 0:3 /docker/1 /a rw - cgroup cgroup rw,cpuset\n", "cpuset", NULL);
        assert_mount("1 2 0:3 / /dev/cpuset rw - cgroup cgroup rw,cpuset,noprefix\n", "cpuset",
                     NULL);
        assert_mount("1 2 0:3 / /a\\040b\\134c rw - cgroup cgroup rw,cpuset\n", "cpuset",
                     "/a b\\c");
}

#define ELSEWHERE(options) "36 31 0:32 / /cgroup/cpuset " options " - cgroup cgroup rw,cpuset\n"

/* Mounted is not usable: as the sandbox of a service has it. */
TEST(read_only) {
        static const struct {
                const char *text, *point;
                bool read_only;
        } rows[] = {
                { CPUSET, "/sys/fs/cgroup/cpuset", false },
                { ELSEWHERE("ro,nosuid"), "/cgroup/cpuset", true },
                { ELSEWHERE("ro"), "/cgroup/cpuset", true },
                { ELSEWHERE("rootcontext"), "/cgroup/cpuset", false },
                { "36 31 0:32 / /c rw shared:1 - cgroup cgroup ro,cpuset\n", "/c", true },
                { ELSEWHERE("ro") CPUSET, "/sys/fs/cgroup/cpuset", false },
                { CPUSET ELSEWHERE("ro"), "/sys/fs/cgroup/cpuset", false },
                { CPUSET ELSEWHERE("rw"), "/sys/fs/cgroup/cpuset", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_cgroup1_mount_ Cgroup1Mount mount = { 0 };

                assert_int_equal(cgroup1_mount_parse(rows[i].text, "cpuset", &mount), 0);
                assert_string_equal(mount.point, rows[i].point);
                assert_int_equal(mount.read_only, rows[i].read_only);
        }
}

FAKE_TEST(may_write) {
        assert_int_equal(cgroup1_may_write(&tree->sysroot, "cpuset"), -ENOENT);
        fake_write(tree, "cgroup/cpuset/mark", "");
        fake_write(tree, "proc/self/mountinfo", ELSEWHERE("rw"));
        assert_int_equal(cgroup1_may_write(&tree->sysroot, "cpuset"), 0);
        fake_write(tree, "proc/self/mountinfo", ELSEWHERE("ro"));
        assert_int_equal(cgroup1_may_write(&tree->sysroot, "cpuset"), -EROFS);
}

static void assert_path(const char *text, const char *controller, const char *expected) {
        _cleanup_free_ char *path = NULL;
        int r = proc_cgroup_path_parse(text, controller, &path);

        assert_int_equal(r, expected ? 0 : -ENXIO);
        if (expected)
                assert_string_equal(path, expected);
}

TEST(path) {
        static const char text[] =
                "9:name=systemd:/cpuset:/x\n4:memory:/a:b\n3:cpu,cpuset:/c\n0::/d\n";

        assert_path(text, "memory", "/a:b");
        assert_path(text, "cpuset", "/c");
        assert_path(text, "cpu", "/c");
        assert_path(text, "pids", NULL);
        assert_path("", "cpuset", NULL);
        assert_path("3:cpuset\n", "cpuset", NULL);
        assert_path("3:cpuset:/c", "cpuset", "/c");
}

/* Through a sysroot: what is mounted there is looked for below it. */
FAKE_TEST(open) {
        _cleanup_close_ int fd = -EBADF;

        assert_int_equal(cgroup1_open(&tree->sysroot, "cpuset", &fd), -ENOENT);
        fake_write(tree, "proc/self/mountinfo", CPUSET);
        assert_int_equal(cgroup1_open(&tree->sysroot, "cpuset", &fd), -ENOENT);
        fake_write(tree, "sys/fs/cgroup/cpuset/mark", "");
        assert_int_equal(cgroup1_open(&tree->sysroot, "cpuset", &fd), 0);
        assert_int_equal(faccessat(fd, "mark", F_OK, 0), 0);
}

static const char *named(const char *name) {
        static char buffer[CGROUP1_NAME_MAX];

        cgroup1_name(name, buffer);
        assert_true(strlen(buffer) < CGROUP1_NAME_MAX);
        assert_null(strchr(buffer, '/'));
        assert_true(buffer[0] != '.' && buffer[0] != '\0');
        return buffer;
}

TEST(names_that_stay) {
        static const char *const names[] = { "tidb-4000", "tidb-server:123", "a\\x2db@1", "a.b",
                                             "cpusets.x", "tasks2",          "memory" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_string_equal(named(names[i]), names[i]);
}

TEST(names_that_change) {
        static const char *const names[] = { "",     ".",     "..",           "a/b",
                                             "a_b/", "a\nb",  ".a",           "~",
                                             "a~b",  "tasks", "cgroup.procs", "cpuset.cpus",
                                             "a/b/", "_a/" };
        char all[ELEMENTSOF(names)][CGROUP1_NAME_MAX];

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                strcpy(all[i], named(names[i]));
                assert_string_not_equal(all[i], names[i]);
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(all[i], all[k]);
        }
}

TEST(long_names) {
        char a[400], b[400], first[CGROUP1_NAME_MAX];

        memset(a, 'a', sizeof(a));
        memset(b, 'a', sizeof(b));
        a[300] = b[301] = '\0';
        strcpy(first, named(a));
        assert_string_not_equal(named(b), first);
        a[110] = '\0'; /* the longest that stays */
        assert_string_equal(named(a), a);
        b[111] = '\0';
        assert_string_not_equal(named(b), b);
}
