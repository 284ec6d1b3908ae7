/* Which real processes live in a container, and which only in a chroot of their unit. */
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "tidbnumad/world/processes.h"

typedef enum Root { HERE, CHROOT, CHROOT_AT_MOUNT, PIVOT, MOVE } Root;

/* Where a process of the unit goes: into a mount namespace of its own, and then to another root. */
typedef struct Life {
        bool unshares;
        Root root;
} Life;

static bool enter(const Life *life, const char *dir) {
        if (life->unshares &&
            (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0))
                return false;
        if (life->root == PIVOT || life->root == MOVE) { /* as runc, and as runc --no-pivot */
                if (mount("tmpfs", dir, "tmpfs", 0, NULL) < 0 || chdir(dir) < 0 ||
                    mkdir("old", 0700) < 0 || mkdir("inner", 0700) < 0)
                        return false;
                if (life->root == PIVOT)
                        return syscall(SYS_pivot_root, ".", "old") == 0 && chdir("/") == 0 &&
                               umount2("/old", MNT_DETACH) == 0;
                return mount(".", "/", NULL, MS_MOVE, NULL) == 0 && chroot(".") == 0 &&
                       chdir("/") == 0;
        }
        if (life->root == CHROOT) /* of the host, or of the container that its parent is in */
                return chroot(access("/inner", F_OK) == 0 ? "/inner" : dir) == 0;
        return life->root != CHROOT_AT_MOUNT || chroot("/proc") == 0;
}

/* The unit's main process, whose parent is PID 1 as if systemd had started it, and its child. They
 * end when `alive` is closed. */
typedef struct Unit {
        pid_t pids[2];
        int alive;
} Unit;

/* Both report their number once they are where they want to be, and live until the test ends. */
static _Noreturn void live(const Life lives[2], const char *dir, int report, int alive) {
        char byte;

        for (size_t i = 0; i == 0 || fork() == 0; i++) {
                const pid_t self = getpid();

                if (!enter(&lives[i], dir) || write(report, &self, sizeof(self)) != sizeof(self))
                        _exit(1);
                if (i == 1)
                        break;
        }
        (void)close(report);
        (void)!read(alive, &byte, 1);
        _exit(0);
}

/* False: this host does not allow it, or the parent of orphans is not PID 1. */
static bool unit_start(const Sysroot *sysroot, const Life lives[2], const char *dir, Unit *ret) {
        _cleanup_proc_ ProcHandle main_process = PROC_HANDLE_NONE;
        ProcStat stat = { 0 };
        int report[2], alive[2];
        pid_t pid;
        bool up;

        assert_int_equal(pipe(report), 0);
        assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
        pid = child_fork();
        if (pid == 0) {
                (void)close(alive[1]);
                (void)close(report[0]);
                if (fork() == 0)
                        live(lives, dir, report[1], alive[0]);
                _exit(0);
        }
        (void)close(report[1]);
        (void)close(alive[0]);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        up = read(report[0], &ret->pids[0], sizeof(pid_t)) == sizeof(pid_t) &&
             read(report[0], &ret->pids[1], sizeof(pid_t)) == sizeof(pid_t);
        (void)close(report[0]);
        ret->alive = alive[1];
        if (!up)
                return false;
        assert_int_equal(proc_open_stat(sysroot, ret->pids[0], &main_process, &stat), 0);
        return stat.parent == 1;
}

static Foreign foreign_of(const Sysroot *sysroot, pid_t pid) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Process process = { .foreign = FOREIGN_ROOT };

        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        assert_int_equal(process_check_mounts(sysroot, &handle, &process), 0);
        return process.foreign;
}

LIVE_TEST(chroot_of_a_unit_is_no_container) {
        static const struct {
                const char *what;
                Life lives[2];
                Foreign foreign[2];
        } rows[] = {
                { "haproxy: the worker is in a chroot of the unit's namespace",
                  { { true, HERE }, { false, CHROOT } },
                  { FOREIGN_NONE, FOREIGN_NONE } },
                { "a server of one process, which is in the chroot itself",
                  { { true, CHROOT }, { false, HERE } },
                  { FOREIGN_NONE, FOREIGN_NONE } },
                { "the chroot is a mount point",
                  { { true, HERE }, { false, CHROOT_AT_MOUNT } },
                  { FOREIGN_NONE, FOREIGN_NONE } },
                { "a process that makes another namespace than its unit's",
                  { { true, HERE }, { true, CHROOT } },
                  { FOREIGN_NONE, FOREIGN_MOUNT } },
                { "the same of a unit without one",
                  { { false, HERE }, { true, CHROOT } },
                  { FOREIGN_NONE, FOREIGN_MOUNT } },
                { "a container that its unit starts",
                  { { false, HERE }, { true, PIVOT } },
                  { FOREIGN_NONE, FOREIGN_MOUNT } },
                { "a unit that is a container, as with RootDirectory=, and a chroot in it",
                  { { true, PIVOT }, { false, CHROOT } },
                  { FOREIGN_MOUNT, FOREIGN_MOUNT } },
                { "a container whose root was moved over the host's",
                  { { true, MOVE }, { false, CHROOT } },
                  { FOREIGN_MOUNT, FOREIGN_MOUNT } },
        };
        char dir[] = "/tmp/test-process-mounts-XXXXXX";

        assert_non_null(mkdtemp(dir));
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Unit unit;

                if (!unit_start(sysroot, rows[i].lives, dir, &unit)) {
                        (void)close(unit.alive);
                        (void)rmdir(dir);
                        skip_because("no such processes can be made here");
                }
                for (size_t k = 0; k < 2; k++)
                        if (foreign_of(sysroot, unit.pids[k]) != rows[i].foreign[k])
                                fail_msg("%s: process %zu", rows[i].what, k);
                (void)close(unit.alive);
        }
        (void)rmdir(dir);
}

/* The unit's main process ends while its namespace is read: a process that has the host's root
 * above its own is not taken for one of the unit. */
FAKE_TEST(unit_that_ends_meanwhile_vouches_for_nothing) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Process process = { .foreign = FOREIGN_ROOT };
        const pid_t child = child_start();
        const int unit = getpid();

        tree->sysroot.live = true;
        fake_process(tree, unit, 1, "/srv/a", "/", "0");
        fake_process(tree, child, unit, "/srv/a", "/", "0");
        fake_write(tree, fmt("proc/%d/ns/mnt", child), "");
        fake_link(tree, fmt("proc/%d/root", child), "/");
        assert_int_equal(proc_open(&tree->sysroot, child, &handle), 0);
        assert_int_equal(process_check_mounts(&tree->sysroot, &handle, &process), -ESRCH);
        assert_int_equal(process.foreign, FOREIGN_ROOT);
        child_end(child);
}

/* --- the executable of a process in a chroot --- */

static const char in_chroot[] = "TEST_PROCESS_MOUNTS_CHROOT";

/* Runs in this program after its second exec: by then it is on a mount of the new namespace. Its
 * input ends when the test does. */
static __attribute__((constructor)) void wait_in_chroot(void) {
        const char *dir = getenv(in_chroot);
        char byte;

        if (!dir)
                return;
        if (chroot(dir) < 0 || write(STDOUT_FILENO, "x", 1) != 1)
                _exit(1);
        (void)!read(STDIN_FILENO, &byte, 1);
        _exit(0);
}

static int copy_of_self(void) {
        int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        int to = memfd_create("copy", MFD_CLOEXEC);

        while (sendfile(to, from, NULL, 1 << 20) > 0)
                ;
        return to;
}

static void assert_executable_in_chroot(const Sysroot *sysroot, bool copied, Foreign foreign) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Process process = { .foreign = FOREIGN_NONE };
        int report[2], alive[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe2(report, O_CLOEXEC), 0);
        assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
        pid = child_fork();
        if (pid == 0) {
                static const Life life = { .unshares = true };
                char *const argv[] = { (char *)"x", NULL };
                char self[PATH_MAX] = ""; /* the link itself leads to the host's mount */

                if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !enter(&life, "/") ||
                    setenv(in_chroot, "/usr", 1) < 0 || dup2(alive[0], STDIN_FILENO) < 0 ||
                    dup2(report[1], STDOUT_FILENO) < 0)
                        _exit(1);
                (void)(copied ? fexecve(copy_of_self(), argv, environ) : execv(self, argv));
                _exit(1);
        }
        (void)close(report[1]);
        (void)close(alive[0]);
        if (read(report[0], &byte, 1) != 1)
                skip_because("no mount namespace can be made here");
        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        assert_int_equal(process_check_mounts(sysroot, &handle, &process), 0);
        assert_int_equal(process.foreign, foreign);
        (void)close(report[0]);
        (void)close(alive[1]);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

LIVE_TEST(executable_in_a_chroot) {
        assert_executable_in_chroot(sysroot, false, FOREIGN_NONE);
        assert_executable_in_chroot(sysroot, true, FOREIGN_MOUNT);
}
