/* Policies of processes, as the kernel writes them. */
#include <errno.h>
#include <numaif.h>
#include <string.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/memory-policy.h"

static void assert_parsed(const char *text, int expected, const char *policy) {
        char buffer[32] = "untouched";

        assert_int_equal(memory_policy_parse(text, buffer, sizeof(buffer)), expected);
        assert_string_equal(buffer, policy);
}

TEST(parse) {
        assert_parsed("00400000 default file=/bin/a mapped=1 N0=1\n", 0, "default");
        assert_parsed("7f0000400000 interleave:0-7 anon=1\n7f bind:2", 0, "interleave:0-7");
        assert_parsed("55d bind:2\n", 0, "bind:2");
        assert_parsed("55d prefer=relative:1", 0, "prefer=relative:1");
        assert_parsed("", -EBADMSG, "untouched");
        assert_parsed("default", -EBADMSG, "untouched"); /* letters of a number, and no space */
        assert_parsed("55d", -EBADMSG, "untouched");
        assert_parsed("55d ", -EBADMSG, "untouched");
        assert_parsed("55d  default", -EBADMSG, "untouched");
        assert_parsed("55d 7", -EBADMSG, "untouched");
        assert_parsed("55d interleave:0,2,4,6,8,10,12,14,16,18", -ENOSPC, "untouched");
}

TEST(own) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        unsigned long nodes = 1;
        char policy[64];

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, getpid(), &self), 0);
        if (memory_policy_read(&self, policy, sizeof(policy)) == -ENOENT)
                skip();
        if (set_mempolicy(MPOL_BIND, &nodes, 8) < 0)
                skip(); /* not allowed here */
        assert_int_equal(memory_policy_read(&self, policy, sizeof(policy)), 0);
        assert_int_equal(set_mempolicy(MPOL_DEFAULT, NULL, 0), 0);
        assert_string_equal(policy, "bind:0");
        assert_int_equal(memory_policy_read(&self, policy, sizeof(policy)), 0);
        assert_string_equal(policy, "default");
}

TEST(gone) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_fake_ FakeTree tree;
        char policy[64];

        fake_init(&tree);
        fake_process(&tree, 50, 1, "/srv/a", "/", "0");
        assert_int_equal(proc_open(&tree.sysroot, 50, &handle), 0);
        assert_int_equal(memory_policy_read(&handle, policy, sizeof(policy)), -ENOENT);
        fake_remove(&tree, "proc/50");
        assert_int_equal(memory_policy_read(&handle, policy, sizeof(policy)), -ESRCH);
}
