/* Pages that are asked for and moved together: the mover's hands. */
#pragma once

#include "tidbnumad/enforce/mover.h"

typedef struct PageBatch {
        void *addresses[PAGEMAP_PAGES_MAX];
        size_t n;
        bool shared;     /* shared memory */
        PageReach reach; /* whose pages */
        /* Private, of a mapping without a file: a page that was dropped meanwhile is filled with
         * zeros when it is read, and waits for nobody, unless a userfaultfd serves it. */
        bool is_own_memory;
        bool dense; /* it is one chunk and all of it, so that it may be one huge page */
} PageBatch;

/* Moves those of the batch that lie outside `nodes`, counts them in the mover, and empties it.
 * Returns the bytes to pay for, or a negative errno. */
int64_t mover_batch_flush(Mover *mover, PageBatch *batch, const NodeSet *nodes, uint32_t target);
