#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/capability.h"
#include "tidbnumad/sys/pages.h"
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

        return read_file_at(AT_FDCWD, "/proc/thread-self/sched", text, sizeof(text)) < 0
                       ? PAGES_UNKNOWN
                       : pages_sched_moved_parse(text);
}

static int touch(pid_t pid, size_t n_pages, void **addresses) {
        struct iovec remote[QUERY_PAGES_MAX];
        char bytes[QUERY_PAGES_MAX];

        for (size_t i = 0; i < n_pages; i++)
                remote[i] = (struct iovec){ .iov_base = addresses[i], .iov_len = 1 };
        for (size_t done = 0; done < n_pages;) {
                struct iovec local = { .iov_base = bytes, .iov_len = n_pages - done };
                ssize_t n = process_vm_readv(pid, &local, 1, remote + done, n_pages - done, 0);

                if (n < 0 && errno != EFAULT)
                        return -errno;
                /* process_vm_readv() stops before the first page that cannot be read: continue
                 * behind that page. */
                done += n > 0 ? (size_t)n : 1;
        }
        return 0;
}

int pages_touch(pid_t pid, size_t n_pages, void **addresses, uint64_t *ret_moved_pages) {
        const uint64_t before = moved_by_faults();
        uint64_t after;
        int r;

        if (n_pages > QUERY_PAGES_MAX)
                return -EINVAL;
        r = touch(pid, n_pages, addresses);
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
