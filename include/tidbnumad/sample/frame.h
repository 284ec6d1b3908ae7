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

/* Behind those that are there already; what goes on where the last one of the same kind ends
 * becomes one with it, for a mapping in pieces is quicker to look at as a whole. -ENOMEM. */
int frame_add(Frame *frame, const FrameRange *range);

/* The address of the page of that number, below n_pages, and its range. */
uint64_t frame_page(const Frame *frame, uint64_t page, const FrameRange **ret_range);

/* Only what is present, by PAGEMAP_SCAN: of an address space that is mostly reserved little is
 * left. -EOPNOTSUPP: an older kernel; -E2BIG: too much is present, or in too many pieces, to be
 * listed, or to look for it takes too long; the frame stays as it was then. */
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

/* The pages of a small frame that are there, by the kernel's entry for each page. An entry costs a
 * fraction of what the node of a page costs to ask for, and every kernel has them. -ESTALE: the
 * process has executed another program meanwhile; -EPERM; -ENOMEM. */
int present_list(const Frame *frame, int pagemap_fd, PresentPages *ret);
