/* Mounts: lines as kernels write them, and which mount a path is on. */
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "tidbnumad/sys/namespace.h"

TEST(line) {
        _cleanup_mount_table_ MountTable t = { 0 };

        assert_int_equal(mountinfo_parse("36 35 98:17 /mnt1 /mnt\\0402\\134x rw,noatime master:1 "
                                         "shared:7 - ext3 /dev/my\\011root rw,errors=continue\n"
                                         "37 36 0:45 / /empty rw - fuse.sshfs  rw\n",
                                         &t),
                         0);
        assert_int_equal(t.n_mounts, 2);
        assert_int_equal(t.mounts[0].id, 36);
        assert_int_equal(t.mounts[0].parent, 35);
        assert_int_equal(t.mounts[0].major, 98);
        assert_int_equal(t.mounts[0].minor, 17);
        assert_string_equal(t.mounts[0].point, "/mnt 2\\x");
        assert_string_equal(t.mounts[0].type, "ext3");
        assert_string_equal(t.mounts[0].source, "/dev/my\troot");
        assert_string_equal(t.mounts[1].source, "");
        assert_string_equal(t.mounts[1].type, "fuse.sshfs");
        assert_ptr_equal(mount_table_find_id(&t, 37), &t.mounts[1]);
        assert_null(mount_table_find_id(&t, 35));
}

TEST(what_is_no_mountinfo) {
        static const char *const broken[] = {
                "x\n",
                "36 35 98:0 /mnt1 /mnt2 rw ext3 /dev/root rw\n", /* no hyphen */
                "36 35 98:0 /mnt1 /mnt2 rw - ext3\n",
                "36 35 98:0 /mnt1 /mnt2 rw - ext3 /dev/root\n",
                "36 35 98 /mnt1 /mnt2 rw - ext3 /dev/root rw\n",
                "36 35 98:x /mnt1 /mnt2 rw - ext3 /dev/root rw\n",
                "36 35 4294967296:0 /mnt1 /mnt2 rw - ext3 /dev/root rw\n",
                "36 35 98:0 /mnt1 mnt2 rw - ext3 /dev/root rw\n",
                "a 35 98:0 /mnt1 /mnt2 rw - ext3 /dev/root rw\n",
                "36 35 98:0 / / rw - ext3 /dev/root rw\n\n37 36 0:1 / /a rw - tmpfs a rw\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(broken); i++) {
                MountTable t = { .allocated = 7 };

                assert_int_equal(mountinfo_parse(broken[i], &t), -EBADMSG);
                assert_int_equal(t.allocated, 7);
        }
}

TEST(unescape) {
        char text[] = "\\040\\134\\000\\400\\08\\1\\0a\\377";

        mountinfo_unescape(text);
        assert_string_equal(text, " \\\\000\\400\\08\\1\\0a\377");
}

static void assert_found(const char *text, const char *path, uint64_t id) {
        _cleanup_mount_table_ MountTable t = { 0 };
        const Mount *mount;

        assert_int_equal(mountinfo_parse(text, &t), 0);
        mount = mount_table_find(&t, path);
        if (id == 0)
                assert_null(mount);
        else {
                assert_non_null(mount);
                assert_int_equal(mount->id, id);
        }
}

TEST(deepest) {
        static const char text[] = "1 1 0:2 / / rw - rootfs rootfs rw\n"
                                   "30 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
                                   "41 40 8:4 / /data/kv rw - ext4 /dev/sda4 rw\n"
                                   "40 30 8:3 / /data rw - ext4 /dev/sda3 rw\n";

        assert_found(text, "/", 30);
        assert_found(text, "/dat", 30);
        assert_found(text, "/database", 30);
        assert_found(text, "/data", 40);
        assert_found(text, "/data/k", 40);
        assert_found(text, "/data/kv", 41);
        assert_found(text, "/data/kv/20160/db", 41);
        assert_found(text, "data", 0);
        assert_found("", "/", 0);
}

/* An automount, and what it brought. */
TEST(the_last_on_one_point) {
        static const char text[] = "30 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
                                   "40 30 0:30 / /data rw - autofs systemd-1 rw\n"
                                   "41 40 8:3 / /data rw - ext4 /dev/sda3 rw\n"
                                   "42 41 8:4 / /data rw - xfs /dev/sda4 rw\n";

        assert_found(text, "/data/x", 42);
}

/* /data/kv was mounted first, then another file system on /data. */
TEST(a_mount_that_is_hidden) {
        static const char text[] = "30 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
                                   "40 30 8:3 / /data/kv rw - ext4 /dev/sda3 rw\n"
                                   "41 30 8:4 / /data rw - ext4 /dev/sda4 rw\n";

        assert_found(text, "/data/kv", 41);
}

/* A file that was truncated, or written by hand. */
TEST(parts_and_circles) {
        assert_found("30 1 8:2 / / rw - ext4 a rw\n50 49 8:3 / /data/kv rw - ext4 b rw\n",
                     "/data/kv/x", 50);
        assert_found("40 30 8:3 / /data rw - ext4 a rw\n", "/srv", 0);
        assert_found("40 30 8:3 / /data rw - ext4 a rw\n30 1 8:3 / /srv rw - ext4 a rw\n", "/data",
                     40);
        assert_found("30 1 8:3 / / rw - ext4 a rw\n1 1 0:2 / / rw - rootfs a rw\n", "/data", 30);
        assert_found("2 3 8:3 / /a rw - ext4 a rw\n3 2 8:3 / /a rw - ext4 a rw\n", "/a", 0);
        assert_found("1 1 8:3 / / rw - ext4 a rw\n2 1 8:3 / /a rw - ext4 a rw\n"
                     "1 2 8:3 / /a rw - ext4 a rw\n",
                     "/a/b", 1);
}

/* --- namespaces, roots and address spaces of real children --- */

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
