/* What pages are drawn from: the mappings of a process, as ranges of addresses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/maps.h"

typedef struct FrameRange {
        uint64_t start, end; /* addresses */
        uint64_t first_page; /* pages of all ranges before it */
        MappingKind kind;
        bool has_file, is_shmem; /* as of Mapping */
} FrameRange;

typedef struct Frame {
        FrameRange *ranges; /* ascending; owned */
        size_t n_ranges, allocated;
        uint64_t n_pages;
} Frame;

void frame_done(Frame *frame);
#define _cleanup_frame_ _cleanup_(frame_done)

/* All private mappings of the process into one frame, all shared ones into the other. -ESRCH. */
int frame_load(const ProcHandle *process, Frame *ret_private, Frame *ret_shared);

/* Appends a range. A range of the same kind that starts where the last one ends is joined to it,
 * because a mapping in pieces is read faster as a whole. -ENOMEM. */
int frame_add(Frame *frame, const FrameRange *range);

/* The address of the page of that number, below n_pages, and its range. */
uint64_t frame_page(const Frame *frame, uint64_t page, const FrameRange **ret_range);

/* Keeps only the present pages, by PAGEMAP_SCAN: if most of the address space is only reserved,
 * little remains. -EOPNOTSUPP: an older kernel; -E2BIG: too many pages or pieces are present to be
 * listed, or the search takes too long; the frame then stays unchanged. */
int frame_condense(Frame *frame, int pagemap_fd);

typedef struct PresentPage {
        uint64_t address;
        uint32_t range; /* its index in the frame */
        bool own;       /* of a private mapping, and no longer the file's */
} PresentPage;

typedef struct PresentPages {
        PresentPage *pages; /* owned */
        size_t n, allocated;
} PresentPages;

void present_done(PresentPages *present);
#define _cleanup_present_ _cleanup_(present_done)

/* Lists the present pages of a small frame, by the kernel's entry for each page. Reading an entry
 * costs a fraction of a query for the node of a page, and every kernel has these entries. -ESTALE:
 * the process has executed another program meanwhile; -EPERM; -ENOMEM. */
int present_list(const Frame *frame, int pagemap_fd, PresentPages *ret);
