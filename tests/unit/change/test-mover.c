/* The gentle mover on pages of this test, with a kernel of several nodes that the test plays. */
#include "mover-kernel.h"

TEST(moves_every_page_once, .teardown_func = end_test) {
        kernel_init(1);
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES));
        for (size_t i = 0; i < PAGES; i++) {
                /* The first of a whole chunk is tried alone before the others. */
                assert_true(kernel.moves[i] == 1 ||
                            (kernel.moves[i] == 2 &&
                             (uintptr_t)(kernel.area + BYTES(i)) % MOVER_CHUNK_BYTES == 0));
                assert_int_equal(kernel.nodes[i], 0);
        }
        assert_int_equal(kernel.largest_call, MOVER_BATCH_PAGES);
        assert_int_equal(kernel.reach, PAGES_ALL);
        assert_int_equal(tested.mover.counters.found_bytes, BYTES(PAGES));
        assert_int_equal(tested.mover.counters.moved_bytes, BYTES(PAGES));
        assert_int_equal(tested.mover.counters.failed_pages, 0);
}

TEST(leaves_what_is_in_its_place, .teardown_func = end_test) {
        kernel_init(0);
        for (size_t i = 0; i < PAGES; i += 3)
                kernel.nodes[i] = 2;
        for (size_t i = 1; i < PAGES; i += 3)
                kernel.nodes[i] = 4;
        assert_int_equal(begin(state), 0);
        /* To node 0; pages on node 2 may stay. */
        assert_int_equal(walk(&tested.mover, "0,2", 0), BYTES(433));
        for (size_t i = 0; i < PAGES; i++)
                assert_int_equal(kernel.moves[i], i % 3 == 1);
}

TEST(nothing_to_do, .teardown_func = end_test) {
        kernel_init(0);
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), 0);
        assert_int_equal(kernel.calls, 0);
        assert_true(kernel.queries > 1);
        assert_int_equal(tested.mover.n_sorted, 0);
        assert_int_equal(tested.mover.counters.found_bytes, 0);
}

/* Marked for NUMA hinting, or gone since: no node, so nothing to move now. */
TEST(pages_without_a_node, .teardown_func = end_test) {
        kernel_init(-ENOENT);
        kernel.nodes[5] = 1;
        kernel.nodes[6] = -EFAULT;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(1));
        for (size_t i = 0; i < PAGES; i++)
                assert_int_equal(kernel.moves[i], i == 5);
        assert_int_equal(tested.mover.counters.failed_pages, 0);
}

/* Marked by NUMA balancing: touched once, and then moved as the others. */
TEST(marked_pages, .teardown_func = end_test) {
        kernel_init(1);
        for (size_t i = 0; i < PAGES; i += 3)
                kernel.marked[i] = true;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES));
        for (size_t i = 0; i < PAGES; i++) {
                assert_int_equal(kernel.nodes[i], 0);
                assert_int_equal(kernel.touches[i], i % 3 == 0);
        }
}

/* What a touch has moved is moved, counted and paid for: half of the marked pages were home. */
static void assert_touch_moves(void **state, bool tells, size_t n_paid) {
        kernel_init(1);
        kernel.touch_moves = true;
        kernel.touch_tells = tells;
        for (size_t i = 0; i < PAGES; i++) {
                kernel.marked[i] = i % 2;
                kernel.nodes[i] = i % 4 == 1; /* of the marked ones every other is home */
        }
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(n_paid));
        assert_int_equal(tested.mover.counters.moved_bytes, BYTES(n_paid));
        assert_int_equal(tested.mover.counters.found_bytes, BYTES(n_paid));
        assert_int_equal(tested.mover.counters.failed_pages, 0);
}

TEST(touches_that_move, .teardown_func = end_test) {
        assert_touch_moves(state, true, PAGES / 4);
        assert_touch_moves(state, false, PAGES / 2); /* rather too slow than too fast */
}

TEST(marked_pages_that_may_not_be_touched, .teardown_func = end_test) {
        kernel_init(1);
        kernel.touch_refusal = -EPERM;
        kernel.marked[7] = true;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES - 1));
        assert_int_equal(kernel.nodes[7], 1);
        assert_int_equal(tested.mover.counters.failed_pages, 0);
}

TEST(statuses_are_not_believed, .teardown_func = end_test) {
        kernel_init(1);
        kernel.says_busy = true;
        for (size_t i = 0; i < 10; i++)
                kernel.stubborn[100 * i + 1] = true;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES));
        assert_int_equal(tested.mover.counters.found_bytes, BYTES(PAGES));
        assert_int_equal(tested.mover.counters.moved_bytes, BYTES(PAGES - 10));
        assert_int_equal(tested.mover.counters.failed_pages, 10);
        for (size_t i = 0; i < 10; i++)
                assert_true(kernel.moves[100 * i + 1] <= 2); /* and not again and again in a pass */
}

TEST(refusals, .teardown_func = end_test) {
        NodeSet nodes = node_set("0");
        uint64_t bytes = 7;

        kernel_init(1);
        kernel.refusal = -EACCES;
        assert_int_equal(begin(state), 0);
        scan(&tested.mover, &nodes, 0);
        assert_int_equal(mover_step(&tested.mover, &nodes, 0, UINT64_MAX, &bytes), -EACCES);
        assert_int_equal(bytes, 0);
        assert_int_equal(tested.mover.counters.moved_bytes, 0);
        assert_int_equal(kernel.calls, 1);
}

TEST(pages_that_are_not_there, .teardown_func = end_test) {
        kernel_init(1);
        assert_int_equal(madvise(kernel.area, 1000 * page_size_bytes(), MADV_DONTNEED), 0);
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES - 1000));
        assert_int_equal(kernel.moves[999], 0);
        assert_int_equal(kernel.moves[1000], 1);
}

TEST(several_mappings, .teardown_func = end_test) {
        const uint64_t page = page_size_bytes();

        kernel_init(1);
        kernel.n_mappings = 3;
        kernel.mappings[0].end = kernel.mappings[0].start + page;
        kernel.mappings[1] = kernel.mappings[2] = kernel.mappings[0];
        kernel.mappings[2].end = kernel.mappings[0].start + PAGES * page;
        kernel.mappings[1].start = kernel.mappings[0].start + 2 * page;
        kernel.mappings[1].end = kernel.mappings[0].start + 600 * page;
        kernel.mappings[2].start = kernel.mappings[2].end - page;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(600));
        for (size_t i = 0; i < PAGES; i++)
                assert_int_equal(kernel.moves[i] > 0,
                                 i == 0 || (i >= 2 && i < 600) || i == PAGES - 1);
}

/* No more than about so much address space is read at a time, and nothing twice. */
TEST(scan_limit, .teardown_func = end_test) {
        NodeSet nodes = node_set("0");
        uint64_t bytes;
        unsigned steps = 0;

        kernel_init(0);
        assert_int_equal(begin(state), 0);
        scan(&tested.mover, &nodes, 0);
        while (mover_step(&tested.mover, &nodes, 0, 1, &bytes) == 1) {
                assert_int_equal(bytes, 0);
                assert_true(kernel.queries <= steps + 1);
                steps = kernel.queries;
        }
        /* The chunks that the area touches. */
        assert_int_equal(steps, (kernel.mappings[0].end - 1) / MOVER_CHUNK_BYTES -
                                        kernel.mappings[0].start / MOVER_CHUNK_BYTES + 1);
}

TEST(begin_again, .teardown_func = end_test) {
        NodeSet nodes = node_set("0");
        uint64_t bytes;

        kernel_init(1);
        assert_int_equal(begin(state), 0);
        scan(&tested.mover, &nodes, 0);
        assert_int_equal(mover_step(&tested.mover, &nodes, 0, UINT64_MAX, &bytes), 1);
        assert_true(bytes > 0);
        for (size_t i = 0; i < PAGES; i++)
                kernel.nodes[i] = 1;
        assert_int_equal(mover_begin(&tested.mover, &tested.handle), 0); /* from the start */
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES));
        assert_int_equal(tested.mover.counters.found_bytes,
                         BYTES(PAGES) + bytes); /* an instance has several */
        tested.mover.counters = (MoverCounters){ 0 };
        assert_int_equal(tested.mover.counters.found_bytes + tested.mover.counters.moved_bytes +
                                 tested.mover.counters.failed_pages,
                         0);
        mover_end(&tested.mover);
        assert_null(tested.mover.process);
        assert_int_equal(tested.mover.pagemap_fd, -EBADF);
}

TEST(empty_process, .teardown_func = end_test) {
        kernel_init(1);
        kernel.n_mappings = 0;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), 0);
}

TEST_GROUP(setup, teardown)
