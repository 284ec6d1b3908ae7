/* Which pages a process has: /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
 *
 * The open file belongs to one address space. Once its process has executed another program, or has
 * ended, it shows nothing any more: -ESTALE.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/proc.h"

/* Pages a read; one huge page of x86-64. */
enum { PAGEMAP_PAGES_MAX = 512 };

typedef enum PageKind {
        PAGE_OWN,  /* anonymous: allocated or copied by the process or by one that forked it */
        PAGE_FILE, /* of a file or of shared memory */
        PAGE_FILE_ALONE, /* the same, and no other process has it mapped */
} PageKind;

/* -ESRCH: gone. */
int pagemap_open(const ProcHandle *handle, int *ret_fd);

/* Reads up to PAGEMAP_PAGES_MAX entries from the page at `start`. */
int pagemap_read(int fd, uint64_t start, size_t n_pages, uint64_t *ret_entries);

/* Picks from entries the pages of a kind that are present, PAGE_FILE those of either kind. Returns
 * how many; `addresses` has room for all. */
size_t pagemap_pick(const uint64_t *entries, size_t n_pages, uint64_t start, PageKind kind,
                    void **addresses);

/* Moves `address` to the first page in [*address, end) that is present, or to `end`, in a few
 * microseconds for any distance: PAGEMAP_SCAN of kernel 6.7. -EOPNOTSUPP: an older kernel. */
int pagemap_skip(int fd, uint64_t *address, uint64_t end);

typedef struct PageRange {
        uint64_t start, end; /* addresses */
} PageRange;

enum { PAGEMAP_RANGES_MAX = 256 };

/* The ranges of present pages from `address` on, PAGEMAP_RANGES_MAX at most, and moves `address`
 * behind the pages that were read. The kernel holds the process's memory map meanwhile: keep `end`
 * near. Returns how many, -EOPNOTSUPP as above, or another negative errno. */
int pagemap_ranges(int fd, uint64_t *address, uint64_t end, PageRange *ret);
