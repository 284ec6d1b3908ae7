/* Where memory lies is decided by who touches it first: a helper thread pinned to a node touches
 * that node's share and ends. So no memory policy is set and the pin is gone with the thread, as in
 * a program whose threads wandered over the host while it allocated. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "workload-memory.h"

enum {
        PAGE_BYTES = 4096,
        HUGE_BYTES = 2 * 1024 * 1024,
        MAX_REGIONS = 8,
        STALL_USEC = 5000,        /* an access that takes longer is a stall */
        TOUCHES_BEFORE_REST = 64, /* so that the watch costs little of a small machine's CPU */
};

typedef struct Region {
        char *start;
        size_t bytes, touched;
} Region;

static Region regions[MAX_REGIONS];
static size_t n_regions;

typedef struct Touch {
        char *start;
        size_t bytes;
        int node; /* -1: from wherever the kernel runs us */
} Touch;

static struct {
        char *start;
        size_t bytes, bytes_per_sec;
        sem_t turn;
} growth;

static struct {
        bool runs;
        atomic_uint_fast64_t touches, stalls, sum_usec, longest_usec;
} watch;

static uint64_t now_usec(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void start_thread(pthread_t *ret, void *(*function)(void *), void *argument) {
        int r = pthread_create(ret, NULL, function, argument);

        errno = r;
        if (r != 0)
                err(1, "cannot start a thread");
}

/* --- nodes and their CPUs ----------------------------------------------------------------------
 */

/* The CPUs of the node that this process may run on; false where there are none. */
static bool cpus_of_node(int node, cpu_set_t *ret) {
        cpu_set_t allowed;
        char path[64], text[1024] = "";
        FILE *f;

        if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
                err(1, "cannot read my own CPU affinity");
        (void)snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
        f = fopen(path, "re");
        if (!f)
                return false;
        if (!fgets(text, sizeof(text), f))
                text[0] = '\0';
        (void)fclose(f);

        CPU_ZERO(ret);
        for (char *save, *range = strtok_r(text, ",\n", &save); range;
             range = strtok_r(NULL, ",\n", &save)) {
                int first, last, n = sscanf(range, "%d-%d", &first, &last);

                for (int cpu = first; n > 0 && cpu <= (n == 2 ? last : first); cpu++)
                        if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed))
                                CPU_SET(cpu, ret);
        }
        return CPU_COUNT(ret) > 0;
}

void spread_parse(const char *text, Spread *ret) {
        cpu_set_t cpus;
        int node, used;
        unsigned share;

        *ret = (Spread){ 0 };
        if (!text) {
                for (node = 0; node < MAX_NODES; node++)
                        ret->share[node] = cpus_of_node(node, &cpus);
                return;
        }
        for (const char *p = text;; p += used + 1) {
                if (sscanf(p, "%d:%u%n", &node, &share, &used) != 2 || node < 0 ||
                    node >= MAX_NODES || (p[used] != ',' && p[used] != '\0'))
                        errx(2, "--spread=%s: expected NODE:SHARE,… as in 0:3,4:1", text);
                if (!cpus_of_node(node, &cpus))
                        errx(2, "--spread=%s: I may run on no CPU of node %d", text, node);
                ret->share[node] = share;
                if (p[used] == '\0')
                        return;
        }
}

/* --- holding -----------------------------------------------------------------------------------
 */

static void *touch_thread(void *argument) {
        const Touch *touch = argument;
        cpu_set_t cpus;

        if (touch->node >= 0 &&
            (!cpus_of_node(touch->node, &cpus) || sched_setaffinity(0, sizeof(cpus), &cpus) < 0))
                err(1, "cannot run on node %d to touch memory from there", touch->node);
        for (size_t at = 0; at < touch->bytes; at += PAGE_BYTES)
                *(volatile char *)(touch->start + at) = 1;
        return NULL;
}

static void touch_from(int node, char *start, size_t bytes) {
        Touch touch = { .start = start, .bytes = bytes, .node = node };
        pthread_t thread;

        start_thread(&thread, touch_thread, &touch);
        (void)pthread_join(thread, NULL);
}

/* Gives each node its share of the region, in whole units, the last node what rounding left. */
static void touch_spread(const Region *region, size_t unit, const Spread *spread) {
        uint64_t total = 0, before = 0, units = region->touched / unit;

        for (int node = 0; node < MAX_NODES; node++)
                total += spread->share[node];
        if (total == 0)
                touch_from(-1, region->start, region->touched);
        for (int node = 0; node < MAX_NODES; node++) {
                uint64_t after = before + spread->share[node];

                if (after > before) {
                        size_t from = units * before / total * unit,
                               to = units * after / total * unit;

                        touch_from(node, region->start + from, to - from);
                }
                before = after;
        }
}

static int open_file(const char *dir, size_t bytes) {
        int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        if (fd < 0)
                err(1, "%s: cannot make a temporary file", dir);
        if (ftruncate(fd, (off_t)bytes) < 0)
                err(1, "%s: cannot make a file of %zu bytes", dir, bytes);
        return fd;
}

static int open_reserved(size_t bytes) {
        int fd = memfd_create("reserved", MFD_CLOEXEC | MFD_HUGETLB);

        if (fd < 0)
                err(1, "cannot make a file of huge pages");
        if (ftruncate(fd, (off_t)bytes) < 0)
                err(1, "cannot make a file of %zu bytes in huge pages", bytes);
        return fd;
}

static bool is_huge(RegionKind kind) {
        return kind == REGION_HUGE || kind == REGION_RESERVED || kind == REGION_RESERVED_SHARED;
}

/* Aligned to huge pages, so that a huge region has no remainder of base pages at its ends. */
static char *map_aligned(size_t bytes, int flags, int fd) {
        char *p = mmap(NULL, bytes + HUGE_BYTES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED)
                err(1, "cannot reserve %zu bytes of addresses", bytes);
        p += (HUGE_BYTES - (uintptr_t)p % HUGE_BYTES) % HUGE_BYTES;
        if (mmap(p, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) == MAP_FAILED)
                err(1, "cannot map %zu bytes", bytes);
        return p;
}

void memory_hold(RegionKind kind, size_t bytes, size_t touch, const char *dir,
                 const Spread *spread) {
        static const int flags[N_REGION_KINDS] = {
                [REGION_ANON] = MAP_PRIVATE | MAP_ANONYMOUS,
                [REGION_HUGE] = MAP_PRIVATE | MAP_ANONYMOUS,
                [REGION_SHMEM] = MAP_SHARED | MAP_ANONYMOUS,
                [REGION_FILE] = MAP_SHARED,
                [REGION_RESERVED] = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
                [REGION_RESERVED_SHARED] = MAP_SHARED,
        };
        size_t unit = is_huge(kind) ? HUGE_BYTES : PAGE_BYTES;
        Region *region = regions + n_regions;
        int fd;

        if (bytes == 0)
                return;
        if (n_regions == MAX_REGIONS)
                errx(2, "more than %d regions of memory", MAX_REGIONS);
        bytes = (bytes + unit - 1) / unit * unit;
        fd = kind == REGION_FILE              ? open_file(dir, bytes)
             : kind == REGION_RESERVED_SHARED ? open_reserved(bytes)
                                              : -1;
        *region = (Region){ .start = map_aligned(bytes, flags[kind], fd),
                            .bytes = bytes,
                            .touched = touch < bytes ? touch : bytes };
        if (fd >= 0)
                (void)close(fd);
        /* Base pages where asked for, whatever the host's setting for huge ones is. */
        if (kind == REGION_HUGE || kind == REGION_ANON)
                (void)madvise(region->start, bytes,
                              kind == REGION_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        touch_spread(region, unit, spread);
        n_regions++;
}

void memory_touch_rest(void) {
        for (size_t i = 0; i < n_regions; i++) {
                Region *r = &regions[i];

                touch_from(-1, r->start + r->touched, r->bytes - r->touched);
                r->touched = r->bytes;
        }
}

/* --- stalls ------------------------------------------------------------------------------------
 */

static void time_access(volatile char *p) {
        uint64_t start = now_usec(), took;

        *p = 2;
        took = now_usec() - start;
        atomic_fetch_add(&watch.touches, 1);
        if (took > atomic_load(&watch.longest_usec))
                atomic_store(&watch.longest_usec, took);
        if (took > STALL_USEC) {
                atomic_fetch_add(&watch.stalls, 1);
                atomic_fetch_add(&watch.sum_usec, took);
        }
}

static _Noreturn void *watch_thread(void *argument) {
        const struct timespec rest = { .tv_nsec = 1000 * 1000 };
        unsigned count = 0;

        (void)argument;
        for (;;)
                for (size_t i = 0; i < n_regions; i++)
                        for (size_t at = 0; at < regions[i].touched; at += PAGE_BYTES) {
                                time_access(regions[i].start + at);
                                if (++count % TOUCHES_BEFORE_REST == 0)
                                        (void)nanosleep(&rest, NULL);
                        }
}

void stall_watch_start(void) {
        pthread_t thread;

        if (n_regions == 0)
                errx(2, "--stall-report needs memory to touch: give --anon, --huge, --shmem or "
                        "--file");
        watch.runs = true;
        start_thread(&thread, watch_thread, NULL);
}

void stall_report(void) {
        if (!watch.runs)
                return;
        printf("stalls: longest_usec=%ju sum_usec=%ju count=%ju touches=%ju\n",
               (uintmax_t)atomic_exchange(&watch.longest_usec, 0),
               (uintmax_t)atomic_exchange(&watch.sum_usec, 0),
               (uintmax_t)atomic_exchange(&watch.stalls, 0),
               (uintmax_t)atomic_exchange(&watch.touches, 0));
        (void)fflush(stdout);
}

/* --- growing -----------------------------------------------------------------------------------
 */

/* False: it is somebody's turn before all is there. */
static bool grow(void) {
        const struct timespec tick = { .tv_nsec = 50 * 1000 * 1000 };
        uint64_t start = now_usec();

        for (size_t at = 0; at < growth.bytes; (void)nanosleep(&tick, NULL)) {
                uint64_t due = (now_usec() - start) * growth.bytes_per_sec / 1000000;

                for (; at < growth.bytes && at < due; at += PAGE_BYTES)
                        time_access(growth.start + at);
                if (sem_trywait(&growth.turn) == 0)
                        return false;
        }
        return true;
}

static void wait_for_turn(void) {
        while (sem_wait(&growth.turn) < 0)
                ;
}

static _Noreturn void *grow_thread(void *argument) {
        (void)argument;
        for (;;) {
                wait_for_turn();
                if (grow())
                        wait_for_turn();
                if (madvise(growth.start, growth.bytes / 4 * 3, MADV_DONTNEED) < 0)
                        err(1, "cannot give memory back");
        }
}

void memory_grow_prepare(size_t bytes_per_sec, size_t max) {
        pthread_t thread;

        growth.start = map_aligned(max, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
        growth.bytes = max;
        growth.bytes_per_sec = bytes_per_sec;
        (void)sem_init(&growth.turn, 0, 0);
        (void)madvise(growth.start, max, MADV_NOHUGEPAGE);
        start_thread(&thread, grow_thread, NULL);
}

void memory_grow_turn(void) {
        if (growth.bytes > 0)
                (void)sem_post(&growth.turn);
}
