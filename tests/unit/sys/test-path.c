/* Roots, files of all sizes, and what they hold as numbers, lists and links. */
#include <fcntl.h>
#include <limits.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/path.h"
#include "tidbnumad/sys/sysroot.h"

/* --- files of all sizes to their last byte, and what they hold as numbers, lists and links --- */

static void assert_read(const FakeTree *tree, const char *text, size_t size, int expected) {
        char buffer[16], before[16];

        memset(buffer, 'z', sizeof(buffer));
        memset(before, 'z', sizeof(before));
        fake_write(tree, "f", text);
        assert_int_equal(path_read(tree->fd, buffer, size, "f"), expected);
        assert_memory_equal(buffer + size, before + size, sizeof(buffer) - size);
        if (expected >= 0) {
                assert_memory_equal(buffer, text, (size_t)expected);
                assert_int_equal(buffer[expected], '\0');
        }
}

FAKE_TEST(bounds) {
        char buffer[8];

        assert_read(tree, "", 1, 0);
        assert_read(tree, "abc", 4, 3);
        assert_read(tree, "abc", 3, -EFBIG);
        assert_read(tree, "abc\n", 5, 3);
        assert_read(tree, "abc\n\n", 8, 4);
        assert_read(tree, "\n", 2, 0);
        assert_int_equal(path_read(tree->fd, buffer, sizeof(buffer), "none"), -ENOENT);
        assert_int_equal(path_read(tree->fd, buffer, sizeof(buffer), "sys"), -EISDIR);
        assert_int_equal(mkfifoat(tree->fd, "pipe", 0600), 0);
        assert_int_equal(path_read(tree->fd, buffer, sizeof(buffer), "pipe"), 0); /* no wait */
}

FAKE_TEST(any_length) {
        static const size_t sizes[] = { 0, 1, 4094, 4095, 4096, 4097, 8191, 8192, 100000 };
        static char text[100001];
        char *data = NULL;

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                size_t size = 7;

                for (size_t j = 0; j < sizes[i]; j++)
                        text[j] = (char)('a' + j % 26);
                text[sizes[i]] = '\0';
                fake_write(tree, "f", text);
                assert_int_equal(path_read_alloc(tree->fd, &data, &size, "f"), 0);
                assert_int_equal(size, sizes[i]);
                assert_string_equal(data, text);
                free(data);
        }
        data = (char *)7;
        assert_int_equal(path_read_alloc(tree->fd, &data, NULL, "none"), -ENOENT);
        assert_int_equal(path_read_alloc(tree->fd, &data, NULL, "sys"), -EISDIR);
        assert_ptr_equal(data, (char *)7);
        fake_write(tree, "f", "x");
        assert_int_equal(path_read_alloc(tree->fd, &data, NULL, "f"), 0);
        free(data);
}

/* A file without an end, as a hostile dump may hold. */
FAKE_TEST(no_end) {
        _cleanup_close_ int fd = -EBADF;
        char *data = NULL;

        fd = openat(tree->fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(ftruncate(fd, ((off_t)64 << 20) + 1), 0);
        assert_int_equal(path_read_alloc(tree->fd, &data, NULL, "f"), -EFBIG);
        fake_link(tree, "f", "/dev/zero");
        assert_int_equal(path_read_alloc(tree->fd, &data, NULL, "f"), -EFBIG);
        assert_null(data);
}

TEST(folders_above) {
        char path[] = "/a/b/", relative[] = "a/b";

        assert_true(path_cut_last(path));
        assert_string_equal(path, "/a/b");
        assert_true(path_cut_last(path));
        assert_true(path_cut_last(path));
        assert_string_equal(path, "/");
        assert_false(path_cut_last(path));
        assert_true(path_cut_last(relative));
        assert_false(path_cut_last(relative));
        assert_string_equal(relative, "a");
}

FAKE_TEST(numbers) {
        static const struct {
                const char *text;
                int expected;
        } cases[] = {
                { "0\n", 0 },         { "255\n", 0 },
                { "256\n", -ERANGE }, { "-1\n", -EINVAL },
                { "", -EINVAL },      { "7 8\n", -EINVAL },
                { "7\n\n", -EINVAL }, { "111111111111111111111111111111111\n", -EFBIG },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                uint64_t wide = 77;
                uint32_t narrow = 77;

                fake_write(tree, "sys/cpu3/number", cases[i].text);
                assert_int_equal(path_read_u64(tree->sysroot.sys_fd, 255, &wide, "cpu%d/number", 3),
                                 cases[i].expected);
                assert_int_equal(
                        path_read_u32(tree->sysroot.sys_fd, 255, &narrow, "cpu%d/number", 3),
                        cases[i].expected);
                assert_int_equal(wide, narrow);
                assert_int_equal(cases[i].expected < 0, wide == 77);
        }
        assert_int_equal(path_read_u64(tree->sysroot.sys_fd, 1, &(uint64_t){ 0 }, "none"), -ENOENT);
}

FAKE_TEST(sets) {
        CpuSet cpus = { 0 };

        fake_write(tree, "sys/list", "0-3,8\n");
        fake_write(tree, "sys/mask", "1,00000101\n");
        fake_write(tree, "sys/null", "(null)\n");
        assert_int_equal(path_read_list(tree->sysroot.sys_fd, &cpus, "%s", "list"), 0);
        assert_int_equal(id_set_count(&cpus), 5);
        assert_int_equal(path_read_list(tree->sysroot.sys_fd, &cpus, "null"), -EINVAL);
        assert_int_equal(id_set_count(&cpus), 5);
        assert_int_equal(path_read_mask(tree->sysroot.sys_fd, &cpus, "mask"), 0);
        assert_true(id_set_count(&cpus) == 3 && id_set_has(&cpus, 32));
}

FAKE_TEST(links) {
        _cleanup_free_ char *name = NULL;
        char text[8] = "before";

        fake_link(tree, "sys/link", "../a/bc");
        fake_write(tree, "sys/file", "x");
        assert_int_equal(path_read_link(tree->sysroot.sys_fd, text, sizeof(text), "link"), 7);
        assert_string_equal(text, "../a/bc");
        assert_int_equal(path_read_link(tree->sysroot.sys_fd, text, 7, "link"), -ENAMETOOLONG);
        assert_string_equal(text, "");
        assert_int_equal(path_read_link(tree->sysroot.sys_fd, text, 7, "file"), -EINVAL);
        assert_int_equal(path_read_link_name(tree->sysroot.sys_fd, &name, "%s", "link"), 0);
        assert_string_equal(name, "bc");
        assert_false(path_exists(tree->sysroot.sys_fd, "link"));
        assert_true(path_exists(tree->sysroot.sys_fd, "%s", "file"));
}

FAKE_TEST(too_long_a_path) {
        char path[PATH_MAX + 1];
        uint64_t n;

        memset(path, 'a', PATH_MAX);
        path[PATH_MAX] = '\0';
        assert_int_equal(path_read_u64(tree->sysroot.sys_fd, 1, &n, "%s", path), -ENAMETOOLONG);
        assert_int_equal(path_open(tree->sysroot.sys_fd, O_RDONLY, "%s", path), -ENAMETOOLONG);
        assert_false(path_exists(tree->sysroot.sys_fd, "%s", path));
}

FAKE_TEST(names_of_a_folder) {
        _cleanup_closedir_ DIR *dir = NULL;
        const char *name;
        size_t n = 0;

        assert_int_equal(path_open_dir(tree->sysroot.sys_fd, &dir, "class/%s", "net"), -ENOENT);
        assert_null(path_next(dir));
        fake_mkdir(tree, "sys/class/net/a");
        fake_mkdir(tree, "sys/class/net/b");
        fake_mkdir(tree, "sys/class/net/.c");
        fake_write(tree, "sys/class/file", "");
        assert_int_equal(path_open_dir(tree->sysroot.sys_fd, &dir, "class/file"), -ENOENT);
        assert_int_equal(path_open_dir(tree->sysroot.sys_fd, &dir, "class/%s", "net"), 0);
        while ((name = path_next(dir))) {
                assert_true(strcmp(name, "a") == 0 || strcmp(name, "b") == 0);
                n++;
        }
        assert_int_equal(n, 2);
}

/* --- roots that are there or not --- */

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
