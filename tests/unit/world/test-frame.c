/* Frames: numbers of pages to addresses, and what is left of a sparse one. */
#include <sys/mman.h>

#include "../../support/test.h"

#include "tidbnumad/sys/pages.h"
#include "tidbnumad/world/sampling.h"

static void add(Frame *frame, uint64_t start, uint64_t n_pages, MappingKind kind) {
        const FrameRange range = { .start = start,
                                   .end = start + n_pages * page_size_bytes(),
                                   .kind = kind };

        assert_int_equal(frame_add(frame, &range), 0);
}

TEST(every_page_once) {
        const uint64_t page = page_size_bytes();
        _cleanup_frame_ Frame frame = { 0 };
        const FrameRange *range;

        add(&frame, 10 * page, 1, MAPPING_PRIVATE);
        add(&frame, 20 * page, 3, MAPPING_FILE);
        add(&frame, 30 * page, 2, MAPPING_SHARED_ANON);
        assert_int_equal(frame.n_pages, 6);
        const uint64_t expected[] = { 10, 20, 21, 22, 30, 31 };
        const size_t of[] = { 0, 1, 1, 1, 2, 2 };
        for (size_t i = 0; i < 6; i++) {
                assert_int_equal(frame_page(&frame, i, &range), expected[i] * page);
                assert_ptr_equal(range, &frame.ranges[of[i]]);
        }
}

/* A mapping in pieces, as mprotect(2) leaves it, is one range; another kind behind it is not. */
TEST(pieces_of_one) {
        const uint64_t page = page_size_bytes();
        _cleanup_frame_ Frame frame = { 0 };
        const FrameRange *range;

        add(&frame, 10 * page, 2, MAPPING_PRIVATE);
        add(&frame, 12 * page, 3, MAPPING_PRIVATE);
        add(&frame, 15 * page, 1, MAPPING_FILE);
        add(&frame, 17 * page, 1, MAPPING_FILE);
        assert_int_equal(frame.n_ranges, 3);
        assert_int_equal(frame.n_pages, 7);
        for (uint64_t i = 0; i < 6; i++)
                assert_int_equal(frame_page(&frame, i, &range), (10 + i) * page);
        assert_int_equal(frame_page(&frame, 6, &range), 17 * page);
        assert_int_equal(range->kind, MAPPING_FILE);
}

static void open_self(ProcHandle *handle, int *ret_fd) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, getpid(), handle), 0);
        assert_int_equal(pagemap_open(handle, ret_fd), 0);
}

/* A Go program: 100 GiB that may be written, and 2 MiB of them used, a page here and one there. */
TEST(sparse) {
        const uint64_t size = UINT64_C(100) << 30, page = page_size_bytes();
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = -EBADF;
        _cleanup_frame_ Frame frame = { 0 };
        const FrameRange *range;
        char *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        int r;

        assert_true(area != MAP_FAILED);
        (void)madvise(area, size, MADV_NOHUGEPAGE);
        for (uint64_t i = 0; i < 512; i++)
                area[i * (size / 512 / page * page)] = 1;
        open_self(&handle, &fd);
        add(&frame, (uintptr_t)area, size / page, MAPPING_PRIVATE);
        r = frame_condense(&frame, fd);
        if (r == -EOPNOTSUPP) {
                assert_int_equal(frame.n_pages, size / page);
                (void)munmap(area, size);
                skip_because("a kernel without PAGEMAP_SCAN");
        }
        assert_int_equal(r, 0);
        assert_int_equal(frame.n_pages, 512);
        for (uint64_t i = 0; i < 512; i++) {
                assert_int_equal(frame_page(&frame, i, &range),
                                 (uintptr_t)area + i * (size / 512 / page * page));
                assert_int_equal(range->kind, MAPPING_PRIVATE);
        }
        (void)munmap(area, size);
}

TEST(own_mappings) {
        const uint64_t page = page_size_bytes();
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = -EBADF;
        _cleanup_frame_ Frame private = { 0 }, shared = { 0 };
        char *area =
                mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        bool seen = false;

        open_self(&handle, &fd);
        assert_int_equal(frame_load(&handle, &private, &shared), 0);
        for (size_t i = 0; i < private.n_ranges; i++)
                assert_int_equal(private.ranges[i].kind, MAPPING_PRIVATE);
        for (size_t i = 0; i < shared.n_ranges; i++)
                assert_true(shared.ranges[i].kind == MAPPING_FILE ||
                            shared.ranges[i].kind == MAPPING_SHARED_ANON);
        for (size_t i = 0; i < shared.n_ranges; i++)
                if (shared.ranges[i].start <= (uintptr_t)area &&
                    shared.ranges[i].end >= (uintptr_t)area + 8 * page)
                        seen = shared.ranges[i].kind == MAPPING_SHARED_ANON &&
                               shared.ranges[i].is_shmem;
        assert_true(seen);
        assert_true(private.n_pages > 8);
        (void)munmap(area, 8 * page);
}
