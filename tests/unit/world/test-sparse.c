/* The sampler on an address space of which little is used, with and without PAGEMAP_SCAN. */
#include "shapes.h"

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

TEST(sparse, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid = start_sparse(&handle);
        const uint64_t truth = anon_pages(pid);

        assert_true(truth >= PIECES * 256);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        child_end(pid);
        if (fake.n_scans == 1)
                skip_because("a kernel without PAGEMAP_SCAN");
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
        child_end(pid);
        assert_int_equal(fake.n_scans, 1);
        assert_true(draws.n_asked <= SAMPLER_DRAWS_MAX + 2 * 1024 + SAMPLER_WHOLE_PAGES);
        assert_true(draws.n_anon < SAMPLER_PAGES);
        if (sanitized)
                return;
        assert_true(draws.n_anon >= 20); /* one in 512 of 32,768 */
        e = sampler_outside(&topology, &draws, &none);
        assert_true(estimate_halfwidth(&e) > 0.015);
}

TEST(sparse_without_scan, .setup_func = begin, .teardown_func = unmap) {
        check_without_scan(ENOTTY);
}

TEST(sparse_with_another_scan, .setup_func = begin, .teardown_func = unmap) {
        check_without_scan(EINVAL);
}

#ifndef __has_feature /* gcc 13 and older */
#define __has_feature(x) 0
#endif
enum { SANITIZED = __has_feature(address_sanitizer) };

/* It is looked for with larger steps where there is nothing: 256 MiB would be 131,072 of them. */
TEST(vast, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid;

        fake.held = reserve(GIB(1) << 15, MADV_NOHUGEPAGE);
        pid = start(touch_pieces, &handle);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        child_end(pid);
        if (fake.n_scans == 1)
                skip_because("a kernel without PAGEMAP_SCAN");
        assert_true(fake.n_scans < 40000);
        if (SANITIZED && draws.n_anon < SAMPLER_PAGES)
                skip_because("sanitized, it takes more than the CPU time that a search has");
        assert_true(draws.n_anon >= SAMPLER_PAGES);
}

/* The search would take too long: it is given up, and pages are drawn from all. */
TEST(looked_for_too_long, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        pid_t pid = start_sparse(&handle);

        fake.scan_crawls = true;
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        child_end(pid);
        assert_true(fake.n_scans > 1 && fake.n_scans < GIB(100) / KIB(4) / 10);
        assert_false(draws.whole);
        assert_true(draws.n_asked > SAMPLER_DRAWS_MAX);
}

/* --- a small process with the stacks of many threads: one page in 16 is there --- */

enum { STACKS = 1024, STACK_KIB = 64 };

static void touch_stacks(void) {
        for (unsigned i = 0; i < STACKS; i++)
                fake.held.start[i * KIB(STACK_KIB)] = 1;
}

/* Not one page is asked for that is not there, on a kernel that has no PAGEMAP_SCAN either. */
TEST(stacks, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        NodeSet home = { 0 };
        bool sanitized;
        uint64_t truth;
        pid_t pid;

        fake.held = reserve(KIB(STACK_KIB) * STACKS, MADV_NOHUGEPAGE);
        fake.away = (Area){ fake.held.start, fake.held.size / 4 };
        fake.marked = (Area){ fake.held.start + fake.held.size / 2, fake.held.size / 8 };
        fake.scan_error = ENOTTY;
        pid = start(touch_stacks, &handle);
        sanitized = kib_of(pid, "status", "VmSize:") > GIB(1); /* 1 TiB: it reserves 20 */
        truth = anon_pages(pid);
        if (sanitized) {
                child_end(pid);
                skip_because("not a small process, for it is sanitized");
        }
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        child_end(pid);
        id_set_add(&home, HOME);
        assert_int_equal(fake.n_scans, 0);
        assert_true(draws.whole && draws.mapped_whole);
        assert_true(draws.n_asked < truth + 4096); /* and some of files */
        assert_int_equal(draws.n_hidden, STACKS / 8);
        assert_in_range(draws.n_anon + draws.n_hidden, truth - 2, truth + 2);
        assert_int_equal(draws.n_anon - draws.by_node[0].n_anon, STACKS / 4);
}

static void fill_held(void) {
        memset(fake.held.start, 1, fake.held.size);
}

/* Most of a small process is there: drawn from, as from a large one. */
TEST(small_and_dense, .setup_func = begin, .teardown_func = unmap) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_draws_ Draws draws = { 0 };
        uint64_t truth;
        pid_t pid;

        fake.held = reserve(MIB(64), MADV_NOHUGEPAGE);
        fake.away = (Area){ fake.held.start, fake.held.size / 4 };
        pid = start(fill_held, &handle);
        truth = anon_pages(pid);
        assert_int_equal(sampler_draw(&topology, &handle, SAMPLER_PAGES, 1, &draws), 0);
        child_end(pid);
        assert_false(draws.whole);
        assert_true(draws.n_anon >= SAMPLER_PAGES);
        assert_true(draws.n_asked < 3 * SAMPLER_PAGES);
        assert_share(&draws, MIB(16) / 4096.0 / (double)truth);
}
