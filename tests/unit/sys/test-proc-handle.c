/* Handles of processes that live, end, wait as zombies, and whose number is given to another. */
#include <pthread.h>
#include <sched.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "tidbnumad/sys/proc.h"

static unsigned n_lies; /* so many times the kernel denies a process that is there */

int __real_openat64(int fd, const char *path, int flags, mode_t mode);
int __wrap_openat64(int fd, const char *path, int flags, mode_t mode);

int __wrap_openat64(int fd, const char *path, int flags, mode_t mode) {
        if (n_lies > 0) {
                n_lies--;
                errno = ENOENT;
                return -1;
        }
        return __real_openat64(fd, path, flags, mode);
}

#define NR_PIDFD_OPEN 434 /* as in src/sys/proc.c */

static unsigned n_refusals; /* so many calls of pidfd_open(2) are not permitted */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Nothing here has more than three arguments. */
long __wrap_syscall(long number, ...) {
        va_list args;
        long a, b, c;

        va_start(args, number);
        a = va_arg(args, long);
        b = va_arg(args, long);
        c = va_arg(args, long);
        va_end(args);
        if (number == NR_PIDFD_OPEN && n_refusals > 0) {
                n_refusals--;
                errno = EPERM;
                return -1;
        }
        return __real_syscall(number, a, b, c);
}

static void open_live(Sysroot *sysroot, pid_t pid, ProcHandle *handle) {
        assert_int_equal(sysroot_open(NULL, sysroot), 0);
        assert_int_equal(proc_open(sysroot, pid, handle), 0);
        assert_int_equal(handle->pid, pid);
        assert_true(handle->dir_fd >= 0 && handle->live);
        assert_int_equal(handle->pidfd >= 0, proc_has_pidfds());
}

TEST(life_of_a_child) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        ProcHandle again = { .pid = 7 };
        pid_t pid = child_start();
        ProcStatus status;
        ProcStat stat;
        char *cgroup;

        open_live(&sysroot, pid, &handle);
        assert_true(proc_is_alive(&handle));
        assert_int_equal(proc_stat_read(&handle, 0, &stat), 0);
        assert_int_equal(stat.parent, getpid());
        assert_int_equal(stat.start_ticks, handle.start_ticks);
        assert_int_equal(proc_status_read(&handle, 0, &status), 0);
        assert_int_equal(status.uid, geteuid());
        child_make_zombie(pid);
        assert_false(proc_is_alive(&handle)); /* though it is in /proc still */
        assert_int_equal(proc_stat_read(&handle, 0, &stat), 0);
        assert_int_equal(stat.state, 'Z');
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_false(proc_is_alive(&handle));
        assert_int_equal(proc_stat_read(&handle, 0, &stat), -ESRCH);
        assert_int_equal(proc_status_read(&handle, 0, &status), -ESRCH);
        assert_int_equal(proc_cgroup_read(&handle, &cgroup), -ESRCH);
        assert_int_equal(proc_open(&sysroot, pid, &again), -ESRCH);
        assert_int_equal(again.pid, 7);
}

/* What stat says of the CPU is what the scheduler does. */
TEST(last_cpu) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        cpu_set_t before, one;
        ProcStat stat;

        open_live(&sysroot, getpid(), &handle);
        assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
                ProcStatus status;

                if (!CPU_ISSET(cpu, &before))
                        continue;
                CPU_ZERO(&one);
                CPU_SET(cpu, &one);
                assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
                assert_int_equal(proc_stat_read(&handle, 0, &stat), 0);
                assert_int_equal(stat.last_cpu, cpu);
                assert_int_equal(proc_status_read(&handle, getpid(), &status), 0);
                assert_int_equal(id_set_next(&status.cpus_allowed, 0), cpu);
                assert_int_equal(id_set_count(&status.cpus_allowed), 1);
        }
        assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void *outlive(void *unused) {
        (void)unused;
        (void)pause();
        return NULL;
}

/* Its first thread ends, another goes on: the process lives, though stat shows a zombie. */
TEST(a_process_without_its_first_thread) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        pid_t pid = child_fork();
        ProcStat stat = { 0 };
        pthread_t thread;

        if (pid == 0) {
                if (pthread_create(&thread, NULL, outlive, NULL) == 0)
                        pthread_exit(NULL);
                _exit(1);
        }
        open_live(&sysroot, pid, &handle);
        while (stat.state != 'Z')
                assert_int_equal(proc_stat_read(&handle, 0, &stat), 0);
        assert_true(proc_is_alive(&handle));
        child_make_zombie(pid);
        assert_false(proc_is_alive(&handle));
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_false(proc_is_alive(&handle));
}

static bool give_pid_again(pid_t pid) {
        _cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "we");

        return file && fprintf(file, "%d", pid - 1) > 0 && fflush(file) == 0;
}

TEST(number_given_to_another) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle first = PROC_HANDLE_NONE, second = PROC_HANDLE_NONE;
        pid_t pid = child_start(), other = 0;
        bool given = true;
        ProcStat stat;

        open_live(&sysroot, pid, &first);
        (void)usleep(30000); /* a start time has a resolution of 10 ms */
        child_make_zombie(pid);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        for (int i = 0; i < 50 && given && other != pid; i++) {
                given = give_pid_again(pid);
                other = child_start();
                if (other != pid) {
                        child_make_zombie(other);
                        (void)waitpid(other, NULL, 0);
                }
        }
        if (other != pid) { /* a skip cleans up nothing */
                proc_close(&first);
                sysroot_close(&sysroot);
                skip_because(given ? "others took the pid each time"
                                   : "the next pid cannot be chosen here");
        }
        /* The old handle does not see the new process. */
        assert_false(proc_is_alive(&first));
        assert_int_equal(proc_stat_read(&first, 0, &stat), -ESRCH);
        assert_int_equal(proc_open(&sysroot, pid, &second), 0);
        assert_true(proc_is_alive(&second));
        assert_true(second.start_ticks > first.start_ticks);
        child_make_zombie(other);
        assert_int_equal(waitpid(other, NULL, 0), other);
}

/* What is in /proc has an inode number. */
static int sum(Numbers *numbers) {
        int total = 0, r;
        pid_t id;

        while ((r = numbers_next(numbers, &id)) > 0) {
                assert_true(numbers->inode > 0);
                total += id;
        }
        numbers_end(numbers);
        return r < 0 ? r : total;
}

FAKE_TEST(walks) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Numbers numbers;

        fake_mkdir(tree, "proc/1");
        fake_mkdir(tree, "proc/20");
        fake_mkdir(tree, "proc/self");
        fake_mkdir(tree, "proc/3x");
        fake_mkdir(tree, "proc/-4");
        fake_mkdir(tree, "proc/99999999999");
        fake_write(tree, "proc/uptime", "1 1");
        proc_pids(&tree->sysroot, &numbers);
        assert_int_equal(sum(&numbers), 21);
        fake_process(tree, 50, 1, "/x", "/", "0");
        fake_thread(tree, 50, 52, "0", 0);
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        proc_threads(&handle, &numbers);
        assert_int_equal(sum(&numbers), 102);
        fake_remove(tree, "proc/50/task");
        proc_threads(&handle, &numbers);
        assert_int_equal(sum(&numbers), -ESRCH);
}

FAKE_TEST(fake_process) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        ProcHandle other = { .pid = 7 };
        ProcStatus status;

        fake_process(tree, 50, 1, "/x", "/", "0-1");
        fake_thread(tree, 50, 51, "3", 0);
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        assert_int_equal(handle.start_ticks, 1050);
        assert_true(handle.pidfd < 0 &&
                    !handle.live); /* the pid is another process on this machine */
        assert_true(proc_is_alive(&handle));
        assert_int_equal(proc_status_read(&handle, 51, &status), 0);
        assert_ids(status.cpus_allowed, "3");
        assert_int_equal(proc_status_read(&handle, 52, &status), -ESRCH);
        assert_int_equal(proc_open(&tree->sysroot, 51, &other), -ESRCH);
        fake_write(tree, "proc/50/stat", "rubbish");
        assert_int_equal(proc_open(&tree->sysroot, 50, &other), -EBADMSG);
        assert_int_equal(other.pid, 7);
}

static void assert_exe(const FakeTree *tree, const char *target, const char *expected) {
        char exe[64];

        fake_link(tree, "proc/5/exe", target);
        assert_int_equal(proc_exe_read(&tree->sysroot, 5, exe, sizeof(exe)), 0);
        assert_string_equal(exe, expected);
}

FAKE_TEST(exe) {
        char exe[64] = "untouched";

        assert_exe(tree, "/srv/tikv-server", "/srv/tikv-server");
        assert_exe(tree, "/srv/tikv-server (deleted)", "/srv/tikv-server");
        assert_exe(tree, "/srv/x (deleted) (deleted)", "/srv/x (deleted)");
        assert_exe(tree, "/srv/(deleted)", "/srv/(deleted)");
        assert_exe(tree, "/srv/x (deleted).sh", "/srv/x (deleted).sh");
        assert_exe(tree, " (deleted)", " (deleted)");
        fake_mkdir(tree, "proc/6");
        assert_int_equal(proc_exe_read(&tree->sysroot, 6, exe, sizeof(exe)), -ENOENT);
        assert_int_equal(proc_exe_read(&tree->sysroot, 7, exe, sizeof(exe)), -ENOENT);
}

static int exe_with(FakeTree *tree, const char *statm) {
        char exe[64];

        fake_write(tree, "proc/5/statm", statm);
        return proc_exe_read(&tree->sysroot, 5, exe, sizeof(exe));
}

/* A memory map with a stack and no code; of a kernel thread there is none at all. */
FAKE_TEST(a_process_in_its_exec_shows_no_executable) {
        fake_link(tree, "proc/5/exe", "/srv/tikv-server");
        tree->sysroot.live = true;
        assert_int_equal(exe_with(tree, "271 191 179 140 0 76 0\n"), 0);
        assert_int_equal(exe_with(tree, "33 2 0 0 0 33 0\n"), -EBUSY);
        assert_int_equal(exe_with(tree, "33 2 0 0"), -EBUSY);
        assert_int_equal(exe_with(tree, "33 2 0 01 0 33 0\n"), 0);
        assert_int_equal(exe_with(tree, "0 0 0 0 0 0 0\n"), 0);
        assert_int_equal(exe_with(tree, "33 2 0\n"), 0);
        assert_int_equal(exe_with(tree, ""), 0);
        tree->sysroot.live = false;
        assert_int_equal(exe_with(tree, "33 2 0 0 0 33 0\n"), 0);
}

/* What has ended is not there at all: nothing more is asked for it. */
LIVE_TEST(executable_of_what_has_ended) {
        siginfo_t info;
        char exe[64];
        pid_t pid = child_fork();

        if (pid == 0)
                _exit(0);
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        assert_int_equal(proc_exe_read(sysroot, pid, exe, sizeof(exe)), -ENOENT); /* a zombie */
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(proc_exe_read(sysroot, pid, exe, sizeof(exe)), -ESRCH);
}

LIVE_TEST(denied_once) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        n_lies = 1;
        assert_int_equal(proc_open(sysroot, getpid(), &handle), -ESRCH);
        n_lies = 1;
        assert_int_equal(proc_open_twice(sysroot, getpid(), &handle), 0);
        assert_int_equal(handle.pid, getpid());
        proc_close(&handle);
        n_lies = 2;
        assert_int_equal(proc_open_twice(sysroot, getpid(), &handle), -ESRCH);
}

/* Only where the kernel has no pidfds are ends found without them. */
TEST(a_pidfd_refused_once) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        if (!proc_has_pidfds())
                skip_because("no pidfds here");
        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        n_refusals = 1;
        assert_int_equal(proc_open(&sysroot, getpid(), &handle), -EAGAIN);
        n_refusals = 2;
        assert_int_equal(proc_open(&sysroot, getpid(), &handle), 0);
        assert_true(handle.pidfd < 0);
        assert_int_equal(n_refusals, 0);
}
