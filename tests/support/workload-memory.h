/* The memory that the workload holds: regions of several kinds, laid over the nodes as asked, and a
 * loop that times accesses to them. Errors are told on stderr and end the program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
        MAX_NODES = 128,
};

typedef enum RegionKind {
        REGION_ANON,     /* private anonymous, base pages */
        REGION_HUGE,     /* private anonymous, transparent huge pages asked for */
        REGION_SHMEM,    /* shared anonymous */
        REGION_FILE,     /* a shared mapping of an unlinked file */
        REGION_RESERVED, /* private anonymous, of the host's reserved huge pages (hugetlbfs) */
        REGION_RESERVED_SHARED, /* a memfd of those, mapped shared */
        N_REGION_KINDS,
} RegionKind;

/* Shares of a region by node; all zero: wherever the kernel puts it. */
typedef struct Spread {
        uint32_t share[MAX_NODES];
} Spread;

/* "NODE:SHARE,…", or every node this process may use, alike, where text is NULL. */
void spread_parse(const char *text, Spread *ret);

/* Maps a region and touches the first `touch` bytes of it. A file's directory is `dir`. */
void memory_hold(RegionKind kind, size_t bytes, size_t touch, const char *dir,
                 const Spread *spread);

/* Touches what memory_hold() has left. */
void memory_touch_rest(void);

/* A thread that will touch `bytes_per_sec` each second, until it is `max`. These touches count for
 * the stall report too. */
void memory_grow_prepare(size_t bytes_per_sec, size_t max);

/* Begins to grow; the next time gives back the three quarters that were touched first, and so on.
 */
void memory_grow_turn(void);

/* A thread that touches what is held, again and again, and times each access. Call after the holds.
 */
void stall_watch_start(void);

/* Prints what the watch saw since the last report; nothing where it does not run. */
void stall_report(void);
