/* Pages of a process: where they are, moving them (move_pages(2), migrate_pages(2)), and which
 * there are (pagemap). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/proc.h"

/* The node of each page; a negative errno in `ret_nodes` for a page that has none now (-ENOENT: not
 * present or marked for NUMA hinting; -EFAULT: the zero page, unmapped, or a huge page marked for
 * NUMA hinting). -ESRCH: the process is gone. */
int pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes);

/* Reads one byte of each page, as the process itself would: a page that NUMA balancing has marked
 * takes its hinting fault and shows its node again. Kernels before 6.6 hide such pages from
 * move_pages(2), also from its queries; of a process that is idle they would stay hidden for good.
 * At most 512 pages. Pages that cannot be read are passed over. -ESRCH: gone; -EPERM: not permitted
 * (Yama's ptrace_scope=3).
 *
 * On such a fault the kernel may move the page to the node of the CPU that we run on.
 * `ret_moved_pages`: how many it has, by proc_pid_sched's numa_pages_migrated; PAGES_UNKNOWN
 * where the kernel has no such counter. */
#define PAGES_UNKNOWN UINT64_MAX
int pages_touch(pid_t pid, size_t n_pages, void **addresses, uint64_t *ret_moved_pages);

/* numa_pages_migrated of the text of a /proc/TID/sched (kernels with CONFIG_SCHED_DEBUG), or
 * PAGES_UNKNOWN. */
uint64_t pages_sched_moved_parse(const char *text);

/* Which pages may be moved. */
typedef enum PageReach {
        PAGES_ALONE, /* those that this process alone maps (MPOL_MF_MOVE); for another the kernel
                        reports -EACCES in `ret_status` */
        PAGES_ALL, /* also those that a fork still shares (MPOL_MF_MOVE_ALL, wants CAP_SYS_NICE) */
} PageReach;

/* Moves the pages to `node`. `ret_status`: the new node or a negative errno a page, see
 * move_pages(2); not reliable by itself, query the pages again. -ESRCH: the process is gone;
 * -EACCES: the node is outside of the process's cpuset; -ENODEV: no such node. */
int pages_move(pid_t pid, size_t n_pages, void **addresses, uint32_t node, PageReach reach,
               int *ret_status);

/* Moves all pages that only this process maps from one node to another, in one call
 * (migrate_pages(2) without CAP_SYS_NICE, which is dropped for the call: with this capability the
 * kernel would also move shared libraries). Also finds pages that move_pages(2) does not see
 * because NUMA balancing has marked them. Holds the lock of the process's memory map for the whole
 * call, so use it for small remainders only. Returns the number of pages that stayed, -ESRCH, or
 * another negative errno. */
int pages_sweep(pid_t pid, uint32_t from, uint32_t to);

uint64_t page_size_bytes(void);

/* --- which pages there are --- */

/* Which pages a process has: /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
 *
 * The open file belongs to one address space. Once its process has executed another program, or has
 * ended, it shows nothing any more: -ESTALE.
 */

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

/* struct page_region of linux/fs.h. */
typedef struct PageRange {
        uint64_t start, end; /* addresses */
        uint64_t categories;
} PageRange;

enum { PAGEMAP_RANGES_MAX = 256 };

/* The ranges of present pages from `address` on, PAGEMAP_RANGES_MAX at most, and moves `address`
 * behind the pages that were read. The kernel holds the process's memory map meanwhile: keep `end`
 * near. Returns how many, -EOPNOTSUPP as above, or another negative errno. */
int pagemap_ranges(int fd, uint64_t *address, uint64_t end, PageRange *ret);
