/* The environment of a process. */
#include <errno.h>
#include <unistd.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/cmdline.h"

TEST(find) {
        static const char bytes[] = "PATH=/bin\0GOMAXPROCS=8\0GOMAXPROCSX=9\0EMPTY=\0=x\0last";

        assert_string_equal(environment_find(bytes, sizeof(bytes), "GOMAXPROCS"), "8");
        assert_string_equal(environment_find(bytes, sizeof(bytes), "PATH"), "/bin");
        assert_string_equal(environment_find(bytes, sizeof(bytes), "EMPTY"), "");
        assert_null(environment_find(bytes, sizeof(bytes), "GOMAX"));
        assert_null(environment_find(bytes, sizeof(bytes), "last"));
        assert_null(environment_find("", 0, "PATH"));
}

LIVE_TEST(read) {
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        char value[4096], small[1];

        assert_int_equal(proc_open(sysroot, getpid(), &self), 0);
        assert_int_equal(environment_read(&self, "PATH", value, sizeof(value)), 0);
        assert_string_equal(value, getenv("PATH"));
        assert_int_equal(environment_read(&self, "PATH", small, sizeof(small)), -ENOSPC);
        assert_int_equal(environment_read(&self, "NO_SUCH_VARIABLE_HERE", value, sizeof(value)),
                         -ENODATA);
}
