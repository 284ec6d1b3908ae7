/* The gentle mover: huge pages, shared memory, files, and which mapping comes first. */
#include <linux/userfaultfd.h>
#include <sys/syscall.h>

#include "mover-kernel.h"

/* --- huge pages, shared memory, files ----------------------------------------------------------
 */

/* The first page of the first whole chunk in the area. */
static size_t first_of_chunk(void) {
        uint64_t start = (uintptr_t)kernel.area;

        return (size_t)((MOVER_CHUNK_BYTES - start % MOVER_CHUNK_BYTES) / page_size_bytes());
}

TEST(a_huge_page_is_asked_for_once, .teardown_func = end_test) {
        const size_t pages = MOVER_CHUNK_BYTES / page_size_bytes();

        kernel_init(1);
        kernel.huge_first = first_of_chunk();
        kernel.huge_pages = pages;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES)); /* paid for by its bytes */
        assert_int_equal(tested.mover.counters.moved_bytes, BYTES(PAGES));
        assert_int_equal(kernel.moves[kernel.huge_first], 1);
        for (size_t i = 1; i < pages; i++)
                assert_int_equal(kernel.moves[kernel.huge_first + i], 0);
}

/* The kernel says -EFAULT of a huge page that NUMA balancing has marked, not -ENOENT. */
TEST(a_marked_huge_page_is_found, .teardown_func = end_test) {
        const size_t pages = MOVER_CHUNK_BYTES / page_size_bytes();

        kernel_init(0);
        kernel.marked_answer = -EFAULT;
        kernel.huge_first = first_of_chunk();
        kernel.huge_pages = pages;
        for (size_t i = 0; i < pages; i++) {
                kernel.nodes[kernel.huge_first + i] = 1;
                kernel.marked[kernel.huge_first + i] = true;
        }
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(pages));
        assert_int_equal(tested.mover.counters.moved_bytes, BYTES(pages));
        assert_int_equal(kernel.nodes[kernel.huge_first], 0);
}

/* Three in one chunk, with pages between them that are none of theirs. */
TEST(small_mappings_of_a_chunk_are_read_at_once, .teardown_func = end_test) {
        const uint64_t page = page_size_bytes();
        const size_t first = first_of_chunk();
        Mapping all;

        kernel_init(0);
        all = kernel.mappings[0];
        for (size_t i = 0; i < 3; i++) {
                kernel.mappings[i] = all;
                kernel.mappings[i].start = (uintptr_t)kernel.area + (first + i * 150) * page;
                kernel.mappings[i].end = kernel.mappings[i].start + 100 * page;
                kernel.nodes[first + i * 150 + 99] = 1;
                kernel.nodes[first + i * 150 + 100] = 1;
        }
        kernel.n_mappings = 3;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(3));
        assert_int_equal(tested.mover.counters.moved_bytes, BYTES(3));
        for (size_t i = 0; i < 3; i++) {
                assert_int_equal(kernel.nodes[first + i * 150 + 99], 0);
                assert_int_equal(kernel.nodes[first + i * 150 + 100], 1);
        }
        assert_true(kernel.reads <= 3); /* and whether the process is still there, twice */
}

/* What a fork still shares is moved where all holders are in the instance's cgroup, and only there.
 */
TEST(fork_shared_pages_want_proof, .teardown_func = end_test) {
        for (unsigned alone = 0; alone < 2; alone++)
                for (unsigned shared = 0; shared < 2; shared++) {
                        kernel_init_as(1, shared ? MAPPING_SHARED_ANON : MAPPING_PRIVATE);
                        kernel.others[3] = kernel.others[4] = true;
                        assert_int_equal(begin(state), 0);
                        tested.mover.alone = alone;
                        (void)walk(&tested.mover, "0", 0);
                        assert_int_equal(kernel.reach, alone ? PAGES_ALL : PAGES_ALONE);
                        assert_int_equal(kernel.nodes[3], alone ? 0 : 1);
                        assert_int_equal(kernel.nodes[5], 0);
                        (void)end_test(NULL);
                }
}

/* A chunk that is not outside as a whole is no huge page. */
TEST(a_chunk_with_a_page_at_home, .teardown_func = end_test) {
        kernel_init(1);
        kernel.nodes[first_of_chunk() + 9] = 0;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES - 1));
        assert_int_equal(kernel.moves[first_of_chunk()], 1);
        assert_int_equal(kernel.moves[first_of_chunk() + 9], 0);
}

/* Files are the page cache's, whoever maps them and however. */
TEST(files_stay, .teardown_func = end_test) {
        static const MappingKind kinds[] = { MAPPING_FILE, MAPPING_PRIVATE };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                kernel_init_as(1, MAPPING_FILE);
                kernel.mappings[0].kind = kinds[i];
                kernel.mappings[0].has_file = true;
                assert_int_equal(begin(state), 0);
                assert_int_equal(walk(&tested.mover, "0", 0), 0);
                assert_int_equal(kernel.calls, 0);
                (void)end_test(NULL);
        }
}

/* What nobody else maps, of a file that the kernel itself serves. */
TEST(files_come_along_where_the_kernel_would_move_them, .teardown_func = end_test) {
        static const MappingKind kinds[] = { MAPPING_FILE, MAPPING_PRIVATE };

        for (size_t i = 0; i < 2 * ELEMENTSOF(kinds); i++) {
                const bool on_disk = i % 2;

                kernel_init_as(1, MAPPING_FILE);
                kernel.mappings[0].kind = kinds[i / 2];
                kernel.mappings[0].has_file = true;
                kernel.mappings[0].on_disk = on_disk;
                kernel.others[3] = true;
                assert_int_equal(begin(state), 0);
                tested.mover.files = true;
                assert_int_equal(walk(&tested.mover, "0", 0), on_disk ? BYTES(PAGES) : 0);
                assert_int_equal(tested.mover.counters.shared_moved_bytes,
                                 on_disk ? BYTES(PAGES - 1) : 0);
                assert_int_equal(tested.mover.counters.found_bytes, 0);
                assert_int_equal(kernel.nodes[3], 1);
                assert_int_equal(kernel.nodes[4], on_disk ? 0 : 1);
                assert_int_equal(kernel.reach, PAGES_ALONE);
                (void)end_test(NULL);
        }
}

/* What nobody else maps; and it is none of the private memory. */
TEST(shared_memory_with_a_name, .teardown_func = end_test) {
        kernel_init_as(1, MAPPING_FILE);
        kernel.mappings[0].is_shmem = true;
        kernel.others[3] = kernel.others[4] = kernel.marked[5] = true;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0),
                         BYTES(PAGES - 1)); /* refused ones are paid for too */
        assert_int_equal(tested.mover.counters.shared_moved_bytes, BYTES(PAGES - 3));
        assert_int_equal(tested.mover.counters.found_bytes + tested.mover.counters.moved_bytes +
                                 tested.mover.counters.failed_pages,
                         0);
        assert_int_equal(kernel.reach, PAGES_ALONE);
        assert_int_equal(kernel.touches[5], 0);
        assert_int_equal(kernel.nodes[3], 1);
}

TEST(shared_huge_pages, .teardown_func = end_test) {
        kernel_init_as(1, MAPPING_FILE);
        kernel.mappings[0].is_huge = true;
        kernel.others[3] = true;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES));
        assert_int_equal(tested.mover.counters.shared_moved_bytes, BYTES(PAGES - 1));
        assert_int_equal(kernel.reach, PAGES_ALONE);
}

/* A page that was written to and dropped since is the file's again: reading it would wait for
 * whoever serves the file, which on a block device is the kernel itself. */
TEST(private_pages_of_a_file_are_read_on_disk_only, .teardown_func = end_test) {
        for (unsigned on_disk = 0; on_disk < 2; on_disk++) {
                kernel_init(1);
                kernel.mappings[0].has_file = true;
                kernel.mappings[0].on_disk = on_disk;
                kernel.marked[5] = true;
                assert_int_equal(begin(state), 0);
                assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES - 1 + on_disk));
                assert_int_equal(kernel.touches[5], on_disk);
                (void)end_test(NULL);
        }
}

/* Neither is memory whose faults another thread or process serves. */
TEST(a_process_with_userfaultfd_is_not_read, .teardown_func = end_test) {
        const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

        if (fd < 0)
                skip();
        kernel_init(1);
        kernel.marked[5] = true;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES - 1));
        assert_int_equal(kernel.touches[5], 0);
        (void)close(fd);
        assert_int_equal(mover_begin(&tested.mover, &tested.handle), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(1));
        assert_int_equal(kernel.touches[5], 1);
}

/* Shared memory without a name: only a fork can share it, and it comes whole. */
TEST(shared_memory, .teardown_func = end_test) {
        kernel_init_as(1, MAPPING_SHARED_ANON);
        kernel.others[3] = true;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(PAGES));
        assert_int_equal(tested.mover.counters.shared_moved_bytes, BYTES(PAGES));
        assert_int_equal(tested.mover.counters.found_bytes, 0);
        assert_int_equal(kernel.reach, PAGES_ALL);
}

TEST(mappings_that_do_not_count, .teardown_func = end_test) {
        kernel_init(1);
        kernel.mappings[0].kind = MAPPING_OTHER;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), 0);
        assert_int_equal(kernel.calls, 0);
}

/* --- the order ----------------------------------------------------------------------------------
 */

/* The one that has more outside first, though it is neither the first nor the largest. */
TEST(largest_outside_first, .teardown_func = end_test) {
        const uint64_t page = page_size_bytes(), chunk = MOVER_CHUNK_BYTES / page;

        kernel_init(0);
        kernel.n_mappings = 2;
        kernel.mappings[1] = kernel.mappings[0];
        kernel.mappings[0].end = kernel.mappings[1].start = kernel.mappings[0].start + 700 * page;
        for (size_t i = 0; i < 100; i++)
                kernel.nodes[i] = 1;
        for (size_t i = 700; i < 700 + chunk; i++)
                kernel.nodes[i] = 1;
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(100 + chunk));
        assert_int_equal(tested.mover.n_sorted, 2);
        assert_ptr_equal(kernel.asked_first, kernel.area + 700 * page);
        for (size_t i = 0; i < PAGES; i++)
                assert_true(kernel.moves[i] <= 2 && kernel.nodes[i] == 0);
}

/* There may be 50,000 of them, and none is worth a question of its own. */
TEST(small_mappings_are_not_sorted, .teardown_func = end_test) {
        NodeSet nodes = node_set("0");
        uint64_t bytes;

        kernel_init(1);
        kernel.mappings[0].end = kernel.mappings[0].start + MOVER_CHUNK_BYTES - page_size_bytes();
        assert_int_equal(begin(state), 0);
        while (tested.mover.phase == MOVER_SCAN)
                assert_int_equal(mover_step(&tested.mover, &nodes, 0, UINT64_MAX, &bytes), 1);
        assert_int_equal(kernel.queries + tested.mover.n_sorted, 0);
        assert_int_equal(walk(&tested.mover, "0", 0), MOVER_CHUNK_BYTES - page_size_bytes());
}

/* A mapping that was gone through is not gone through again. */
TEST(sorted_mappings_are_not_walked_twice, .teardown_func = end_test) {
        kernel_init(0);
        kernel.nodes[0] = 1; /* the first sample */
        assert_int_equal(begin(state), 0);
        assert_int_equal(walk(&tested.mover, "0", 0), BYTES(1));
        assert_int_equal(tested.mover.n_sorted, 1);
        assert_true(kernel.queries <= 1 + PAGES / 512 + 2);
}

TEST_GROUP(setup, teardown)
