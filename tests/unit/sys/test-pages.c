/* Pages: lines of maps, and this process's own pages on whatever machine it runs. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/pages.h"

static void test_lines_that_count(void **state) {
        static const char *const lines[] = {
                "55e2c0000000-55e2c0021000 rw-p 00000000 00:00 0                          [heap]",
                "55e2c0000000-55e2c0021000 rw-p 00000000 00:00 0 ",
                "55e2c0000000-55e2c0021000 rw-p 00000000 00:00 0",
                "55e2c0000000-55e2c0021000 rw-p 00033000 fe:00 325835   /usr/lib/libc.so.6",
                "55e2c0000000-55e2c0021000 r--p 00033000 103:05 18446744073709551615 /a",
                "55e2c0000000-55e2c0021000 r-xp 00033000 fe:00 325835 /usr/bin/tikv (deleted)",
                "55e2c0000000-55e2c0021000 -w-p 00033000 fe:00 325835 /a b\\012[vdso]",
                "55e2c0000000-55e2c0021000 rw-p 00000000 00:00 0 [anon:glibc: malloc arena]",
                "55e2c0000000-55e2c0021000 rw-p 00000000 00:00 0 [stack]",
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                Mapping m = { 0 };

                if (maps_parse_line(lines[i], &m) != 1)
                        fail_msg("does not count: %s", lines[i]);
                assert_true(m.start == UINT64_C(0x55e2c0000000));
                assert_true(m.end == UINT64_C(0x55e2c0021000));
        }
}

static void test_lines_that_do_not_count(void **state) {
        static const char *const lines[] = {
                "7f0000000000-7f0000001000 rw-s 00000000 00:01 1 /dev/zero (deleted)",
                "7f0000000000-7f0000001000 r--s 00000000 fe:00 1 /usr/lib/locale",
                "7f0000000000-7f0000001000 ---p 00000000 00:00 0 ",
                "7f0000000000-7f0000001000 --xp 00000000 00:00 0 [x]",
                "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
                "ffffffffff600000-ffffffffff601000 r-xp 00000000 00:00 0 [vsyscall]",
                "7ff8df6c8000-7ff8df6ca000 r-xp 00000000 00:00 0      [vdso]",
                "7ff8df6c8000-7ff8df6ca000 r--p 00000000 00:00 0      [vvar]",
                "7ff8df6c8000-7ff8df6ca000 r--p 00000000 00:00 0      [vvar_vclock]",
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                Mapping m = { .start = 7 };

                if (maps_parse_line(lines[i], &m) != 0)
                        fail_msg("counts: %s", lines[i]);
                assert_int_equal(m.start, 7);
        }
}

static void test_lines_that_are_none(void **state) {
        static const char *const lines[] = {
                "",
                "\n",
                "rw-p",
                "1000-2000",
                "1000-2000 rw-p",
                "1000-2000 rw-p 0",
                "1000-2000 rw-p 0 fe:00",
                "1000-2000 rw-p 0 fe 00 1",
                "1000-2000 rw- 0 fe:00 1",
                "1000-2000 rw-pp 0 fe:00 1",
                "2000-1000 rw-p 0 fe:00 1",
                "1000-1000 rw-p 0 fe:00 1",
                "1000 2000 rw-p 0 fe:00 1",
                "x-2000 rw-p 0 fe:00 1",
                "[heap] 1000-2000 rw-p 0 fe:00 1",
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                Mapping m = { .start = 7 };

                if (maps_parse_line(lines[i], &m) != -EBADMSG)
                        fail_msg("is taken: %s", lines[i]);
                assert_int_equal(m.start, 7);
        }
}

static void open_self(Sysroot *sysroot, ProcHandle *handle) {
        assert_int_equal(sysroot_open(NULL, sysroot), 0);
        assert_int_equal(proc_open(sysroot, getpid(), handle), 0);
}

static bool is_mapped(const Mapping *mappings, size_t n, const void *address) {
        for (size_t i = 0; i < n; i++)
                if ((uintptr_t)address >= mappings[i].start && (uintptr_t)address < mappings[i].end)
                        return true;
        return false;
}

static void *map(size_t size, int protection, int flags) {
        void *p = mmap(NULL, size, protection, flags | MAP_ANONYMOUS, -1, 0);

        assert_true(p != MAP_FAILED);
        return p;
}

static void test_own_maps(void **state) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_free_ Mapping *mappings = NULL;
        size_t n = 0, size = 16 * page_size_bytes();
        void *rw = map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        void *shared = map(size, PROT_READ | PROT_WRITE, MAP_SHARED);
        void *none = map(size, PROT_NONE, MAP_PRIVATE);

        (void)state;
        open_self(&sysroot, &handle);
        assert_int_equal(maps_read(&handle, &mappings, &n), 0);
        assert_true(is_mapped(mappings, n, rw));
        assert_true(is_mapped(mappings, n, &n)); /* the stack */
        assert_false(is_mapped(mappings, n, shared));
        assert_false(is_mapped(mappings, n, none));
        for (size_t i = 1; i < n; i++)
                assert_true(mappings[i - 1].end <= mappings[i].start);
        (void)munmap(rw, size);
        (void)munmap(shared, size);
        (void)munmap(none, size);
}

/* Every third page is touched, over more than one read's worth of entries. */
static void test_present_pages(void **state) {
        enum { PAGES = 1100 };
        const size_t page = page_size_bytes();
        char *area = map(PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        char *shared = map(4 * page, PROT_READ | PROT_WRITE, MAP_SHARED);
        _cleanup_close_ int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        void *addresses[PAGES];

        (void)state;
        assert_true(fd >= 0);
        (void)madvise(area, PAGES * page, MADV_NOHUGEPAGE);
        assert_int_equal(pagemap_anonymous(fd, (uintptr_t)area, PAGES, addresses), 0);
        for (size_t i = 0; i < PAGES; i += 3)
                area[i * page] = 1;
        assert_int_equal(pagemap_anonymous(fd, (uintptr_t)area, PAGES, addresses), (PAGES + 2) / 3);
        for (size_t i = 0; i < (PAGES + 2) / 3; i++)
                assert_ptr_equal(addresses[i], area + 3 * i * page);
        assert_int_equal(pagemap_anonymous(fd, (uintptr_t)area + page, 3, addresses), 1);
        memset(shared, 1, 4 * page);
        assert_int_equal(pagemap_anonymous(fd, (uintptr_t)shared, 4, addresses), 0);
        (void)munmap(area, PAGES * page);
        (void)munmap(shared, 4 * page);
}

/* A private mapping of a file: what was only read is the file's, what was written is ours. */
static void test_copied_on_write(void **state) {
        const size_t page = page_size_bytes();
        _cleanup_close_ int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        _cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        char *area = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        void *addresses[2];

        (void)state;
        assert_true(area != MAP_FAILED && pagemap >= 0);
        assert_int_equal(((volatile char *)area)[0], 0x7f);
        (void)((volatile char *)area)[page];
        assert_int_equal(pagemap_anonymous(pagemap, (uintptr_t)area, 2, addresses), 0);
        area[page] = 1;
        assert_int_equal(pagemap_anonymous(pagemap, (uintptr_t)area, 2, addresses), 1);
        assert_ptr_equal(addresses[0], area + page);
        (void)munmap(area, 2 * page);
}

enum { NO_SUCH_NODE = 1000 };

static void test_query_and_move(void **state) {
        const size_t page = page_size_bytes();
        char *area = map(3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        void *addresses[3] = { area, area + page, area + 2 * page }, *many[600];
        int nodes[600], node;

        (void)state;
        area[0] = area[2 * page] = 1;
        assert_int_equal(pages_query(getpid(), 3, addresses, nodes), 0);
        node = nodes[0];
        assert_true(node >= 0 && nodes[2] >= 0);
        assert_true(nodes[1] == -ENOENT || nodes[1] == -EFAULT);
        if (geteuid() != 0) {
                print_message("moving wants root\n");
                skip();
        }
        assert_int_equal(pages_move(getpid(), 3, addresses, (uint32_t)node, nodes), 0);
        assert_int_equal(nodes[0], node);
        assert_true(nodes[1] < 0);
        assert_int_equal(pages_move(getpid(), 3, addresses, NO_SUCH_NODE, nodes), -ENODEV);
        for (size_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = area;
        assert_int_equal(pages_move(getpid(), 512, many, (uint32_t)node, nodes), 0);
        assert_int_equal(pages_move(getpid(), 513, many, (uint32_t)node, nodes), -EINVAL);
        (void)munmap(area, 3 * page);
}

static pid_t ended_child(void) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                _exit(0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        return pid;
}

static void test_gone(void **state) {
        pid_t pid = ended_child();
        void *address = &pid;
        int node;

        (void)state;
        assert_int_equal(pages_query(pid, 1, &address, &node), -ESRCH);
        assert_int_equal(pages_move(pid, 1, &address, 0, &node), geteuid() == 0 ? -ESRCH : -EPERM);
        assert_int_equal(pages_sweep(pid, 0, 0), -ESRCH);
}

static uint64_t effective_capabilities(void) {
        char text[16384];
        const char *line;
        uint64_t mask = 0;

        assert_true(read_file_at(AT_FDCWD, "/proc/thread-self/status", text, sizeof(text)) > 0);
        line = strstr(text, "\nCapEff:");
        assert_non_null(line);
        assert_int_equal(sscanf(line, "\nCapEff: %" SCNx64, &mask), 1);
        return mask;
}

/* The capability that was laid down for the call is back, also when it failed. */
static void test_sweep_keeps_capabilities(void **state) {
        uint64_t before = effective_capabilities();

        (void)state;
        assert_int_equal(pages_sweep(getpid(), 0, 0), 0);
        assert_true(effective_capabilities() == before);
        assert_true(pages_sweep(getpid(), 0, NO_SUCH_NODE) < 0);
        assert_true(effective_capabilities() == before);
        assert_int_equal(pages_sweep(ended_child(), 0, 0), -ESRCH);
        assert_true(effective_capabilities() == before);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines_that_count),
                cmocka_unit_test(test_lines_that_do_not_count),
                cmocka_unit_test(test_lines_that_are_none),
                cmocka_unit_test(test_own_maps),
                cmocka_unit_test(test_present_pages),
                cmocka_unit_test(test_copied_on_write),
                cmocka_unit_test(test_query_and_move),
                cmocka_unit_test(test_sweep_keeps_capabilities),
                cmocka_unit_test(test_gone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
