/* The sampler on huge pages, many mappings, and pages that NUMA balancing has marked. */
#include "shapes.h"

/* --- huge pages --- */

/* As much in huge pages as in small ones: a huge page counts as what it is made of. */
static void touch_both(void) {
        memset(fake.held.start, 1, fake.held.size);
        if (fake.away.size > 0)
                memset(fake.away.start, 1, fake.away.size);
}

TEST(transparent_huge_pages, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        uint64_t huge_kib, truth;
        pid_t pid;

        fake.held = reserve(MIB(48), MADV_NOHUGEPAGE);
        fake.away = reserve(MIB(48), MADV_HUGEPAGE);
        pid = start(touch_both, &handle);
        huge_kib = kib_of(pid, "smaps", "AnonHugePages:");
        truth = anon_pages(pid);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        child_end(pid);
        if (huge_kib < 40 * 1024)
                skip_because("%" PRIu64 " KiB of huge pages were to be had", huge_kib);
        assert_true(draws.n_anon >= SAMPLER_PAGES);
        assert_share(&draws, MIB(48) / 4096.0 / (double)truth);
}

/* Mapped by the child: those that a mapping has reserved are not for a fork. */
static void touch_reserved(void) {
        (void)mmap(fake.away.start, fake.away.size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB, -1, 0);
        touch_both();
}

static bool has_reserved(uint64_t size) {
        void *there = mmap(NULL, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

        return there != MAP_FAILED && munmap(there, size) == 0;
}

/* Pages of hugetlbfs, which no counter of resident memory has. */
TEST(reserved_huge_pages, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        NodeMemory by_node[2] = { 0 };
        ProcMemory memory;
        uint64_t truth;
        pid_t pid;

        if (!has_reserved(MIB(32)))
                skip_because("no reserved huge pages here: vm.nr_hugepages");
        fake.away = reserve(MIB(32), MADV_NOHUGEPAGE);
        fake.held = reserve(MIB(96), MADV_NOHUGEPAGE);
        pid = start(touch_reserved, &handle);
        assert_int_equal(kib_of(pid, "status", "HugetlbPages:"), 32 * 1024);
        truth = kib_of(pid, "status", "RssAnon:") / 4 + MIB(32) / 4096;
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        assert_int_equal(proc_memory_read(&handle, &memory), 0);
        child_end(pid);
        assert_share(&draws, MIB(32) / 4096.0 / (double)truth);
        sampler_add_bytes(&topology, &draws, &memory, by_node);
        assert_true(by_node[1].anon_bytes > MIB(28) && by_node[1].anon_bytes < MIB(36));
}

static void touch_nothing(void) {}

/* One page of 1 GiB, which is there as a whole: the kernel of this host need not have any. */
TEST(one_gib_page, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid;
        uint64_t others;

        fake.away = reserve(GIB(1), MADV_NOHUGEPAGE);
        fake.whole_page = true;
        pid = start(touch_nothing, &handle);
        others = anon_pages(pid);
        fake.scan_error = ENOTTY; /* it would tell that the page is not there */
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        if (kib_of(pid, "status", "VmSize:") < GIB(1)) { /* else sanitized: one address in 20,000 */
                assert_true(draws.n_anon >= SAMPLER_PAGES);
                assert_true(draws.n_asked < 4 * SAMPLER_PAGES);
        }
        child_end(pid);
        if (draws.n_anon > 0)
                assert_share(&draws, 262144.0 / (262144.0 + (double)others));
}

/* --- many mappings --- */

enum { MANY = 50000 };

/* Every second page of another protection: as many mappings. */
static void split_pages(void) {
        memset(fake.held.start, 1, fake.held.size);
        for (size_t i = 0; i < MANY; i += 2)
                (void)mprotect(fake.held.start + i * 4096, 4096, PROT_READ);
}

TEST(many_mappings, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        uint64_t limit = 0, truth;
        _cleanup_fclose_ FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
        pid_t pid;

        if (!file || fscanf(file, "%" SCNu64, &limit) != 1 || limit < MANY + 1000)
                skip_because("vm.max_map_count is %" PRIu64, limit);
        fake.held = reserve((uint64_t)MANY * 4096, MADV_NOHUGEPAGE);
        fake.away = (Area){ fake.held.start + fake.held.size / 2, fake.held.size / 2 };
        pid = start(split_pages, &handle);
        truth = anon_pages(pid);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        child_end(pid);
        assert_true(draws.n_anon >= SAMPLER_PAGES);
        assert_share(&draws, MANY / 2.0 / (double)truth);
}

/* --- pages that NUMA balancing has marked --- */

/* They are there, and tell no node: an eighth of all, with what each draw met made up to all. */
TEST(marked, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        NodeSet home = { 0 };
        double seen, hidden;
        Estimate e;
        pid_t pid;

        fake.held = reserve(MIB(128), MADV_NOHUGEPAGE);
        fake.marked = (Area){ fake.held.start, MIB(16) };
        pid = start(touch_both, &handle);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        child_end(pid);
        seen = (double)draws.n_anon;
        hidden = (double)draws.n_hidden / (seen + (double)draws.n_hidden);
        assert_true(hidden > 0.125 * 0.8 && hidden < 0.125 * 1.2);
        id_set_add(&home, HOME);
        e = sampler_outside(&topology, &draws, &home);
        assert_true(e.ratio == 0 && fabs(e.unknown - hidden) < 1e-9);
}
