/* The gentle mover: brings the private anonymous pages of one process to a set of nodes, in
 * small pieces, so that the process is never held up for long.
 *
 * It walks the mappings in chunks, asks the kernel where the pages of a chunk lie and moves those
 * that lie outside, at most 256 pages a call. It holds no lock of the process for longer than one
 * such call, and never reads numa_maps, which would. Pages of files and of shared memory stay where
 * they are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/sys/proc.h"

/* A chunk is one huge page of x86-64 and of arm64 with 4 KiB pages: such a page lies in one chunk,
 * is moved whole by the first call and paid for once. */
#define MOVER_CHUNK_BYTES (UINT64_C(2) << 20)

/* Pages a call: in enforcement.md's measurements batches of 256 kept the stalls near those without
 * migration, 1,024 were as bad as moving all at once. */
enum { MOVER_BATCH_PAGES = 256 };

typedef struct Mover {
        const ProcHandle *process; /* borrowed; NULL: idle */
        int pagemap_fd;
        Mapping *mappings; /* owned; as they were when the pass began */
        size_t n_mappings;
        size_t mapping;   /* where it stands */
        uint64_t address; /* 0: at the mapping's start */

        /* Of this pass. */
        uint64_t found_bytes;  /* seen outside the nodes */
        uint64_t moved_bytes;  /* and no longer there when asked again */
        uint64_t failed_pages; /* and still there */
} Mover;

#define MOVER_NONE                                                                                 \
        (Mover) {                                                                                  \
                .pagemap_fd = -EBADF                                                               \
        }

/* Begins a pass over a process. The counters go on from where they are (mover_reset_counters()).
 * -ESRCH: gone. */
int mover_begin(Mover *mover, const ProcHandle *process);
void mover_reset_counters(Mover *mover);
void mover_end(Mover *mover);

/* Looks at chunks until one had pages outside `nodes`, and moves those to `target`; or until the
 * work of about `scan_bytes` of address space is done. `ret_moved_bytes`: what to pay for. Returns
 * 1: more to do; 0: the pass is complete; -ESRCH: the process ended; -EACCES: its cpuset does not
 * have the target; other: the kernel's refusal. */
int mover_step(Mover *mover, const NodeSet *nodes, uint32_t target, uint64_t scan_bytes,
               uint64_t *ret_moved_bytes);
