/* Pages that are asked for and moved together: the mover's hands. */
#pragma once

#include "tidbnumad/enforce/mover.h"

typedef struct PageBatch {
        void *addresses[PAGEMAP_PAGES_MAX];
        size_t n;
        bool shared;     /* files and shared memory */
        PageReach reach; /* whose pages */
        bool may_touch;  /* of memory without a file: reading it waits for no disk */
        bool dense;      /* it is one chunk and all of it, so that it may be one huge page */
} PageBatch;

/* Moves those of the batch that lie outside `nodes`, counts them in the mover, and empties it.
 * Returns the bytes to pay for, or a negative errno. */
int64_t mover_batch_flush(Mover *mover, PageBatch *batch, const NodeSet *nodes, uint32_t target);
