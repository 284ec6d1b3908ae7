/* Namespaces, roots and address spaces of real children. */
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "tidbnumad/sys/namespace.h"

enum { STACK_BYTES = 64 << 10, REFUSED = 2 };

/* Runs in the child; reports over the pipe that it is in its namespace, then waits. */
typedef struct Child {
        int flags; /* of unshare(2) */
        const char *root;
        int ready[2];
        pid_t pid;
        ProcHandle handle;
} Child;

static int run_child(void *userdata) {
        const Child *c = userdata;
        char byte = 0;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no process behind */
        if (c->flags && unshare(c->flags) < 0)
                _exit(REFUSED);
        if (c->root && chroot(c->root) < 0)
                _exit(REFUSED);
        if (write(c->ready[1], &byte, 1) != 1)
                _exit(1);
        child_wait();
}

static bool start(Child *c, const Sysroot *sysroot) {
        char byte;
        bool ready;

        assert_int_equal(pipe(c->ready), 0);
        c->pid = child_fork();
        if (c->pid == 0)
                _exit(run_child(c));
        (void)close(c->ready[1]);
        ready = read(c->ready[0], &byte, 1) == 1;
        (void)close(c->ready[0]);
        c->handle = PROC_HANDLE_NONE;
        if (ready)
                assert_int_equal(proc_open(sysroot, c->pid, &c->handle), 0);
        return ready;
}

static void end(Child *c) {
        proc_close(&c->handle);
        child_end(c->pid);
}

static void assert_shares(const Sysroot *sysroot, const Child *c, int pid, int user, int mount) {
        assert_int_equal(proc_in_host_namespace(sysroot, &c->handle, PROC_NAMESPACE_PID), pid);
        assert_int_equal(proc_in_host_namespace(sysroot, &c->handle, PROC_NAMESPACE_USER), user);
        assert_int_equal(proc_in_host_namespace(sysroot, &c->handle, PROC_NAMESPACE_MOUNT), mount);
}

LIVE_TEST(namespaces) {
        Child plain = { 0 }, mount = { .flags = CLONE_NEWNS }, user = { .flags = CLONE_NEWUSER };

        assert_true(start(&plain, sysroot));
        assert_shares(sysroot, &plain, 1, 1, 1);
        end(&plain);
        if (!start(&mount, sysroot)) {
                end(&mount);
                skip_because("no mount namespace can be made here");
        }
        assert_shares(sysroot, &mount, 1, 1, 0);
        assert_int_equal(proc_has_host_root(&mount.handle), 1); /* a copy of the same tree */
        end(&mount);
        if (start(&user, sysroot))
                assert_shares(sysroot, &user, 1, 0, 1);
        else
                print_message("no user namespace can be made here\n");
        end(&user);
}

LIVE_TEST(root) {
        Child c = { .root = "/proc" };

        if (!start(&c, sysroot)) {
                end(&c);
                skip_because("chroot(2) is not allowed here");
        }
        assert_int_equal(proc_has_host_root(&c.handle), 0);
        end(&c);
}

/* Executes a copy of /bin/sleep that is on no mount of any namespace. */
static int execute_copy(void) {
        char *const argv[] = { (char *)"sleep", (char *)"1000", NULL };
        int from = open("/bin/sleep", O_RDONLY | O_CLOEXEC);
        int to = memfd_create("copy", MFD_CLOEXEC);
        ssize_t n;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        do
                n = sendfile(to, from, NULL, 1 << 20);
        while (n > 0);
        (void)fexecve(to, argv, environ);
        _exit(1);
}

LIVE_TEST(executables) {
        Child here = { 0 }, mount = { .flags = CLONE_NEWNS };
        _cleanup_proc_ ProcHandle copy = PROC_HANDLE_NONE;
        char exe[PATH_MAX] = "";
        pid_t pid;
        int r;

        assert_true(start(&here, sysroot));
        assert_int_equal(proc_exe_is_mounted(sysroot, &here.handle), 1);
        end(&here);
        if (start(&mount, sysroot)) /* its executable still is on a mount of the host's */
                assert_int_equal(proc_exe_is_mounted(sysroot, &mount.handle), 1);
        end(&mount);
        pid = child_fork();
        if (pid == 0)
                _exit(execute_copy());
        do /* -EBUSY: the exec is under way, here and below */
                r = proc_exe_read(sysroot, pid, exe, sizeof(exe));
        while (r == -EBUSY || (r >= 0 && strncmp(exe, "/memfd:", 7) != 0));
        do
                r = proc_open(sysroot, pid, &copy);
        while (r == -EBUSY);
        assert_int_equal(r, 0);
        do
                r = proc_exe_is_mounted(sysroot, &copy);
        while (r == -EBUSY);
        assert_int_equal(r, 0);
        child_end(pid);
        assert_int_equal(proc_exe_is_mounted(sysroot, &copy), -ESRCH);
}

LIVE_TEST(memory) {
        _cleanup_free_ char *stack = malloc(STACK_BYTES);
        Child apart = { 0 }, together = { 0 };
        int shared;
        char byte;

        assert_non_null(stack);
        assert_true(start(&apart, sysroot));
        shared = proc_shares_memory(&apart.handle, getpid());
        if (shared < 0) {
                end(&apart);
                skip_because("kcmp(2): %s", strerror(-shared));
        }
        assert_int_equal(shared, 0);
        assert_int_equal(proc_shares_memory(&apart.handle, 0), 0);
        end(&apart);
        /* As vfork(2) does, without the stop of the parent that would stop this test. */
        assert_int_equal(pipe(together.ready), 0);
        together.pid = clone(run_child, stack + STACK_BYTES, CLONE_VM | SIGCHLD, &together);
        assert_true(together.pid > 0);
        assert_int_equal(read(together.ready[0], &byte, 1), 1);
        assert_int_equal(proc_open(sysroot, together.pid, &together.handle), 0);
        assert_int_equal(proc_shares_memory(&together.handle, getpid()), 1);
        end(&together);
}

LIVE_TEST(gone) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Child c = { 0 };

        assert_true(start(&c, sysroot));
        handle = c.handle;
        c.handle = PROC_HANDLE_NONE;
        end(&c);
        assert_int_equal(proc_in_host_namespace(sysroot, &handle, PROC_NAMESPACE_PID), -ESRCH);
        assert_int_equal(proc_has_host_root(&handle), -ESRCH);
        assert_true(proc_shares_memory(&handle, getpid()) < 0);
}

FAKE_TEST(dump) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        fake_process(tree, 50, 1, "/x", "/", "0-1");
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        assert_int_equal(proc_in_host_namespace(&tree->sysroot, &handle, PROC_NAMESPACE_PID), 1);
        assert_int_equal(proc_has_host_root(&handle), 1);
        assert_int_equal(proc_shares_memory(&handle, 1), 0);
}
