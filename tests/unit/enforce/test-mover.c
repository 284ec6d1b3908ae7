/* The gentle mover: on a real process of this machine, and on pages of this test with a kernel of
 * several nodes that the test plays itself. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/enforce/mover.h"

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
        unsigned queries, calls;
        bool says_busy;     /* of what it moved */
        bool marked[PAGES]; /* by NUMA balancing: hidden until it is touched */
        unsigned touches[PAGES];
        int touch_refusal;
        bool touch_moves, touch_tells;
        int refusal;
} Kernel;

static Kernel kernel;

int __real_maps_next(MapsReader *reader, Mapping *ret);
int __wrap_maps_next(MapsReader *reader, Mapping *ret);
int __real_maps_rewind(MapsReader *reader);
int __wrap_maps_rewind(MapsReader *reader);
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

static size_t page_of(const void *address) {
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
                                       ? -ENOENT
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
static void put(size_t page, uint32_t node) {
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
static void kernel_init_as(int node, MappingKind kind) {
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

static void kernel_init(int node) {
        kernel_init_as(node, MAPPING_PRIVATE);
}

static int begin(void **state, Mover *mover, ProcHandle *handle) {
        Sysroot *sysroot = *state;

        assert_int_equal(proc_open(sysroot, getpid(), handle), 0);
        *mover = MOVER_NONE;
        return mover_begin(mover, handle);
}

/* What it does before it moves anything. */
static void survey(Mover *mover, const NodeSet *nodes, uint32_t target) {
        uint64_t bytes;

        while (mover->phase == MOVER_SURVEY) {
                assert_int_equal(mover_step(mover, nodes, target, UINT64_MAX, &bytes), 1);
                assert_int_equal(bytes, 0);
        }
        kernel.queries = 0;
}

/* Steps to the end. Returns what had to be paid for; every step that found something returned. */
static uint64_t walk(Mover *mover, const char *nodes, uint32_t target) {
        NodeSet set = ids(nodes);
        uint64_t total = 0, bytes;
        int r;

        survey(mover, &set, target);
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

static void test_moves_every_page_once(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES));
        for (size_t i = 0; i < PAGES; i++) {
                /* The first of a whole chunk is tried alone before the others. */
                assert_true(kernel.moves[i] == 1 ||
                            (kernel.moves[i] == 2 &&
                             (uintptr_t)(kernel.area + BYTES(i)) % MOVER_CHUNK_BYTES == 0));
                assert_int_equal(kernel.nodes[i], 0);
        }
        assert_int_equal(kernel.largest_call, MOVER_BATCH_PAGES);
        assert_int_equal(kernel.reach, PAGES_ALL);
        assert_int_equal(mover.found_bytes, BYTES(PAGES));
        assert_int_equal(mover.moved_bytes, BYTES(PAGES));
        assert_int_equal(mover.failed_pages, 0);
        mover_end(&mover);
        proc_close(&handle);
}

static void test_leaves_what_is_in_its_place(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(0);
        for (size_t i = 0; i < PAGES; i += 3)
                kernel.nodes[i] = 2;
        for (size_t i = 1; i < PAGES; i += 3)
                kernel.nodes[i] = 4;
        assert_int_equal(begin(state, &mover, &handle), 0);
        /* To 0; what lies on 2 lies well. */
        assert_int_equal(walk(&mover, "0,2", 0), BYTES(433));
        for (size_t i = 0; i < PAGES; i++)
                assert_int_equal(kernel.moves[i], i % 3 == 1);
        mover_end(&mover);
        proc_close(&handle);
}

static void test_nothing_to_do(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(0);
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), 0);
        assert_int_equal(kernel.calls, 0);
        assert_true(kernel.queries > 1);
        assert_int_equal(mover.n_ranked, 0);
        assert_int_equal(mover.found_bytes, 0);
        mover_end(&mover);
        proc_close(&handle);
}

/* Marked for NUMA hinting, or gone since: no node, so nothing to move now. */
static void test_pages_without_a_node(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(-ENOENT);
        kernel.nodes[5] = 1;
        kernel.nodes[6] = -EFAULT;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(1));
        for (size_t i = 0; i < PAGES; i++)
                assert_int_equal(kernel.moves[i], i == 5);
        assert_int_equal(mover.failed_pages, 0);
        mover_end(&mover);
        proc_close(&handle);
}

/* Marked by NUMA balancing: touched once, and then moved as the others. */
static void test_marked_pages(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        for (size_t i = 0; i < PAGES; i += 3)
                kernel.marked[i] = true;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES));
        for (size_t i = 0; i < PAGES; i++) {
                assert_int_equal(kernel.nodes[i], 0);
                assert_int_equal(kernel.touches[i], i % 3 == 0);
        }
        mover_end(&mover);
        proc_close(&handle);
}

/* What a touch has moved is moved, counted and paid for: half of the marked pages were home. */
static void assert_touch_moves(void **state, bool tells, size_t n_paid) {
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.touch_moves = true;
        kernel.touch_tells = tells;
        for (size_t i = 0; i < PAGES; i++) {
                kernel.marked[i] = i % 2;
                kernel.nodes[i] = i % 4 == 1; /* of the marked ones every other is home */
        }
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(n_paid));
        assert_int_equal(mover.moved_bytes, BYTES(n_paid));
        assert_int_equal(mover.found_bytes, BYTES(n_paid));
        assert_int_equal(mover.failed_pages, 0);
        mover_end(&mover);
        proc_close(&handle);
}

static void test_touches_that_move(void **state) {
        assert_touch_moves(state, true, PAGES / 4);
        assert_touch_moves(state, false, PAGES / 2); /* rather too slow than too fast */
}

static void test_marked_pages_that_may_not_be_touched(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.touch_refusal = -EPERM;
        kernel.marked[7] = true;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES - 1));
        assert_int_equal(kernel.nodes[7], 1);
        assert_int_equal(mover.failed_pages, 0);
        mover_end(&mover);
        proc_close(&handle);
}

static void test_statuses_are_not_believed(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.says_busy = true;
        for (size_t i = 0; i < 10; i++)
                kernel.stubborn[100 * i + 1] = true;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES));
        assert_int_equal(mover.found_bytes, BYTES(PAGES));
        assert_int_equal(mover.moved_bytes, BYTES(PAGES - 10));
        assert_int_equal(mover.failed_pages, 10);
        for (size_t i = 0; i < 10; i++)
                assert_true(kernel.moves[100 * i + 1] <= 2); /* and not again and again in a pass */
        mover_end(&mover);
        proc_close(&handle);
}

static void test_refusals(void **state) {
        NodeSet nodes = ids("0");
        uint64_t bytes = 7;
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.refusal = -EACCES;
        assert_int_equal(begin(state, &mover, &handle), 0);
        survey(&mover, &nodes, 0);
        assert_int_equal(mover_step(&mover, &nodes, 0, UINT64_MAX, &bytes), -EACCES);
        assert_int_equal(bytes, 0);
        assert_int_equal(mover.moved_bytes, 0);
        assert_int_equal(kernel.calls, 1);
        mover_end(&mover);
        proc_close(&handle);
}

static void test_pages_that_are_not_there(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        assert_int_equal(madvise(kernel.area, 1000 * page_size_bytes(), MADV_DONTNEED), 0);
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES - 1000));
        assert_int_equal(kernel.moves[999], 0);
        assert_int_equal(kernel.moves[1000], 1);
        mover_end(&mover);
        proc_close(&handle);
}

static void test_several_mappings(void **state) {
        const uint64_t page = page_size_bytes();
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.n_mappings = 3;
        kernel.mappings[0].end = kernel.mappings[0].start + page;
        kernel.mappings[1] = kernel.mappings[2] = kernel.mappings[0];
        kernel.mappings[2].end = kernel.mappings[0].start + PAGES * page;
        kernel.mappings[1].start = kernel.mappings[0].start + 2 * page;
        kernel.mappings[1].end = kernel.mappings[0].start + 600 * page;
        kernel.mappings[2].start = kernel.mappings[2].end - page;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(600));
        for (size_t i = 0; i < PAGES; i++)
                assert_int_equal(kernel.moves[i] > 0,
                                 i == 0 || (i >= 2 && i < 600) || i == PAGES - 1);
        mover_end(&mover);
        proc_close(&handle);
}

/* No more than about so much address space is looked through at a time, and nothing twice. */
static void test_scan_limit(void **state) {
        NodeSet nodes = ids("0");
        uint64_t bytes;
        unsigned steps = 0;
        Mover mover;
        ProcHandle handle;

        kernel_init(0);
        assert_int_equal(begin(state, &mover, &handle), 0);
        survey(&mover, &nodes, 0);
        while (mover_step(&mover, &nodes, 0, 1, &bytes) == 1) {
                assert_int_equal(bytes, 0);
                assert_true(kernel.queries <= steps + 1);
                steps = kernel.queries;
        }
        /* The chunks that the area touches. */
        assert_int_equal(steps, (kernel.mappings[0].end - 1) / MOVER_CHUNK_BYTES -
                                        kernel.mappings[0].start / MOVER_CHUNK_BYTES + 1);
        mover_end(&mover);
        proc_close(&handle);
}

static void test_begin_again(void **state) {
        NodeSet nodes = ids("0");
        uint64_t bytes;
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        assert_int_equal(begin(state, &mover, &handle), 0);
        survey(&mover, &nodes, 0);
        assert_int_equal(mover_step(&mover, &nodes, 0, UINT64_MAX, &bytes), 1);
        assert_true(bytes > 0);
        for (size_t i = 0; i < PAGES; i++)
                kernel.nodes[i] = 1;
        assert_int_equal(mover_begin(&mover, &handle), 0); /* from the start */
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES));
        assert_int_equal(mover.found_bytes, BYTES(PAGES) + bytes); /* an instance has several */
        mover_reset_counters(&mover);
        assert_int_equal(mover.found_bytes + mover.moved_bytes + mover.failed_pages, 0);
        mover_end(&mover);
        assert_null(mover.process);
        assert_int_equal(mover.pagemap_fd, -EBADF);
        mover_end(&mover);
        proc_close(&handle);
}

static void test_empty_process(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.n_mappings = 0;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), 0);
        mover_end(&mover);
        proc_close(&handle);
}

/* --- huge pages, shared memory, files ----------------------------------------------------------
 */

/* The first page of the first whole chunk in the area. */
static size_t first_of_chunk(void) {
        uint64_t start = (uintptr_t)kernel.area;

        return (size_t)((MOVER_CHUNK_BYTES - start % MOVER_CHUNK_BYTES) / page_size_bytes());
}

static void test_a_huge_page_is_asked_for_once(void **state) {
        const size_t pages = MOVER_CHUNK_BYTES / page_size_bytes();
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.huge_first = first_of_chunk();
        kernel.huge_pages = pages;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES)); /* paid for by its bytes */
        assert_int_equal(mover.moved_bytes, BYTES(PAGES));
        assert_int_equal(kernel.moves[kernel.huge_first], 1);
        for (size_t i = 1; i < pages; i++)
                assert_int_equal(kernel.moves[kernel.huge_first + i], 0);
        mover_end(&mover);
        proc_close(&handle);
}

/* A chunk that is not outside as a whole is no huge page. */
static void test_a_chunk_with_a_page_at_home(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.nodes[first_of_chunk() + 9] = 0;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES - 1));
        assert_int_equal(kernel.moves[first_of_chunk()], 1);
        assert_int_equal(kernel.moves[first_of_chunk() + 9], 0);
        mover_end(&mover);
        proc_close(&handle);
}

/* Of files what nobody else maps, in smaller calls; and it is none of the private memory. */
static void test_files(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init_as(1, MAPPING_FILE);
        kernel.others[3] = kernel.others[4] = kernel.marked[5] = true;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES - 3));
        assert_int_equal(mover.shared_moved_bytes, BYTES(PAGES - 3));
        assert_int_equal(mover.found_bytes + mover.moved_bytes + mover.failed_pages, 0);
        assert_int_equal(kernel.largest_call, MOVER_FILE_BATCH_PAGES);
        assert_int_equal(kernel.reach, PAGES_ALONE);
        assert_int_equal(kernel.touches[5], 0);
        assert_int_equal(kernel.nodes[3], 1);
        mover_end(&mover);
        proc_close(&handle);
}

/* Shared memory without a name: only a fork can share it, and it comes whole. */
static void test_shared_memory(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init_as(1, MAPPING_SHARED_ANON);
        kernel.others[3] = true;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES));
        assert_int_equal(mover.shared_moved_bytes, BYTES(PAGES));
        assert_int_equal(mover.found_bytes, 0);
        assert_int_equal(kernel.reach, PAGES_ALL);
        mover_end(&mover);
        proc_close(&handle);
}

static void test_mappings_that_do_not_count(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.mappings[0].kind = MAPPING_OTHER;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), 0);
        assert_int_equal(kernel.calls, 0);
        mover_end(&mover);
        proc_close(&handle);
}

/* The rank of the pages' kind is the mapping's: pages of a file in private memory without one do
 * not exist. */
static void test_shared_pages_are_not_private(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init_as(1, MAPPING_FILE);
        kernel.mappings[0].kind = MAPPING_PRIVATE;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), 0);
        kernel.mappings[0].has_file = true;
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(PAGES));
        assert_int_equal(kernel.reach, PAGES_ALONE);
        mover_end(&mover);
        proc_close(&handle);
}

/* --- the order ----------------------------------------------------------------------------------
 */

/* The one that has more outside first, though it is neither the first nor the largest. */
static void test_largest_outside_first(void **state) {
        const uint64_t page = page_size_bytes(), chunk = MOVER_CHUNK_BYTES / page;
        Mover mover;
        ProcHandle handle;

        kernel_init(0);
        kernel.n_mappings = 2;
        kernel.mappings[1] = kernel.mappings[0];
        kernel.mappings[0].end = kernel.mappings[1].start = kernel.mappings[0].start + 700 * page;
        for (size_t i = 0; i < 100; i++)
                kernel.nodes[i] = 1;
        for (size_t i = 700; i < 700 + chunk; i++)
                kernel.nodes[i] = 1;
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(100 + chunk));
        assert_int_equal(mover.n_ranked, 2);
        assert_ptr_equal(kernel.asked_first, kernel.area + 700 * page);
        for (size_t i = 0; i < PAGES; i++)
                assert_true(kernel.moves[i] <= 2 && kernel.nodes[i] == 0);
        mover_end(&mover);
        proc_close(&handle);
}

/* There may be 50,000 of them, and none is worth a question of its own. */
static void test_small_mappings_are_not_ranked(void **state) {
        NodeSet nodes = ids("0");
        uint64_t bytes;
        Mover mover;
        ProcHandle handle;

        kernel_init(1);
        kernel.mappings[0].end = kernel.mappings[0].start + MOVER_CHUNK_BYTES - page_size_bytes();
        assert_int_equal(begin(state, &mover, &handle), 0);
        while (mover.phase == MOVER_SURVEY)
                assert_int_equal(mover_step(&mover, &nodes, 0, UINT64_MAX, &bytes), 1);
        assert_int_equal(kernel.queries + mover.n_ranked, 0);
        assert_int_equal(walk(&mover, "0", 0), MOVER_CHUNK_BYTES - page_size_bytes());
        mover_end(&mover);
        proc_close(&handle);
}

/* A mapping that was gone through is not gone through again. */
static void test_ranked_mappings_are_not_walked_twice(void **state) {
        Mover mover;
        ProcHandle handle;

        kernel_init(0);
        kernel.nodes[0] = 1; /* the first sample */
        assert_int_equal(begin(state, &mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), BYTES(1));
        assert_int_equal(mover.n_ranked, 1);
        assert_true(kernel.queries <= 1 + PAGES / 512 + 2);
        mover_end(&mover);
        proc_close(&handle);
}

/* sleep(1), whose memory does not change. */
static pid_t start_sleeper(void) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                (void)execlp("sleep", "sleep", "1000", NULL);
                _exit(127);
        }
        return pid;
}

static void end_child(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static uint64_t anonymous_bytes(const ProcHandle *handle) {
        char text[4096];
        const char *line;
        uint64_t kib;

        assert_true(read_file_at(handle->dir_fd, "smaps_rollup", text, sizeof(text)) > 0);
        line = strstr(text, "\nAnonymous:");
        assert_non_null(line);
        assert_int_equal(sscanf(line, "\nAnonymous: %" SCNu64 " kB", &kib), 1);
        return kib * 1024;
}

static bool sleeps(const ProcHandle *handle) {
        char name[32], call[256];

        return read_file_at(handle->dir_fd, "comm", name, sizeof(name)) >= 0 &&
               strcmp(name, "sleep") == 0 &&
               read_file_at(handle->dir_fd, "wchan", call, sizeof(call)) >= 0 &&
               strstr(call, "nanosleep");
}

static void open_sleeper(const Sysroot *sysroot, pid_t pid, ProcHandle *handle) {
        kernel = (Kernel){ 0 };
        assert_int_equal(proc_open(sysroot, pid, handle), 0);
        for (int i = 0; i < 1000 && !sleeps(handle); i++)
                (void)usleep(2000);
}

static void test_real_process_in_its_place(void **state) {
        Sysroot *sysroot = *state;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        pid_t pid = start_sleeper();
        char nodes[ID_SET_LIST_MAX];
        Mover mover = MOVER_NONE;

        open_sleeper(sysroot, pid, &handle);
        assert_true(read_file_at(sysroot->sys_fd, "devices/system/node/has_memory", nodes,
                                 sizeof(nodes)) > 0);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(walk(&mover, nodes, 0), 0);
        assert_int_equal(mover.found_bytes, 0);
        mover_end(&mover);
        end_child(pid);
}

/* No node is good enough: the whole of its anonymous memory is found, to the page. */
static void test_real_process_is_found_whole(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        pid_t pid = start_sleeper();
        NodeSet none = ids("");
        Mover mover = MOVER_NONE;
        uint64_t bytes;

        if (geteuid() != 0) {
                print_message("moving wants root\n");
                end_child(pid);
                skip();
        }
        open_sleeper(*state, pid, &handle);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(walk(&mover, "", 0), anonymous_bytes(&handle));
        assert_int_equal(mover.found_bytes, anonymous_bytes(&handle));
        assert_true(mover.found_bytes > 0);
        assert_int_equal(mover.moved_bytes, 0);
        assert_int_equal(mover.shared_moved_bytes, 0);
        assert_int_equal(mover.failed_pages * page_size_bytes(), mover.found_bytes);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        survey(&mover, &none, NO_SUCH_NODE);
        assert_int_equal(mover_step(&mover, &none, NO_SUCH_NODE, UINT64_MAX, &bytes), -ENODEV);
        mover_end(&mover);
        end_child(pid);
}

static void test_real_process_that_ends(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        pid_t pid = start_sleeper();
        NodeSet nodes = ids("0");
        Mover mover = MOVER_NONE;
        uint64_t bytes = 7;
        int r = 1;

        open_sleeper(*state, pid, &handle);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(mover_step(&mover, &nodes, 0, 1, &bytes), 1);
        end_child(pid);
        for (unsigned i = 0; r > 0 && i < 1000; i++) {
                r = mover_step(&mover, &nodes, 0, 1, &bytes);
                assert_int_equal(bytes, 0);
        }
        assert_int_equal(r, -ESRCH);
        assert_int_equal(mover_begin(&mover, &handle), -ESRCH);
        assert_null(mover.process);
        mover_end(&mover);
}

/* Its memory is still shown by the folder that is held, but its number may be another's by now. */
static void test_number_may_be_anothers(void **state) {
        Sysroot *sysroot = *state;
        _cleanup_proc_ ProcHandle ended = PROC_HANDLE_NONE, handle = PROC_HANDLE_NONE;
        pid_t pid = start_sleeper();
        NodeSet nodes = ids("0");
        Mover mover = MOVER_NONE;
        uint64_t bytes;

        assert_int_equal(proc_open(sysroot, pid, &ended), 0);
        end_child(pid);
        kernel_init(1);
        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        closep(&handle.pidfd);
        handle.pidfd = TAKE_FD(ended.pidfd);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(mover_step(&mover, &nodes, 0, UINT64_MAX, &bytes), -ESRCH);
        mover.phase = MOVER_REST;
        assert_int_equal(mover_step(&mover, &nodes, 0, UINT64_MAX, &bytes), -ESRCH);
        assert_int_equal(kernel.queries + kernel.calls, 0);
        mover_end(&mover);
}

/* It executes another program in the middle of the pass: what the mover holds is of a memory that
 * is gone, and the pass is to be begun again. */
static void test_exec_in_the_middle(void **state) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        NodeSet nodes = ids("0");
        Mover mover = MOVER_NONE;
        uint64_t bytes;
        int go[2], r;
        pid_t pid;

        kernel = (Kernel){ 0 };
        assert_int_equal(pipe2(go, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                char byte;

                (void)!read(go[0], &byte, 1);
                (void)execlp("sleep", "sleep", "1000", NULL);
                _exit(127);
        }
        assert_int_equal(proc_open(*state, pid, &handle), 0);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        survey(&mover, &nodes, 0);
        assert_int_equal(write(go[1], "x", 1), 1);
        for (int i = 0; i < 1000 && !sleeps(&handle); i++)
                (void)usleep(2000);
        do
                r = mover_step(&mover, &nodes, 0, 1, &bytes);
        while (r > 0);
        assert_int_equal(r, -ESTALE);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), 0);
        mover_end(&mover);
        end_child(pid);
        (void)close(go[0]);
        (void)close(go[1]);
}

static int setup(void **state) {
        static Sysroot sysroot;

        *state = &sysroot;
        return sysroot_open(NULL, &sysroot);
}

static int teardown(void **state) {
        sysroot_close(*state);
        return 0;
}

static int end_test(void **state) {
        (void)state;
        if (kernel.on)
                (void)munmap(kernel.area, PAGES * page_size_bytes());
        kernel.on = false;
        return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, end_test)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_moves_every_page_once),
                TEST(test_leaves_what_is_in_its_place),
                TEST(test_nothing_to_do),
                TEST(test_pages_without_a_node),
                TEST(test_marked_pages),
                TEST(test_touches_that_move),
                TEST(test_marked_pages_that_may_not_be_touched),
                TEST(test_statuses_are_not_believed),
                TEST(test_refusals),
                TEST(test_pages_that_are_not_there),
                TEST(test_several_mappings),
                TEST(test_scan_limit),
                TEST(test_begin_again),
                TEST(test_empty_process),
                TEST(test_a_huge_page_is_asked_for_once),
                TEST(test_a_chunk_with_a_page_at_home),
                TEST(test_files),
                TEST(test_shared_memory),
                TEST(test_mappings_that_do_not_count),
                TEST(test_shared_pages_are_not_private),
                TEST(test_largest_outside_first),
                TEST(test_small_mappings_are_not_ranked),
                TEST(test_ranked_mappings_are_not_walked_twice),
                TEST(test_real_process_in_its_place),
                TEST(test_real_process_is_found_whole),
                TEST(test_real_process_that_ends),
                TEST(test_exec_in_the_middle),
                TEST(test_number_may_be_anothers),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
