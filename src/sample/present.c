/* Lists the pages of a frame that are there. */
#include <errno.h>
#include <stdlib.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sample/present.h"
#include "tidbnumad/sys/pagemap.h"
#include "tidbnumad/sys/pages.h"

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
