/* Address spaces whose pages are this host's, and which are there the kernel tells; the node of
 * each is the test's, so that a host with one node has shares to find. */
#pragma once

#include <math.h>
#include <sys/ioctl.h>

#include "holder.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/world/sampling.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

/* The memory of the children is on HOME, except for two areas. */
enum { HOME = 0, AWAY = 5 };

static Node nodes[] = { { .id = HOME }, { .id = AWAY } };
static const Topology topology = { .nodes = nodes, .n_nodes = 2 };

typedef struct Area {
        char *start;
        uint64_t size;
} Area;

static struct {
        Area held, away, marked; /* mapped by this process, for children to touch */
        bool whole_page;         /* all of `away` is one page that is there */
        int scan_error;          /* of PAGEMAP_SCAN; 0: the kernel's own answer */
        bool scan_crawls;        /* it finds nothing, a page a time */
        unsigned n_scans;
} fake;

static inline bool is_in(const Area *area, const void *address) {
        const char *at = address;

        return area->size > 0 && at >= area->start && at < area->start + area->size;
}

int __real_pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes);
int __wrap_pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes);
int __wrap_pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes) {
        int r = __real_pages_query(pid, n_pages, addresses, ret_nodes);

        for (size_t i = 0; i < n_pages; i++) {
                if (fake.whole_page && is_in(&fake.away, addresses[i]))
                        ret_nodes[i] = AWAY;
                else if (ret_nodes[i] >= 0)
                        ret_nodes[i] = is_in(&fake.marked, addresses[i]) ? -ENOENT
                                       : is_in(&fake.away, addresses[i]) ? AWAY
                                                                         : HOME;
        }
        return r;
}

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument) {
        if (_IOC_TYPE(request) != 'f' || _IOC_NR(request) != 16)
                return __real_ioctl(fd, request, argument);
        fake.n_scans++;
        if (fake.scan_crawls) {
                uint64_t *words = argument; /* see ScanArgument: 2 is the start, 4 where it ended */

                words[4] = words[2] + KIB(4);
                return 0;
        }
        if (fake.scan_error == 0)
                return __real_ioctl(fd, request, argument);
        errno = fake.scan_error;
        return -1;
}

static inline int begin(void **state) {
        (void)state;
        memset(&fake, 0, sizeof(fake));
        return 0;
}

/* Begins where a huge page may. */
static inline Area reserve(uint64_t size, int advice) {
        char *start = map(size + MIB(2), MAP_PRIVATE);

        start += (MIB(2) - (uintptr_t)start % MIB(2)) % MIB(2);
        (void)madvise(start, size, advice);
        return (Area){ .start = start, .size = size };
}

static inline int unmap(void **state) {
        const Area *const areas[] = { &fake.held, &fake.away, &fake.marked };

        (void)state;
        for (size_t i = 0; i < 3; i++)
                if (areas[i]->size > 0)
                        (void)munmap(areas[i]->start, areas[i]->size);
        return 0;
}

/* A number of the second column. */
static inline uint64_t kib_of(pid_t pid, const char *file, const char *key) {
        _cleanup_fclose_ FILE *f = NULL;
        char path[64], line[4096];
        uint64_t all = 0;

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
        f = fopen(path, "re");
        while (f && fgets(line, sizeof(line), f))
                if (strncmp(line, key, strlen(key)) == 0)
                        all += strtoull(line + strlen(key), NULL, 10);
        return all;
}

/* The ratio against what is known to be away, in three half-widths: one run in ten million fails.
 */
static inline void assert_share(const Draws *draws, double truth) {
        NodeSet home = { 0 };
        Estimate e;

        id_set_add(&home, HOME);
        e = sampler_outside(&topology, draws, &home);
        if (!(fabs(e.ratio - truth) <= 3 * estimate_halfwidth(&e)))
                fail_msg("%.4f of what was drawn is away, +-%.4f; expected %.4f", e.ratio,
                         estimate_halfwidth(&e), truth);
}
