/* Pages of a process: which it has, where they are, and moving them. */
#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/sys/self.h"
#include "tidbnumad/sys/sysroot.h"

enum { QUERY_PAGES_MAX = 512 };

uint64_t page_size_bytes(void) {
        return (uint64_t)sysconf(_SC_PAGESIZE);
}

int pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes) {
        return numa_move_pages(pid, n_pages, addresses, NULL, ret_nodes, 0) < 0 ? -errno : 0;
}

uint64_t pages_sched_moved_parse(const char *text) {
        static const char field[] = "\nnuma_pages_migrated";
        const char *line = strstr(text, field), *colon = line ? strchr(line, ':') : NULL;
        char *end;
        unsigned long long value;

        if (!colon || memchr(line + 1, '\n', (size_t)(colon - line - 1)))
                return PAGES_UNKNOWN;
        errno = 0;
        value = strtoull(colon + 1, &end, 10);
        return errno != 0 || end == colon + 1 ? PAGES_UNKNOWN : value;
}

/* What faults of this thread have moved so far. */
static uint64_t moved_by_faults(void) {
        char text[8192];

        return path_read(AT_FDCWD, text, sizeof(text), "/proc/thread-self/sched") < 0
                       ? PAGES_UNKNOWN
                       : pages_sched_moved_parse(text);
}

int pages_touch(pid_t pid, size_t n_pages, void **addresses, uint64_t *ret_moved_pages) {
        const uint64_t before = moved_by_faults();
        struct iovec remote[QUERY_PAGES_MAX];
        char bytes[QUERY_PAGES_MAX];
        uint64_t after;
        int r = 0;

        if (n_pages > QUERY_PAGES_MAX)
                return -EINVAL;
        for (size_t i = 0; i < n_pages; i++)
                remote[i] = (struct iovec){ .iov_base = addresses[i], .iov_len = 1 };
        for (size_t done = 0; r >= 0 && done < n_pages;) {
                struct iovec local = { .iov_base = bytes, .iov_len = n_pages - done };
                ssize_t n = process_vm_readv(pid, &local, 1, remote + done, n_pages - done, 0);

                if (n < 0 && errno != EFAULT)
                        r = -errno;
                /* process_vm_readv() stops before the first page that cannot be read: continue
                 * behind that page. */
                done += n > 0 ? (size_t)n : 1;
        }
        after = moved_by_faults();
        *ret_moved_pages = before == PAGES_UNKNOWN || after < before || after == PAGES_UNKNOWN
                                   ? PAGES_UNKNOWN
                                   : after - before;
        return r;
}

int pages_move(pid_t pid, size_t n_pages, void **addresses, uint32_t node, PageReach reach,
               int *ret_status) {
        int targets[QUERY_PAGES_MAX];

        if (n_pages > ELEMENTSOF(targets))
                return -EINVAL;
        for (size_t i = 0; i < n_pages; i++) {
                targets[i] = (int)node;
                ret_status[i] = -EAGAIN; /* the kernel leaves it unset for what it did not reach */
        }
        /* A positive result is the number of pages that were not moved: ret_status and the next
         * query have the details. */
        return numa_move_pages(pid, n_pages, addresses, targets, ret_status,
                               reach == PAGES_ALL ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE) < 0
                       ? -errno
                       : 0;
}

int pages_sweep(pid_t pid, uint32_t from, uint32_t to) {
        struct bitmask *old_nodes = numa_allocate_nodemask(), *new_nodes = numa_allocate_nodemask();
        int lowered, r = -ENOMEM;

        if (old_nodes && new_nodes) {
                numa_bitmask_setbit(old_nodes, from);
                numa_bitmask_setbit(new_nodes, to);
                lowered = capability_set_effective(CAP_SYS_NICE, false);
                r = lowered < 0 ? lowered : numa_migrate_pages(pid, old_nodes, new_nodes);
                if (lowered >= 0 && r < 0)
                        r = -errno;
                if (lowered > 0)
                        (void)capability_set_effective(CAP_SYS_NICE, true);
        }
        if (old_nodes)
                numa_bitmask_free(old_nodes);
        if (new_nodes)
                numa_bitmask_free(new_nodes);
        return r;
}

/* --- /proc/PID/pagemap: entries of pages, and the quick way over where there are none --- */

/* Documentation/admin-guide/mm/pagemap.rst */
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_FILE_OR_SHARED (UINT64_C(1) << 61)
#define ENTRY_ALONE (UINT64_C(1) << 56)

/* Of linux/fs.h since 6.7, as PageRange is; the headers of the build host may be older than the
 * kernel. */
typedef struct ScanArgument {
        uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
        uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
} ScanArgument;

#define SCAN_PRESENT (UINT64_C(1) << 3)
#define SCAN_REQUEST _IOWR('f', 16, ScanArgument)

int pagemap_open(const ProcHandle *handle, int *ret_fd) {
        int fd = proc_open_memory_file(handle, "pagemap");

        if (fd < 0)
                return proc_error(fd);
        *ret_fd = fd;
        return 0;
}

int pagemap_read(int fd, uint64_t start, size_t n_pages, uint64_t *ret_entries) {
        const size_t size = n_pages * sizeof(ret_entries[0]);
        ssize_t n;

        if (n_pages > PAGEMAP_PAGES_MAX)
                return -EINVAL;
        n = pread(fd, ret_entries, size,
                  (off_t)(start / page_size_bytes() * sizeof(ret_entries[0])));
        if (n < 0)
                return -errno;
        return (size_t)n < size ? -ESTALE : 0;
}

size_t pagemap_pick(const uint64_t *entries, size_t n_pages, uint64_t start, PageKind kind,
                    void **addresses) {
        const uint64_t mask =
                ENTRY_PRESENT | ENTRY_FILE_OR_SHARED | (kind == PAGE_FILE_ALONE ? ENTRY_ALONE : 0);
        const uint64_t wanted = kind == PAGE_OWN ? ENTRY_PRESENT : mask;
        const uint64_t page = page_size_bytes();
        size_t n = 0;

        for (size_t i = 0; i < n_pages; i++)
                if ((entries[i] & mask) == wanted)
                        addresses[n++] = (void *)(uintptr_t)(start + i * page);
        return n;
}

/* Up to `n_ranges` ranges, and as many pages; 0: any number of pages. */
static int scan(int fd, uint64_t *address, uint64_t end, PageRange *ranges, uint64_t n_ranges,
                uint64_t max_pages) {
        ScanArgument argument = {
                .size = sizeof(argument),
                .start = *address,
                .end = end,
                .vec = (uintptr_t)ranges,
                .vec_len = n_ranges,
                .max_pages = max_pages,
                .category_mask = SCAN_PRESENT,
                .return_mask = SCAN_PRESENT,
        };
        int n = ioctl(fd, SCAN_REQUEST, &argument);

        if (n < 0)
                return errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP : -errno;
        *address = argument.walk_end;
        return n;
}

int pagemap_ranges(int fd, uint64_t *address, uint64_t end, PageRange *ret) {
        return scan(fd, address, end, ret, PAGEMAP_RANGES_MAX, 0);
}

int pagemap_skip(int fd, uint64_t *address, uint64_t end) {
        PageRange range;
        int n = scan(fd, address, end, &range, 1, 1);

        if (n < 0)
                return n;
        *address = n > 0 ? range.start : end;
        return 0;
}
