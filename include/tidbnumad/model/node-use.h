/* The memory of one node: what is free there and what the kernel can make free at once. */
#pragma once

#include <stdint.h>

typedef struct NodeUse {
        uint64_t total_bytes;
        uint64_t free_bytes;           /* MemFree */
        uint64_t idle_file_bytes;      /* page cache that is clean and was not used lately */
        uint64_t active_file_bytes;    /* page cache in use */
        uint64_t high_watermark_bytes; /* the kernel reclaims memory below this; 0: not known */
} NodeUse;
