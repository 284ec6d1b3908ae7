/* Command lines of a dump, and of a process that lives. */

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "tidbnumad/sys/proc.h"

static void write_cmdline(const FakeTree *tree, const char *bytes, size_t size) {
        _cleanup_close_ int fd = -EBADF;

        fake_write(tree, "proc/50/cmdline", "");
        fd = openat(tree->fd, "proc/50/cmdline", O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, size), size);
}

static void open_fake(FakeTree *tree, ProcHandle *handle) {
        fake_init(tree);
        fake_process(tree, 50, 1, "/x", "/", "0");
        assert_int_equal(proc_open(&tree->sysroot, 50, handle), 0);
}

static void assert_joined(const char *bytes, size_t size, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(cmdline_join(bytes, size, &text), 0);
        assert_string_equal(text, expected);
}

TEST(read) {
        static const struct {
                const char *bytes;
                size_t size;
                size_t expected_size;
                const char *joined;
        } cases[] = {
                { "tikv-server\0-C\0conf\0", 20, 20, "tikv-server -C conf" },
                { "a\0\0b\0", 5, 5, "a  b" },                   /* an empty argument */
                { "rewritten: 1\n", 13, 14, "rewritten: 1\n" }, /* without a NUL */
                { "a\0b", 3, 4, "a b" },
                { "\0", 1, 1, "" },
                { "", 0, 0, "" },
        };
        _cleanup_fake_ FakeTree tree;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        open_fake(&tree, &handle);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *bytes = NULL;
                size_t size = 7;

                write_cmdline(&tree, cases[i].bytes, cases[i].size);
                assert_int_equal(cmdline_read(&handle, &bytes, &size), 0);
                assert_int_equal(size, cases[i].expected_size);
                assert_memory_equal(bytes, cases[i].bytes, cases[i].size);
                assert_int_equal(bytes[size], '\0');
                assert_joined(bytes, size, cases[i].joined);
        }
}

TEST(next) {
        static const char bytes[] = "a\0\0bc"; /* with the last NUL */
        const char *p = cmdline_next(bytes, sizeof(bytes), NULL);

        assert_string_equal(p, "a");
        p = cmdline_next(bytes, sizeof(bytes), p);
        assert_string_equal(p, "");
        p = cmdline_next(bytes, sizeof(bytes), p);
        assert_string_equal(p, "bc");
        assert_null(cmdline_next(bytes, sizeof(bytes), p));
        assert_null(cmdline_next(bytes, 0, NULL));
}

/* A line of `size` bytes whose last argument begins at `last`. */
static void assert_cut(const FakeTree *tree, const ProcHandle *handle, size_t size, size_t last,
                       int expected, size_t expected_size) {
        _cleanup_free_ char *bytes = NULL, *line = malloc(size);
        size_t got;

        assert_non_null(line);
        memset(line, 'a', size);
        line[size - 1] = '\0';
        if (last > 0)
                line[last - 1] = '\0';
        write_cmdline(tree, line, size);
        assert_int_equal(cmdline_read(handle, &bytes, &got), expected);
        assert_int_equal(got, expected_size);
        assert_memory_equal(bytes, line, got);
        assert_int_equal(bytes[got], '\0');
}

TEST(too_long) {
        const size_t max = CMDLINE_MAX_BYTES;
        _cleanup_fake_ FakeTree tree;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        open_fake(&tree, &handle);
        assert_cut(&tree, &handle, max, 0, 0, max);
        assert_cut(&tree, &handle, max + 1, 100, 1, 100);
        assert_cut(&tree, &handle, max + 1, max, 1, max); /* ends right at the bound */
        assert_cut(&tree, &handle, max * 3, 100, 1, 100);
        assert_cut(&tree, &handle, max * 3, 0, 1, 0); /* not one argument fits */
}

LIVE_TEST(live) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_free_ char *bytes = NULL, *own = NULL;
        char *untouched = (char *)7;
        size_t size;
        pid_t pid = child_start();

        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        assert_int_equal(cmdline_read(&handle, &bytes, &size), 0);
        assert_string_equal(bytes, program_invocation_name);
        child_make_zombie(pid);
        assert_int_equal(cmdline_read(&handle, &own, &size), 0); /* a zombie has none */
        assert_int_equal(size, 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(cmdline_read(&handle, &untouched, &size), -ESRCH);
        assert_ptr_equal(untouched, (char *)7);
}

/* --- the environment of a process --- */

TEST(find) {
        static const char bytes[] = "PATH=/bin\0GOMAXPROCS=8\0GOMAXPROCSX=9\0EMPTY=\0=x\0last";

        assert_string_equal(environment_find(bytes, sizeof(bytes), "GOMAXPROCS"), "8");
        assert_string_equal(environment_find(bytes, sizeof(bytes), "PATH"), "/bin");
        assert_string_equal(environment_find(bytes, sizeof(bytes), "EMPTY"), "");
        assert_null(environment_find(bytes, sizeof(bytes), "GOMAX"));
        assert_null(environment_find(bytes, sizeof(bytes), "last"));
        assert_null(environment_find("", 0, "PATH"));
}

LIVE_TEST(read_variable) {
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        char value[4096], small[1];

        assert_int_equal(proc_open(sysroot, getpid(), &self), 0);
        assert_int_equal(environment_read(&self, "PATH", value, sizeof(value)), 0);
        assert_string_equal(value, getenv("PATH"));
        assert_int_equal(environment_read(&self, "PATH", small, sizeof(small)), -ENOSPC);
        assert_int_equal(environment_read(&self, "NO_SUCH_VARIABLE_HERE", value, sizeof(value)),
                         -ENODATA);
}
