/* Groups of software events of this very thread: the kernel counts them on any machine. */
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../../support/test.h"

#include "tidbnumad/sys/perf-event.h"

enum { PAGES = 200 };

static const PerfCode faults = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS };
static const PerfCode minor = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN };
/* No processor that we run on lets the kernel emulate anything. Faults that read a file will not
 * do: a machine short of memory has them at any time. */
static const PerfCode emulated = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS };

static void open_or_skip(const PerfCode *codes, size_t n_codes, PerfGroup *ret) {
        int r = perf_group_open(0, codes, n_codes, ret);

        if (r == -EACCES || r == -EOPNOTSUPP)
                skip_because("perf_event_open() is refused here: %d", r);
        assert_int_equal(r, 0);
}

/* One fault a page, because madvise() forbids larger ones. */
static void fault(void) {
        const size_t size = (size_t)PAGES * (size_t)sysconf(_SC_PAGESIZE);
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        assert_ptr_not_equal(memory, MAP_FAILED);
        (void)madvise(memory, size, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < size; i += (size_t)sysconf(_SC_PAGESIZE))
                ((volatile char *)memory)[i] = 1;
        assert_int_equal(munmap(memory, size), 0);
}

TEST(counts) {
        PerfReading before, after;
        PerfGroup group;

        open_or_skip((const PerfCode[]){ minor, emulated }, 2, &group);
        assert_int_equal(perf_group_read(&group, &before), 0);
        fault();
        assert_int_equal(perf_group_read(&group, &after), 0);
        assert_true(after.values[0] - before.values[0] >= PAGES);
        assert_true(after.values[0] - before.values[0] < PAGES + 200);
        assert_int_equal(after.values[1], before.values[1]);
        assert_true(after.enabled_nsec > before.enabled_nsec);
        assert_int_equal(after.enabled_nsec, after.running_nsec);
        perf_group_close(&group);
        assert_int_equal(group.n_fds, 0);
        assert_int_equal(perf_group_read(&group, &after), -EBADF);
}

TEST(one_alone) {
        PerfReading reading;
        PerfGroup group;

        open_or_skip(&faults, 1, &group);
        fault();
        assert_int_equal(perf_group_read(&group, &reading), 0);
        assert_true(reading.values[0] >= PAGES);
        assert_int_equal(reading.values[1], 0);
        perf_group_close(&group);
}

TEST(refused) {
        const PerfCode unknown = { PERF_TYPE_SOFTWARE, 9999 }, no_pmu = { 123456, 0 };
        PerfGroup group = { .n_fds = 77 };

        open_or_skip(&faults, 1, &group);
        perf_group_close(&group);
        group.n_fds = 77;
        assert_int_equal(perf_group_open(0, &faults, 0, &group), -EINVAL);
        assert_int_equal(perf_group_open(0, &faults, PERF_GROUP_MAX + 1, &group), -EINVAL);
        assert_int_equal(perf_group_open(0x3fffffff, &faults, 1, &group), -ESRCH);
        assert_int_equal(perf_group_open(0, &unknown, 1, &group), -EOPNOTSUPP);
        assert_int_equal(perf_group_open(0, &no_pmu, 1, &group), -EOPNOTSUPP);
        assert_int_equal(perf_group_open(0, (const PerfCode[]){ faults, no_pmu }, 2, &group),
                         -EOPNOTSUPP);
        assert_int_equal(group.n_fds, 77);
}

/* The second of a group finds no descriptor: the first one is given back. */
TEST(no_descriptor) {
        struct rlimit limit, narrow;
        PerfGroup group;
        int next, r;

        open_or_skip(&faults, 1, &group);
        perf_group_close(&group);
        next = dup(0);
        assert_true(next >= 0);
        assert_int_equal(close(next), 0);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        narrow = limit;
        narrow.rlim_cur = (rlim_t)next + 1;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &narrow), 0);
        r = perf_group_open(0, (const PerfCode[]){ minor, emulated }, 2, &group);
        assert_int_equal(perf_descriptors_max(), ((size_t)next + 1) / 2);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(r, -EMFILE);
        assert_int_equal(dup(0), next);
        assert_int_equal(close(next), 0);
}

TEST(scale) {
        assert_int_equal(perf_scale(1000, 10, 10), 1000);
        assert_int_equal(perf_scale(1000, 10, 5), 2000);
        assert_int_equal(perf_scale(1000, 3, 2), 1500);
        assert_int_equal(perf_scale(1, 5, 3), 2); /* rounded */
        assert_int_equal(perf_scale(1, 4, 3), 1);
        assert_int_equal(perf_scale(1000, 10, 0), 0); /* it never ran: nothing is known */
        assert_int_equal(perf_scale(1000, 0, 0), 0);
        assert_int_equal(perf_scale(1000, 9, 10), 1000); /* never less than was seen */
        /* An hour of nanoseconds times a count, beyond 64 bits on the way. */
        assert_int_equal(
                perf_scale(UINT64_C(1) << 40, UINT64_C(3600000000000), UINT64_C(1800000000000)),
                UINT64_C(1) << 41);
        assert_int_equal(perf_scale(UINT64_MAX, 10, 1), UINT64_MAX);
}
