/* Pages that are queried and moved together. */
#pragma once

#include "tidbnumad/enforce/mover.h"

typedef struct PageBatch {
        void *addresses[PAGEMAP_PAGES_MAX];
        size_t n;
        bool shared;     /* shared memory */
        PageReach reach; /* whose pages */
        /* Private, of a mapping without a file or with one on a block device: a page that was
         * dropped meanwhile is filled by the kernel, unless a userfaultfd serves it. */
        bool may_be_read;
        bool dense; /* it is one chunk and all of it, so that it may be one huge page */
} PageBatch;

/* Moves those of the batch that are outside `nodes`, counts them in the mover, and empties it.
 * Returns the bytes to pay for, or a negative errno. */
int64_t mover_batch_flush(Mover *mover, PageBatch *batch, const NodeSet *nodes, uint32_t target);
