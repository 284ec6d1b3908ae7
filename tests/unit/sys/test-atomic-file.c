/* A published file is the old one or the new one, whatever happens, and nothing else is left. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/atomic-file.h"

static void assert_file(const FakeTree *tree, const char *name, const char *expected) {
        char text[8192];

        assert_true(read_file_at(tree->fd, name, text, sizeof(text)) >= 0);
        assert_string_equal(text, expected);
}

/* Beside the two folders that every fake tree has. */
static void assert_entries(const FakeTree *tree, unsigned expected) {
        _cleanup_closedir_ DIR *dir = opendir(tree->path);
        unsigned n = 0;

        assert_non_null(dir);
        while (readdir(dir))
                n++;
        assert_int_equal(n - 4, expected);
}

FAKE_TEST(new_and_again) {
        assert_int_equal(atomic_file_write(tree->fd, "a", "one", 3, 0644), 0);
        assert_file(tree, "a", "one");
        assert_int_equal(atomic_file_write(tree->fd, "a", "", 0, 0644), 0);
        assert_file(tree, "a", "");
        assert_int_equal(atomic_file_write(tree->fd, "a", "x\0y", 3, 0644), 0);
        assert_file(tree, "a", "x");
        assert_entries(tree, 1);
}

FAKE_TEST(mode_despite_umask) {
        struct stat st;

        for (unsigned i = 0; i < 2; i++) {
                mode_t mode = i == 0 ? 0644 : 0600, before = umask(i == 0 ? 0077 : 0);

                assert_int_equal(atomic_file_write(tree->fd, "a", "b", 1, mode), 0);
                (void)umask(before);
                assert_int_equal(fstatat(tree->fd, "a", &st, 0), 0);
                assert_int_equal(st.st_mode & 07777, mode);
        }
}

/* Who has the old one open reads on in the old one. */
FAKE_TEST(readers_keep_theirs) {
        _cleanup_close_ int fd = -EBADF;
        char text[8] = "";

        fake_write(tree, "a", "old");
        fd = openat(tree->fd, "a", O_RDONLY | O_CLOEXEC);
        assert_int_equal(atomic_file_write(tree->fd, "a", "new", 3, 0644), 0);
        assert_int_equal(read(fd, text, sizeof(text)), 3);
        assert_string_equal(text, "old");
}

FAKE_TEST(disk_that_is_full) {
        static const char data[5000] = { [0 ... 4999] = 'x' };
        struct rlimit before, small;
        int r;

        fake_write(tree, "a", "old");
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        small = (struct rlimit){ .rlim_cur = 4096, .rlim_max = before.rlim_max };
        (void)signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        r = atomic_file_write(tree->fd, "a", data, sizeof(data), 0644);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(r, -EFBIG);
        assert_file(tree, "a", "old");
        assert_entries(tree, 1);
}

FAKE_TEST(names_that_cannot_be) {
        char name[256];

        memset(name, 'n', 255);
        name[255] = '\0';
        fake_write(tree, name, "old");
        assert_int_equal(atomic_file_write(tree->fd, name, "new", 3, 0644), -ENAMETOOLONG);
        assert_file(tree, name, "old");
        assert_entries(tree, 1);
        fake_mkdir(tree, "folder");
        assert_int_equal(atomic_file_write(tree->fd, "folder", "new", 3, 0644), -EISDIR);
        assert_entries(tree, 2);
        assert_int_equal(atomic_file_write(tree->fd, "none/a", "new", 3, 0644), -ENOENT);
        assert_int_equal(atomic_file_write(-EBADF, "a", "new", 3, 0644), -EBADF);
}

/* What a killed daemon left is replaced, and never written through. */
FAKE_TEST(leftovers) {
        fake_write(tree, ".a.new", "half of a file, longer than the new one");
        assert_int_equal(atomic_file_write(tree->fd, "a", "new", 3, 0644), 0);
        assert_file(tree, "a", "new");
        assert_entries(tree, 1);
        fake_write(tree, "victim", "untouched");
        fake_link(tree, ".a.new", "victim");
        assert_int_equal(atomic_file_write(tree->fd, "a", "newer", 5, 0644), 0);
        assert_file(tree, "a", "newer");
        assert_file(tree, "victim", "untouched");
        assert_entries(tree, 2);
        /* A link in place of the file itself is replaced, its target left alone. */
        fake_link(tree, "a", "victim");
        assert_int_equal(atomic_file_write(tree->fd, "a", "newest", 6, 0644), 0);
        assert_file(tree, "a", "newest");
        assert_file(tree, "victim", "untouched");
}
