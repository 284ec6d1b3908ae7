/* What this process costs, against what it knows of itself. */
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/self.h"
#include "tidbnumad/sys/sysroot.h"

typedef struct Cost {
        double cpu, start;
        uint64_t resident, fds;
} Cost;

static Cost read_cost(void) {
        Cost c = { .start = 0 };

        assert_int_equal(self_read(&c.cpu, &c.resident, &c.fds, &c.start), 0);
        return c;
}

TEST(self) {
        enum { SIZE = 32 << 20 };
        Cost before = read_cost(), after;
        char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        clock_t end = clock() + CLOCKS_PER_SEC / 20;

        assert_true(memory != MAP_FAILED && fd >= 0);
        memset(memory, 1, SIZE);
        while (clock() < end)
                ;
        after = read_cost();
        assert_int_equal(after.fds, before.fds + 1);
        assert_true(after.resident >= before.resident + SIZE / 2);
        assert_true(after.cpu >= before.cpu + 0.03 && after.cpu < before.cpu + 60);
        /* It began a moment ago, and that does not change. */
        assert_true(before.start <= (double)time(NULL) + 1 &&
                    before.start > (double)time(NULL) - 120);
        assert_true(after.start - before.start < 0.5 && before.start - after.start < 0.5);
        (void)munmap(memory, SIZE);
}

/* To the last digit, or it looks like a restart; but not where the clock was wrong before. */
TEST(start_stands) {
        const Cost first = read_cost();
        Cost c = first;

        for (unsigned i = 0; i < 1000; i++) {
                assert_int_equal(self_read(&c.cpu, &c.resident, &c.fds, &c.start), 0);
                assert_memory_equal(&c.start, &first.start, sizeof(c.start));
        }
        for (int set = -1; set <= 1; set += 2) {
                c.start = first.start + set * 3600;
                assert_int_equal(self_read(&c.cpu, &c.resident, &c.fds, &c.start), 0);
                assert_true(c.start - first.start < 0.5 && first.start - c.start < 0.5);
        }
}

static uint64_t locked_kib(void) {
        char text[4096], *line;
        unsigned long kib = 0;

        assert_true(path_read(AT_FDCWD, text, sizeof(text), "/proc/self/status") > 0);
        line = strstr(text, "VmLck:");
        assert_true(line && sscanf(line, "VmLck: %lu", &kib) == 1);
        return kib;
}

/* In children: a lock is for the rest of a process's life. */
static void in_child(void (*function)(void)) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                function();
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                skip_because("RLIMIT_MEMLOCK is limited here, and not ours to lift");
        assert_int_equal(status, 0);
}

static void lock_all(void) {
        struct rlimit limit;
        int r = self_lock_memory();

        (void)getrlimit(RLIMIT_MEMLOCK, &limit);
        if (r == -EPERM && limit.rlim_max != RLIM_INFINITY)
                _exit(77); /* not ours to lift */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
        _exit(r == 0 ? 0 : 1); /* which makes mlockall() do nothing */
#endif
#endif
        _exit(r == 0 && locked_kib() > 0 ? 0 : 1);
}

static void lock_with_limit(void) {
        const struct rlimit small = { 65536, 65536 };

        if (setrlimit(RLIMIT_MEMLOCK, &small) < 0 || setresuid(65534, 65534, 65534) < 0)
                _exit(77);
        if (self_lock_memory() != -EPERM || locked_kib() > 0)
                _exit(1);
        free(malloc(1 << 20)); /* goes on as before */
        _exit(0);
}

TEST(lock_memory) {
        in_child(lock_all);
}

/* Nothing is locked where it would end in the middle. */
TEST(lock_memory_with_a_limit) {
        in_child(lock_with_limit);
}

/* --- clocks --- */

/* In the unit of /proc/PID/stat: this process began before now, and not long ago. */
TEST(ticks) {
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        uint64_t now;

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, getpid(), &self), 0);
        now = clock_boottime_ticks();
        assert_true(self.start_ticks <= now);
        assert_true(now - self.start_ticks < 3600 * 100);
}
