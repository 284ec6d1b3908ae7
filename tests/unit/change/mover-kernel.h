/* A kernel of several nodes for tests of the gentle mover: pages of the test itself, with what
 * calls of the real one would answer. */
#pragma once

#include <inttypes.h>
#include <sys/mman.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/change/mover.h"

enum { PAGES = 1300, NO_SUCH_NODE = 1000 };

/* Where the pages of an area lie, as the played kernel has it. */
typedef struct Kernel {
        bool on;
        char *area;
        Mapping mappings[3];
        size_t n_mappings;
        int nodes[PAGES];              /* negative: what a query answers instead */
        bool stubborn[PAGES];          /* does not move */
        bool others[PAGES];            /* another process maps it too */
        unsigned moves[PAGES];         /* how often it was asked for */
        size_t huge_first, huge_pages; /* one huge page, which moves whole by its first page */
        size_t largest_call;
        const void *asked_first; /* of the first call that moves */
        PageReach reach;         /* of the last one */
        size_t next_mapping;
        unsigned reads, queries, calls;
        bool says_busy;     /* of what it moved */
        bool marked[PAGES]; /* by NUMA balancing: hidden until it is touched */
        int marked_answer;  /* of a query; 0: -ENOENT */
        unsigned touches[PAGES];
        int touch_refusal;
        bool touch_moves, touch_tells;
        int refusal;
} Kernel;

static Kernel kernel;

static struct Tested {
        Mover mover;
        ProcHandle handle;
} tested = { .mover = MOVER_NONE, .handle = PROC_HANDLE_NONE };

int __real_maps_next(MapsReader *reader, Mapping *ret);
int __wrap_maps_next(MapsReader *reader, Mapping *ret);
int __real_maps_rewind(MapsReader *reader);
int __wrap_maps_rewind(MapsReader *reader);
int __real_pagemap_read(int fd, uint64_t start, size_t n_pages, uint64_t *ret_entries);
int __wrap_pagemap_read(int fd, uint64_t start, size_t n_pages, uint64_t *ret_entries);
int __real_pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes);
int __wrap_pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes);
int __real_pages_move(pid_t pid, size_t n_pages, void **addresses, uint32_t node, PageReach reach,
                      int *ret_status);
int __wrap_pages_move(pid_t pid, size_t n_pages, void **addresses, uint32_t node, PageReach reach,
                      int *ret_status);

int __real_pages_touch(pid_t pid, size_t n_pages, void **addresses, uint64_t *ret_moved_pages);
int __wrap_pages_touch(pid_t pid, size_t n_pages, void **addresses, uint64_t *ret_moved_pages);

int __wrap_maps_next(MapsReader *reader, Mapping *ret) {
        if (!kernel.on)
                return __real_maps_next(reader, ret);
        if (kernel.next_mapping == kernel.n_mappings)
                return 0;
        *ret = kernel.mappings[kernel.next_mapping++];
        return 1;
}

int __wrap_maps_rewind(MapsReader *reader) {
        kernel.next_mapping = 0;
        return __real_maps_rewind(reader);
}

int __wrap_pagemap_read(int fd, uint64_t start, size_t n_pages, uint64_t *ret_entries) {
        kernel.reads++;
        return __real_pagemap_read(fd, start, n_pages, ret_entries);
}

static inline size_t page_of(const void *address) {
        size_t page = (size_t)((const char *)address - kernel.area) / page_size_bytes();

        assert_true(page < PAGES);
        return page;
}

int __wrap_pages_query(pid_t pid, size_t n_pages, void **addresses, int *ret_nodes) {
        if (!kernel.on)
                return __real_pages_query(pid, n_pages, addresses, ret_nodes);
        assert_int_equal(pid, getpid());
        kernel.queries++;
        for (size_t i = 0; i < n_pages; i++)
                ret_nodes[i] = kernel.marked[page_of(addresses[i])]
                                       ? (kernel.marked_answer ? kernel.marked_answer : -ENOENT)
                                       : kernel.nodes[page_of(addresses[i])];
        return 0;
}

/* As NUMA balancing does it: a marked page outside may come along at once. */
int __wrap_pages_touch(pid_t pid, size_t n_pages, void **addresses, uint64_t *ret_moved_pages) {
        if (!kernel.on)
                return __real_pages_touch(pid, n_pages, addresses, ret_moved_pages);
        *ret_moved_pages = kernel.touch_tells ? 0 : PAGES_UNKNOWN;
        assert_int_equal(pid, getpid());
        if (kernel.touch_refusal < 0)
                return kernel.touch_refusal;
        for (size_t i = 0; i < n_pages; i++) {
                const size_t page = page_of(addresses[i]);

                kernel.touches[page]++;
                kernel.marked[page] = false;
                if (!kernel.touch_moves || kernel.nodes[page] == 0)
                        continue;
                kernel.nodes[page] = 0;
                *ret_moved_pages += kernel.touch_tells;
        }
        return 0;
}

/* As migrate.c does it: a huge page goes as a whole when its first page is asked for. */
static inline void put(size_t page, uint32_t node) {
        size_t n = page == kernel.huge_first && kernel.huge_pages > 0 ? kernel.huge_pages : 1;

        for (size_t i = page; i < page + n; i++)
                kernel.nodes[i] = (int)node;
}

int __wrap_pages_move(pid_t pid, size_t n_pages, void **addresses, uint32_t node, PageReach reach,
                      int *ret_status) {
        if (!kernel.on)
                return __real_pages_move(pid, n_pages, addresses, node, reach, ret_status);
        assert_int_equal(pid, getpid());
        assert_true(n_pages > 0 && n_pages <= MOVER_BATCH_PAGES);
        kernel.asked_first = kernel.calls++ == 0 ? addresses[0] : kernel.asked_first;
        kernel.largest_call = n_pages > kernel.largest_call ? n_pages : kernel.largest_call;
        kernel.reach = reach;
        if (kernel.refusal < 0)
                return kernel.refusal;
        for (size_t i = 0; i < n_pages; i++) {
                size_t page = page_of(addresses[i]);
                bool stays = kernel.stubborn[page] || (reach == PAGES_ALONE && kernel.others[page]);

                kernel.moves[page]++;
                ret_status[i] = stays || kernel.says_busy ? -EBUSY : (int)node;
                if (!stays)
                        put(page, node);
        }
        return 0;
}

/* An area of this process, touched whole, that begins in the middle of a chunk. */
static inline void kernel_init_as(int node, MappingKind kind) {
        const size_t size = PAGES * page_size_bytes();
        int flags = kind == MAPPING_PRIVATE ? MAP_PRIVATE : MAP_SHARED;
        char *p = mmap(NULL, size + MOVER_CHUNK_BYTES, PROT_READ | PROT_WRITE,
                       flags | MAP_ANONYMOUS, -1, 0);

        assert_true(p != MAP_FAILED);
        kernel = (Kernel){ .on = true, .area = p + page_size_bytes(), .n_mappings = 1 };
        if ((uintptr_t)kernel.area % MOVER_CHUNK_BYTES == 0)
                kernel.area += page_size_bytes();
        (void)madvise(kernel.area, size, MADV_NOHUGEPAGE);
        memset(kernel.area, 1, size);
        kernel.mappings[0].start = (uintptr_t)kernel.area;
        kernel.mappings[0].end = (uintptr_t)kernel.area + size;
        kernel.mappings[0].kind = kind;
        for (size_t i = 0; i < PAGES; i++)
                kernel.nodes[i] = node;
}

static inline void kernel_init(int node) {
        kernel_init_as(node, MAPPING_PRIVATE);
}

static inline void end_mover(void) {
        mover_end(&tested.mover);
        proc_close(&tested.handle);
        tested.mover = MOVER_NONE;
        tested.handle = PROC_HANDLE_NONE;
}

/* Over this process; the one before is ended. */
static inline int begin(void **state) {
        Sysroot *sysroot = *state;

        end_mover();
        assert_int_equal(proc_open(sysroot, getpid(), &tested.handle), 0);
        tested.mover.alone = true;
        return mover_begin(&tested.mover, &tested.handle);
}

/* What it does before it moves anything. */
static inline void scan(Mover *mover, const NodeSet *nodes, uint32_t target) {
        uint64_t bytes;

        while (mover->phase == MOVER_SCAN) {
                assert_int_equal(mover_step(mover, nodes, target, UINT64_MAX, &bytes), 1);
                assert_int_equal(bytes, 0);
        }
        kernel.queries = 0;
}

/* Steps to the end. Returns what had to be paid for; every step that found something returned. */
static inline uint64_t walk(Mover *mover, const char *nodes, uint32_t target) {
        NodeSet set = node_set(nodes);
        uint64_t total = 0, bytes;
        int r;

        scan(mover, &set, target);
        for (unsigned n = 0; n < 10000; n++) {
                r = mover_step(mover, &set, target, UINT64_MAX, &bytes);
                assert_true(bytes <= 2 * MOVER_CHUNK_BYTES);
                total += bytes;
                if (r <= 0) {
                        assert_int_equal(r, 0);
                        return total;
                }
                assert_true(bytes > 0);
        }
        fail_msg("no end");
        return 0;
}

#define BYTES(pages) ((uint64_t)(pages)*page_size_bytes())

static inline int setup(void **state) {
        static Sysroot sysroot;

        *state = &sysroot;
        return sysroot_open(NULL, &sysroot);
}

static inline int teardown(void **state) {
        sysroot_close(*state);
        return 0;
}

static inline int end_test(void **state) {
        (void)state;
        end_mover();
        if (kernel.on)
                (void)munmap(kernel.area, PAGES * page_size_bytes());
        kernel.on = false;
        return 0;
}
