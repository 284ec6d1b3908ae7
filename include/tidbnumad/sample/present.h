/* The pages of a small frame that are there, by the kernel's entry for each page. An entry costs a
 * fraction of what the node of a page costs to ask for, and every kernel has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sample/frame.h"

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

/* -ESTALE: the process has executed another program meanwhile; -EPERM; -ENOMEM. */
int present_list(const Frame *frame, int pagemap_fd, PresentPages *ret);
