/* The sampler on address spaces of every shape. Their pages are this host's, and which are there
 * the kernel tells; the node of each is the test's, so that a host with one node has shares to
 * find. */
#include <errno.h>
#include <math.h>
#include <sys/ioctl.h>

#include "holder.h"
#include "tidbnumad/sample/sampler.h"
#include "tidbnumad/sys/pages.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

/* What children hold lies on HOME, but for two areas. */
enum { HOME = 0, AWAY = 5 };

static Node nodes[] = { { .id = HOME }, { .id = AWAY } };
static const Topology topology = { .nodes = nodes, .n_nodes = 2 };

typedef struct Area {
        char *start;
        uint64_t size;
} Area;

static struct {
        Area held, away, marked; /* mapped by this process, for children to touch */
        bool whole_page;         /* all of `away` is one page that is there */
        int scan_error;          /* of PAGEMAP_SCAN; 0: the kernel's own answer */
        bool scan_crawls;        /* it finds nothing, a page a time */
        unsigned n_scans;
} fake;

static bool is_in(const Area *area, const void *address) {
        const char *at = address;

        return area->size > 0 && at >= area->start && at < area->start + area->size;
}

int __real_pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes);
int __wrap_pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes);
int __wrap_pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes) {
        int r = __real_pages_query(pid, n_pages, addresses, ret_nodes);

        for (size_t i = 0; i < n_pages; i++) {
                if (fake.whole_page && is_in(&fake.away, addresses[i]))
                        ret_nodes[i] = AWAY;
                else if (ret_nodes[i] >= 0)
                        ret_nodes[i] = is_in(&fake.marked, addresses[i]) ? -ENOENT
                                       : is_in(&fake.away, addresses[i]) ? AWAY
                                                                         : HOME;
        }
        return r;
}

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument) {
        if (_IOC_TYPE(request) != 'f' || _IOC_NR(request) != 16)
                return __real_ioctl(fd, request, argument);
        fake.n_scans++;
        if (fake.scan_crawls) {
                uint64_t *words = argument; /* see ScanArgument: 2 is the start, 4 where it ended */

                words[4] = words[2] + KIB(4);
                return 0;
        }
        if (fake.scan_error == 0)
                return __real_ioctl(fd, request, argument);
        errno = fake.scan_error;
        return -1;
}

static int begin(void **state) {
        (void)state;
        memset(&fake, 0, sizeof(fake));
        return 0;
}

/* Begins where a huge page may. */
static Area reserve(uint64_t size, int advice) {
        char *start = map(size + MIB(2), MAP_PRIVATE);

        start += (MIB(2) - (uintptr_t)start % MIB(2)) % MIB(2);
        (void)madvise(start, size, advice);
        return (Area){ .start = start, .size = size };
}

static int unmap(void **state) {
        const Area *const areas[] = { &fake.held, &fake.away, &fake.marked };

        (void)state;
        for (size_t i = 0; i < 3; i++)
                if (areas[i]->size > 0)
                        (void)munmap(areas[i]->start, areas[i]->size);
        return 0;
}

/* A number of the second column. */
static uint64_t kib_of(pid_t pid, const char *file, const char *key) {
        _cleanup_fclose_ FILE *f = NULL;
        char path[64], line[4096];
        uint64_t all = 0;

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
        f = fopen(path, "re");
        while (f && fgets(line, sizeof(line), f))
                if (strncmp(line, key, strlen(key)) == 0)
                        all += strtoull(line + strlen(key), NULL, 10);
        return all;
}

/* The ratio against what is known to be away, in three half-widths: one run in ten million fails.
 */
static void assert_share(const Draws *draws, double truth) {
        NodeSet home = { 0 };
        Estimate e;

        id_set_add(&home, HOME);
        e = sampler_outside(&topology, draws, &home);
        if (!(fabs(e.ratio - truth) <= 3 * estimate_halfwidth(&e)))
                fail_msg("%.4f of what was drawn is away, +-%.4f; expected %.4f", e.ratio,
                         estimate_halfwidth(&e), truth);
}

/* --- a Go program: 100 GiB that may be written, 200 MiB of them used, in pieces of 1 MiB --- */

enum { PIECES = 200 };

static void touch_pieces(void) {
        for (unsigned i = 0; i < PIECES; i++)
                memset(fake.held.start + i * (fake.held.size / PIECES / KIB(4) * KIB(4)), 1,
                       MIB(1));
}

static pid_t start_sparse(ProcHandle *handle) {
        fake.held = reserve(GIB(100), MADV_NOHUGEPAGE);
        fake.away = (Area){ fake.held.start, fake.held.size / 4 };
        return start(touch_pieces, handle);
}

static void test_sparse(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid = start_sparse(&handle);
        const uint64_t truth = anon_pages(pid);

        (void)state;
        assert_true(truth >= PIECES * 256);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        end(pid);
        if (fake.n_scans == 1) {
                print_message("a kernel without PAGEMAP_SCAN\n");
                skip();
        }
        assert_true(draws.n_anon >= SAMPLER_PAGES);
        assert_true(draws.n_asked < 4 * SAMPLER_PAGES);
        assert_share(&draws, PIECES * 256 / 4.0 / (double)truth);
}

/* Before 6.7, or where a container's filter forbids it: fewer pages, a wider interval, and an end.
 */
static void check_without_scan(int error) {
        const NodeSet none = { 0 };
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid = start_sparse(&handle);
        const bool sanitized =
                kib_of(pid, "status", "VmSize:") > GIB(1); /* 1 TiB: it reserves 20 */
        Estimate e;

        fake.scan_error = error;
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        end(pid);
        assert_int_equal(fake.n_scans, 1);
        assert_true(draws.n_asked <= SAMPLER_DRAWS_MAX + 2 * 1024 + SAMPLER_WHOLE_PAGES);
        assert_true(draws.n_anon < SAMPLER_PAGES);
        if (sanitized)
                return;
        assert_true(draws.n_anon >= 20); /* one in 512 of 32,768 */
        e = sampler_outside(&topology, &draws, &none);
        assert_true(estimate_halfwidth(&e) > 0.015);
}

static void test_sparse_without_scan(void **state) {
        (void)state;
        check_without_scan(ENOTTY);
}

static void test_sparse_with_another_scan(void **state) {
        (void)state;
        check_without_scan(EINVAL);
}

/* It is looked for with larger steps where there is nothing: 256 MiB would be 131,072 of them. */
static void test_vast(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid;

        (void)state;
        fake.held = reserve(GIB(1) << 15, MADV_NOHUGEPAGE);
        pid = start(touch_pieces, &handle);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        end(pid);
        if (fake.n_scans == 1) {
                print_message("a kernel without PAGEMAP_SCAN\n");
                skip();
        }
        assert_true(draws.n_anon >= SAMPLER_PAGES);
        assert_true(fake.n_scans < 40000);
}

/* To look for it takes for ever: given up, and drawn from all. */
static void test_looked_for_too_long(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid = start_sparse(&handle);

        (void)state;
        fake.scan_crawls = true;
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        end(pid);
        assert_true(fake.n_scans > 1 && fake.n_scans < GIB(100) / KIB(4) / 10);
        assert_false(draws.whole);
        assert_true(draws.n_asked > SAMPLER_DRAWS_MAX);
}

/* --- huge pages --- */

/* As much in huge pages as in small ones: a huge page counts as what it is made of. */
static void touch_both(void) {
        memset(fake.held.start, 1, fake.held.size);
        if (fake.away.size > 0)
                memset(fake.away.start, 1, fake.away.size);
}

static void test_transparent_huge_pages(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        uint64_t huge_kib, truth;
        pid_t pid;

        (void)state;
        fake.held = reserve(MIB(48), MADV_NOHUGEPAGE);
        fake.away = reserve(MIB(48), MADV_HUGEPAGE);
        pid = start(touch_both, &handle);
        huge_kib = kib_of(pid, "smaps", "AnonHugePages:");
        truth = anon_pages(pid);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        end(pid);
        if (huge_kib < 40 * 1024) {
                print_message("%" PRIu64 " KiB of huge pages were to be had\n", huge_kib);
                skip();
        }
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
static void test_reserved_huge_pages(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        NodeMemory by_node[2] = { 0 };
        ProcMemory memory;
        uint64_t truth;
        pid_t pid;

        (void)state;
        if (!has_reserved(MIB(32))) {
                print_message("no reserved huge pages here: vm.nr_hugepages\n");
                skip();
        }
        fake.away = reserve(MIB(32), MADV_NOHUGEPAGE);
        fake.held = reserve(MIB(96), MADV_NOHUGEPAGE);
        pid = start(touch_reserved, &handle);
        assert_int_equal(kib_of(pid, "status", "HugetlbPages:"), 32 * 1024);
        truth = kib_of(pid, "status", "RssAnon:") / 4 + MIB(32) / 4096;
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        assert_int_equal(proc_memory_read(&handle, &memory), 0);
        end(pid);
        assert_share(&draws, MIB(32) / 4096.0 / (double)truth);
        sampler_add_bytes(&topology, &draws, &memory, by_node);
        assert_true(by_node[1].anon_bytes > MIB(28) && by_node[1].anon_bytes < MIB(36));
}

static void touch_nothing(void) {}

/* One page of 1 GiB, which is there as a whole: the kernel of this host need not have any. */
static void test_one_gib_page(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid;
        uint64_t others;

        (void)state;
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
        end(pid);
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

static void test_many_mappings(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        uint64_t limit = 0, truth;
        _cleanup_fclose_ FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
        pid_t pid;

        (void)state;
        if (!file || fscanf(file, "%" SCNu64, &limit) != 1 || limit < MANY + 1000) {
                print_message("vm.max_map_count is %" PRIu64 "\n", limit);
                skip();
        }
        fake.held = reserve((uint64_t)MANY * 4096, MADV_NOHUGEPAGE);
        fake.away = (Area){ fake.held.start + fake.held.size / 2, fake.held.size / 2 };
        pid = start(split_pages, &handle);
        truth = anon_pages(pid);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        end(pid);
        assert_true(draws.n_anon >= SAMPLER_PAGES);
        assert_share(&draws, MANY / 2.0 / (double)truth);
}

/* --- pages that NUMA balancing has marked --- */

/* They are there, and tell no node: an eighth of all, with what each draw met made up to all. */
static void test_marked(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        NodeSet home = { 0 };
        double seen, hidden;
        Estimate e;
        pid_t pid;

        (void)state;
        fake.held = reserve(MIB(128), MADV_NOHUGEPAGE);
        fake.marked = (Area){ fake.held.start, MIB(16) };
        pid = start(touch_both, &handle);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        end(pid);
        seen = (double)draws.n_anon;
        hidden = (double)draws.n_hidden / (seen + (double)draws.n_hidden);
        assert_true(hidden > 0.125 * 0.8 && hidden < 0.125 * 1.2);
        id_set_add(&home, HOME);
        e = sampler_outside(&topology, &draws, &home);
        assert_true(e.ratio == 0 && fabs(e.unknown - hidden) < 1e-9);
}

#define SHAPE(test) cmocka_unit_test_setup_teardown(test, begin, unmap)

int main(void) {
        const struct CMUnitTest tests[] = {
                SHAPE(test_sparse),
                SHAPE(test_sparse_without_scan),
                SHAPE(test_sparse_with_another_scan),
                SHAPE(test_vast),
                SHAPE(test_looked_for_too_long),
                SHAPE(test_transparent_huge_pages),
                SHAPE(test_reserved_huge_pages),
                SHAPE(test_one_gib_page),
                SHAPE(test_many_mappings),
                SHAPE(test_marked),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
