/* A program of the test's own is run, found by PATH. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/program.h"

static void use(FakeTree *tree, const char *script) {
        fake_init(tree);
        if (script) {
                fake_write(tree, "tool", script);
                assert_int_equal(chmod(fmt("%s/tool", tree->path), 0755), 0);
        }
        assert_int_equal(setenv("PATH", tree->path, 1), 0);
}

static int run(const char *script, Text *ret) {
        static const char *const argv[] = { "tool", "A=b c", "_UID=0", NULL };
        char *before = strdup(getenv("PATH"));
        FakeTree tree;
        int r;

        use(&tree, script);
        r = program_read(argv, ret);
        assert_int_equal(setenv("PATH", before, 1), 0);
        free(before);
        fake_done(&tree);
        return r;
}

TEST(arguments_and_output) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(run("#!/bin/sh\necho error >&2\nfor w; do echo \"<$w>\"; done\n", &text),
                         0);
        assert_string_equal(text.data, "<A=b c>\n<_UID=0>\n");
}

/* More than a pipe holds. */
TEST(long_output) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(run("#!/bin/sh\ni=0\nwhile [ $i -lt 20000 ]; do echo 0123456789; "
                             "i=$((i+1)); done\n",
                             &text),
                         0);
        assert_int_equal(text.length, 220000);
}

TEST(failure) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(run("#!/bin/sh\nexit 1\n", &text), -EIO);
        assert_int_equal(run("#!/bin/sh\nkill -9 $$\n", &text), -EIO);
        assert_int_equal(run(NULL, &text), -ENOENT);
}
