/* The gentle mover: brings the memory of one process to a set of nodes, in small pieces, so that
 * the process is never delayed for long.
 *
 * A pass first queries the nodes of a few pages of each larger mapping, then goes through the
 * mappings with the most pages outside, and at last through all others. It queries the nodes of
 * pages and moves those outside, at most 256 a call or one huge page. It holds no lock of the
 * process for longer than one such call, and never reads numa_maps, which would.
 *
 * What is moved: private memory, shared memory without a name, and of shared memory with a name
 * (memfd, System V, /dev/shm) the pages that no other process maps. Pages of other files stay where
 * they are: they are the page cache's, and a disk may have to answer before one can be moved. With
 * `files`, those of files on a block device that no other process maps come along as well: the
 * kernel would move them itself when the memory nodes are narrowed (cpuset_migrate_mm() in
 * kernel/cgroup/cpuset.c), all at once and with the memory map locked for the whole time.
 *
 * Pages that NUMA balancing has marked show no node until they are read. They are read only in
 * private mappings without a file or with one on a block device, and only of a process that has no
 * userfaultfd open: a page of another kind may have been dropped meanwhile, and reading it waits
 * for its server, for ever if a FUSE server or a userfaultfd never answers. What a server has
 * written to its libraries' data and never uses again is moved by nothing else.
 *
 * Memory that a fork still shares is moved if the instance is alone in its cgroup (`alone`), for
 * its holders are then the processes of the instance. An exception: a process that was forked
 * without an exec and has left the cgroup since also holds such pages. They are moved, which
 * costs that process remote accesses until it writes to them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/sys/proc.h"

/* One huge page of x86-64 and of arm64 with 4 KiB pages: such a page is in one chunk, is moved
 * whole by the first call and counts once against the rate. */
#define MOVER_CHUNK_BYTES (UINT64_C(2) << 20)

enum {
        /* Pages a call: in measurements, batches of 256 kept the stalls near those without
         * migration, 1,024 were as bad as moving all at once. */
        MOVER_BATCH_PAGES = 256,
        /* Mappings that are gone through first. */
        MOVER_SORTED_MAX = 32,
        /* Pages of a mapping that are queried to sort it. */
        MOVER_SAMPLES = 16,
        /* Lines of /proc/PID/maps a step, of mappings in which there is nothing to do. */
        MOVER_LINES = 64,
};

typedef struct SortedMapping {
        Mapping mapping;
        uint64_t outside_bytes; /* an estimate */
} SortedMapping;

typedef enum MoverPhase {
        MOVER_SCAN,
        MOVER_SORTED,
        MOVER_REST,
} MoverPhase;

/* May hidden pages of the process be read? */
typedef enum MoverTouch {
        MOVER_TOUCH_UNKNOWN, /* not needed so far in this pass */
        MOVER_TOUCH_YES,
        MOVER_TOUCH_NO,
} MoverTouch;

/* What a pass has seen and moved so far. */
typedef struct MoverCounters {
        /* Private memory. */
        uint64_t found_bytes;  /* seen outside the nodes */
        uint64_t moved_bytes;  /* and no longer there at the next query */
        uint64_t failed_pages; /* and still there */
        /* Shared memory and files. */
        uint64_t shared_moved_bytes;
} MoverCounters;

typedef struct Mover {
        const ProcHandle *process; /* borrowed; NULL: idle */
        bool alone;                /* the instance is the whole of its cgroup */
        bool files;                /* pages of files come along */
        int pagemap_fd;
        MapsReader *maps; /* owned */
        MoverPhase phase;
        SortedMapping sorted[MOVER_SORTED_MAX]; /* descending */
        size_t n_sorted, next_sorted;           /* the next to be walked */
        Mapping mapping;                        /* that is being walked */
        uint64_t address;                       /* where; mapping.end: through with it */
        bool cannot_skip;                       /* a kernel without PAGEMAP_SCAN */
        MoverTouch touch;
        MoverCounters counters;
} Mover;

#define MOVER_NONE                                                                                 \
        (Mover) {                                                                                  \
                .pagemap_fd = -EBADF                                                               \
        }

/* Begins a pass over a process. The counters go on from where they are. -ESRCH: gone. */
int mover_begin(Mover *mover, const ProcHandle *process);
void mover_end(Mover *mover);

/* Queries pages until some of them are outside `nodes`, and moves these to `target`; or until the
 * work of about `scan_bytes` of address space is done. `ret_bytes`: bytes that count against the
 * rate. Returns 1: more to do; 0: the pass is complete; -ESRCH: the process ended; -ESTALE: the
 * process has executed another program, so that the pass must start again; -EACCES: its cpuset does
 * not have the target; other: the kernel's refusal. */
int mover_step(Mover *mover, const NodeSet *nodes, uint32_t target, uint64_t scan_bytes,
               uint64_t *ret_bytes);

typedef struct Rate {
        uint64_t bytes_per_sec;
        int64_t balance_bytes; /* below zero: owed by a piece that was larger than what was there */
        uint64_t last_usec;    /* monotonic */
} Rate;

void rate_init(Rate *rate, uint64_t bytes_per_sec, uint64_t now_usec);

/* May a piece be moved now? 0: yes. Else the microseconds to wait. */
uint64_t rate_wait_usec(Rate *rate, uint64_t now_usec);

/* Another speed from now on; what is owed stays owed. */
void rate_change(Rate *rate, uint64_t bytes_per_sec, uint64_t now_usec);

/* Pays for a piece after the fact; the next ones wait until a debt is paid off. */
void rate_take(Rate *rate, uint64_t bytes);
