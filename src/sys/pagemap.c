/* /proc/PID/pagemap: entries of pages, and the quick way over where there are none. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "tidbnumad/sys/pagemap.h"
#include "tidbnumad/sys/pages.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_FILE_OR_SHARED (UINT64_C(1) << 61)
#define ENTRY_ALONE (UINT64_C(1) << 56)

/* Of linux/fs.h since 6.7; the headers of the build host may be older than the kernel. */
typedef struct ScanRegion {
        uint64_t start, end, categories;
} ScanRegion;

typedef struct ScanArgument {
        uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
        uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
} ScanArgument;

#define SCAN_PRESENT (UINT64_C(1) << 3)
#define SCAN_REQUEST _IOWR('f', 16, ScanArgument)

int pagemap_open(const ProcHandle *handle, int *ret_fd) {
        int fd = openat(handle->dir_fd, "pagemap", O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return errno == ENOENT ? -ESRCH : -errno;
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

/* Returns the number of ranges of present pages. `*address` moves behind the pages that were
 * read. */
static int scan(int fd, uint64_t *address, uint64_t end, ScanRegion *regions, uint64_t n_regions,
                uint64_t max_pages) {
        ScanArgument argument = {
                .size = sizeof(argument),
                .start = *address,
                .end = end,
                .vec = (uintptr_t)regions,
                .vec_len = n_regions,
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
        ScanRegion regions[PAGEMAP_RANGES_MAX];
        int n = scan(fd, address, end, regions, PAGEMAP_RANGES_MAX, 0);

        for (int i = 0; i < n; i++)
                ret[i] = (PageRange){ .start = regions[i].start, .end = regions[i].end };
        return n;
}

int pagemap_skip(int fd, uint64_t *address, uint64_t end) {
        ScanRegion region;
        int n = scan(fd, address, end, &region, 1, 1);

        if (n < 0)
                return n;
        *address = n > 0 ? region.start : end;
        return 0;
}
