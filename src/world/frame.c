/* Ranges of addresses to draw from, and the pages of small ones. */
#include <errno.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/world/frame.h"

/* Address space that one call may search: the kernel holds the lock of the process's memory map
 * meanwhile, for a millisecond if all of the memory was used once and then freed. Address space
 * that was never used is searched quickly, and then in larger pieces: some programs reserve a
 * hundred TiB. */
#define SCAN_BYTES (UINT64_C(256) << 20)
#define SCAN_BYTES_MAX (UINT64_C(4) << 30)
enum { SCAN_QUICK_USEC = 100 };

/* Limits of the list: CPU time, because our loop waits meanwhile, and 10 MB of ranges. */
enum { CONDENSE_USEC_MAX = 50000 };
#define PRESENT_PAGES_MAX (UINT64_C(1) << 20)
#define RANGES_MAX ((size_t)1 << 18)

typedef struct FrameScan {
        int fd;
        uint64_t bytes;     /* of the next call */
        uint64_t used_usec; /* of a CPU, by all calls */
} FrameScan;

void frame_done(Frame *frame) {
        free(frame->ranges);
        *frame = (Frame){ 0 };
}

static bool goes_on(const FrameRange *last, const FrameRange *range) {
        return last->end == range->start && last->kind == range->kind &&
               last->has_file == range->has_file && last->is_shmem == range->is_shmem;
}

int frame_add(Frame *frame, const FrameRange *range) {
        const uint64_t n_pages = (range->end - range->start) / page_size_bytes();

        if (frame->n_ranges > 0 && goes_on(&frame->ranges[frame->n_ranges - 1], range)) {
                frame->ranges[frame->n_ranges - 1].end = range->end;
                frame->n_pages += n_pages;
                return 0;
        }
        if (ARRAY_RESERVE(frame->ranges, frame->allocated, frame->n_ranges + 1) < 0)
                return -ENOMEM;
        frame->ranges[frame->n_ranges] = *range;
        frame->ranges[frame->n_ranges++].first_page = frame->n_pages;
        frame->n_pages += n_pages;
        return 0;
}

static int add_mapping(const Mapping *mapping, Frame *private, Frame *shared) {
        const FrameRange range = { .start = mapping->start,
                                   .end = mapping->end,
                                   .kind = mapping->kind,
                                   .has_file = mapping->has_file,
                                   .is_shmem = mapping->is_shmem };

        if (mapping->kind == MAPPING_OTHER)
                return 0;
        return frame_add(mapping->kind == MAPPING_PRIVATE ? private : shared, &range);
}

int frame_load(const ProcHandle *process, Frame *ret_private, Frame *ret_shared) {
        MapsReader *reader = NULL;
        Mapping mapping;
        int r = maps_open(process, &reader);

        if (r < 0)
                return r;
        while ((r = maps_next(reader, &mapping)) > 0) {
                r = add_mapping(&mapping, ret_private, ret_shared);
                if (r < 0)
                        break;
        }
        (void)maps_close(reader);
        return r;
}

uint64_t frame_page(const Frame *frame, uint64_t page, const FrameRange **ret_range) {
        const size_t at =
                ARRAY_LOWER_BOUND(frame->n_ranges, i, frame->ranges[i].first_page <= page) - 1;

        *ret_range = &frame->ranges[at];
        return frame->ranges[at].start + (page - frame->ranges[at].first_page) * page_size_bytes();
}

static int add_present(Frame *frame, const FrameRange *of, const PageRange *present, int n) {
        for (int i = 0; i < n; i++) {
                FrameRange range = *of;
                int r;

                range.start = present[i].start;
                range.end = present[i].end;
                r = frame_add(frame, &range);
                if (r < 0)
                        return r;
                if (frame->n_pages > PRESENT_PAGES_MAX || frame->n_ranges > RANGES_MAX)
                        return -E2BIG;
        }
        return 0;
}

/* One call. Returns how many ranges, or a negative errno. */
static int scan_once(FrameScan *scan, uint64_t *at, uint64_t end, PageRange *present) {
        const uint64_t begin = clock_thread_cpu_usec(), before = *at, left = end - before;
        int n = pagemap_ranges(scan->fd, at, before + (left < scan->bytes ? left : scan->bytes),
                               present);
        const uint64_t used = clock_thread_cpu_usec() - begin;

        if (n < 0)
                return n;
        scan->used_usec += used;
        if (n > 0 || used > SCAN_QUICK_USEC)
                scan->bytes = SCAN_BYTES;
        else if (scan->bytes < SCAN_BYTES_MAX)
                scan->bytes *= 2;
        return scan->used_usec > CONDENSE_USEC_MAX ? -E2BIG : n;
}

static int condense_range(Frame *frame, const FrameRange *range, FrameScan *state) {
        PageRange present[PAGEMAP_RANGES_MAX];
        uint64_t at = range->start;
        int r = 0;

        while (r >= 0 && at < range->end) {
                const uint64_t before = at;
                int n = scan_once(state, &at, range->end, present);

                if (n < 0)
                        return n;
                if (at <= before) /* no kernel does; it would be for ever */
                        return -EOPNOTSUPP;
                r = add_present(frame, range, present, n);
        }
        return r;
}

int frame_condense(Frame *frame, int pagemap_fd) {
        _cleanup_frame_ Frame dense = { 0 };
        FrameScan state = { .fd = pagemap_fd, .bytes = SCAN_BYTES };
        int r = 0;

        for (size_t i = 0; r >= 0 && i < frame->n_ranges; i++)
                r = condense_range(&dense, &frame->ranges[i], &state);
        if (r < 0)
                return r;
        frame_done(frame);
        *frame = TAKE_STRUCT(dense);
        return 0;
}

/* --- the pages of a small frame --- */

void present_done(PresentPages *present) {
        free(present->pages);
        *present = (PresentPages){ 0 };
}

static int add(PresentPages *present, void **addresses, size_t n, PresentPage like) {
        if (ARRAY_RESERVE(present->pages, present->allocated, present->n + n) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                like.address = (uintptr_t)addresses[i];
                present->pages[present->n++] = like;
        }
        return 0;
}

/* Own pages and those of the file may alternate: their order is of no account to who draws. */
static int add_entries(PresentPages *present, const uint64_t *entries, size_t n_pages,
                       uint64_t start, uint32_t range, bool is_private) {
        void *addresses[PAGEMAP_PAGES_MAX];
        size_t n = pagemap_pick(entries, n_pages, start, PAGE_OWN, addresses);
        int r = add(present, addresses, n, (PresentPage){ .range = range, .own = is_private });

        if (r < 0)
                return r;
        n = pagemap_pick(entries, n_pages, start, PAGE_FILE, addresses);
        return add(present, addresses, n, (PresentPage){ .range = range });
}

static int list_range(const Frame *frame, uint32_t index, int pagemap_fd, PresentPages *present) {
        const FrameRange *range = &frame->ranges[index];
        uint64_t entries[PAGEMAP_PAGES_MAX];
        int r = 0;

        for (uint64_t at = range->start; r >= 0 && at < range->end;) {
                const uint64_t left = (range->end - at) / page_size_bytes();
                const size_t n = left < PAGEMAP_PAGES_MAX ? (size_t)left : PAGEMAP_PAGES_MAX;

                r = pagemap_read(pagemap_fd, at, n, entries);
                if (r >= 0)
                        r = add_entries(present, entries, n, at, index,
                                        range->kind == MAPPING_PRIVATE);
                at += n * page_size_bytes();
        }
        return r;
}

int present_list(const Frame *frame, int pagemap_fd, PresentPages *ret) {
        _cleanup_present_ PresentPages present = { 0 };
        int r = 0;

        for (size_t i = 0; r >= 0 && i < frame->n_ranges; i++)
                r = list_range(frame, (uint32_t)i, pagemap_fd, &present);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(present);
        return 0;
}
