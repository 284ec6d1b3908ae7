/* Files that only root may have written. */
#include <errno.h>
#include <string.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/atomic-file.h"

static void write_it(const FakeTree *tree, const char *text) {
        fake_write(tree, "a", text);
        assert_int_equal(fchmodat(tree->fd, "a", 0600, 0), 0);
}

static int read_it(const FakeTree *tree, const char *name, const char *expected) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r = private_file_read(tree->fd, name, 8, &text, &size);

        if (r == 0) {
                assert_string_equal(text, expected);
                assert_int_equal(size, strlen(expected));
        } else {
                assert_null(text);
        }
        return r;
}

FAKE_TEST(content) {
        write_it(tree, "text");
        assert_int_equal(read_it(tree, "a", "text"), 0);
        write_it(tree, "");
        assert_int_equal(read_it(tree, "a", ""), 0);
        assert_int_equal(read_it(tree, "b", ""), -ENOENT);
}

FAKE_TEST(size) {
        write_it(tree, "12345678");
        assert_int_equal(read_it(tree, "a", "12345678"), 0);
        write_it(tree, "123456789");
        assert_int_equal(read_it(tree, "a", ""), -EFBIG);
}

FAKE_TEST(who_may_write) {
        write_it(tree, "text");
        assert_int_equal(fchmodat(tree->fd, "a", 0644, 0), 0);
        assert_int_equal(read_it(tree, "a", "text"), 0);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(fchmodat(tree->fd, "a", i == 0 ? 0620 : 0602, 0), 0);
                assert_int_equal(read_it(tree, "a", ""), -EPERM);
        }
        if (geteuid() != 0)
                skip();
        assert_int_equal(fchmodat(tree->fd, "a", 0600, 0), 0);
        assert_int_equal(fchownat(tree->fd, "a", 65534, 0, 0), 0);
        assert_int_equal(read_it(tree, "a", ""), -EPERM);
}

FAKE_TEST(no_plain_file) {
        write_it(tree, "text");
        fake_link(tree, "link", "a");
        assert_int_equal(read_it(tree, "link", ""), -EPERM);
        assert_int_equal(mkfifoat(tree->fd, "fifo", 0600), 0);
        assert_int_equal(read_it(tree, "fifo", ""), -EPERM); /* and does not wait */
        fake_mkdir(tree, "folder");
        assert_int_equal(fchmodat(tree->fd, "folder", 0700, 0), 0);
        assert_int_equal(read_it(tree, "folder", ""), -EPERM);
}

FAKE_TEST(folder) {
        mode_t before = umask(0);
        _cleanup_close_ int fd = -EBADF, again = -EBADF, other = -EBADF;
        struct stat st;

        assert_int_equal(private_dir_open(tree->fd, "d", &fd), 0);
        (void)umask(before);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(private_dir_open(tree->fd, "d", &again), 0);
        assert_int_equal(fchmodat(tree->fd, "d", 0720, 0), 0);
        assert_int_equal(private_dir_open(tree->fd, "d", &other), -EPERM);
        fake_link(tree, "link", "d");
        assert_true(private_dir_open(tree->fd, "link", &other) < 0);
        fake_write(tree, "file", "");
        assert_int_equal(private_dir_open(tree->fd, "file", &other), -ENOTDIR);
        assert_int_equal(private_dir_open(tree->fd, "none/d", &other), -ENOENT);
        assert_int_equal(other, -EBADF);
}
