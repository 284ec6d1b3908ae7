/* Pages: this process's own pages on whatever machine it runs. */
#include <inttypes.h>
#include <sys/mman.h>

#include "../../support/child-process.h"
#include "../../support/exec-child.h"
#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "tidbnumad/sys/pages.h"

static void *map(size_t size, int protection, int flags) {
        void *p = mmap(NULL, size, protection, flags | MAP_ANONYMOUS, -1, 0);

        assert_true(p != MAP_FAILED);
        return p;
}

enum { NO_SUCH_NODE = 1000 };

TEST(query_and_move) {
        const size_t page = page_size_bytes();
        char *area = map(3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        void *addresses[3] = { area, area + page, area + 2 * page }, *many[600];
        int nodes[600], node;

        area[0] = area[2 * page] = 1;
        assert_int_equal(pages_query(getpid(), 3, addresses, nodes), 0);
        node = nodes[0];
        assert_true(node >= 0 && nodes[2] >= 0);
        assert_true(nodes[1] == -ENOENT || nodes[1] == -EFAULT);
        if (geteuid() != 0)
                skip_because("moving wants root");
        assert_int_equal(pages_move(getpid(), 3, addresses, (uint32_t)node, PAGES_ALL, nodes), 0);
        assert_int_equal(nodes[0], node);
        assert_true(nodes[1] < 0);
        assert_int_equal(pages_move(getpid(), 3, addresses, NO_SUCH_NODE, PAGES_ALL, nodes),
                         -ENODEV);
        for (size_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = area;
        assert_int_equal(pages_move(getpid(), 512, many, (uint32_t)node, PAGES_ALL, nodes), 0);
        assert_int_equal(pages_move(getpid(), 513, many, (uint32_t)node, PAGES_ALL, nodes),
                         -EINVAL);
        (void)munmap(area, 3 * page);
}

static pid_t ended_child(void) {
        pid_t pid = child_fork();

        if (pid == 0)
                _exit(0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        return pid;
}

TEST(gone) {
        pid_t pid = ended_child();
        void *address = &pid;
        int node;

        assert_int_equal(pages_query(pid, 1, &address, &node), -ESRCH);
        assert_int_equal(pages_move(pid, 1, &address, 0, PAGES_ALL, &node),
                         geteuid() == 0 ? -ESRCH : -EPERM);
        assert_int_equal(pages_sweep(pid, 0, 0), -ESRCH);
}

static uint64_t effective_capabilities(void) {
        char text[16384];
        const char *line;
        uint64_t mask = 0;

        assert_true(path_read(AT_FDCWD, text, sizeof(text), "/proc/thread-self/status") > 0);
        line = strstr(text, "\nCapEff:");
        assert_non_null(line);
        assert_int_equal(sscanf(line, "\nCapEff: %" SCNx64, &mask), 1);
        return mask;
}

/* The capability that was laid down for the call is back, also when it failed. */
TEST(sweep_keeps_capabilities) {
        uint64_t before = effective_capabilities();

        assert_int_equal(pages_sweep(getpid(), 0, 0), 0);
        assert_true(effective_capabilities() == before);
        assert_true(pages_sweep(getpid(), 0, NO_SUCH_NODE) < 0);
        assert_true(effective_capabilities() == before);
        assert_int_equal(pages_sweep(ended_child(), 0, 0), -ESRCH);
        assert_true(effective_capabilities() == before);
}

TEST(what_faults_have_moved) {
        static char page[4096];
        void *address = page;
        uint64_t moved = 7;

        assert_int_equal(pages_sched_moved_parse("a (1, #threads: 1)\n-----\n"
                                                 "mm->numa_scan_seq      :      3\n"
                                                 "numa_pages_migrated    :      512\n"
                                                 "total_numa_faults      :      9\n"),
                         512);
        /* A program's name is its own to choose. */
        assert_true(pages_sched_moved_parse("numa_pages_migrated : 5 (1, #threads: 1)\n") ==
                    PAGES_UNKNOWN);
        assert_true(pages_sched_moved_parse("a\nnuma_pages_migrated\nb : 5\n") == PAGES_UNKNOWN);
        assert_true(pages_sched_moved_parse("a\nnuma_pages_migrated : x\n") == PAGES_UNKNOWN);
        assert_true(pages_sched_moved_parse("") == PAGES_UNKNOWN);
        assert_int_equal(pages_touch(getpid(), 1, &address, &moved), 0);
        assert_true(moved == 0 || moved == PAGES_UNKNOWN); /* nothing has marked it */
}

/* --- /proc/PID/pagemap: what is present, whose it is, and the way over what is empty --- */

static void *pagemap_map(size_t size, int protection, int flags) {
        void *p = mmap(NULL, size, protection, flags | MAP_ANONYMOUS, -1, 0);

        assert_true(p != MAP_FAILED);
        return p;
}

static int open_pagemap(pid_t pid, ProcHandle *handle) {
        Sysroot *sysroot = calloc(1, sizeof(*sysroot));
        int fd = -EBADF;

        assert_non_null(sysroot);
        assert_int_equal(sysroot_open(NULL, sysroot), 0);
        assert_int_equal(proc_open(sysroot, pid, handle), 0);
        assert_int_equal(pagemap_open(handle, &fd), 0);
        sysroot_close(sysroot);
        free(sysroot);
        return fd;
}

static size_t pick(int fd, const void *area, size_t n_pages, PageKind kind, void **addresses) {
        uint64_t entries[PAGEMAP_PAGES_MAX];

        assert_int_equal(pagemap_read(fd, (uintptr_t)area, n_pages, entries), 0);
        return pagemap_pick(entries, n_pages, (uintptr_t)area, kind, addresses);
}

TEST(pages_of_its_own) {
        enum { PAGES = PAGEMAP_PAGES_MAX };
        const size_t page = page_size_bytes();
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = open_pagemap(getpid(), &handle);
        char *area = pagemap_map(PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        void *addresses[PAGES];
        uint64_t entries[PAGES + 1];

        (void)madvise(area, PAGES * page, MADV_NOHUGEPAGE);
        assert_int_equal(pick(fd, area, PAGES, PAGE_OWN, addresses), 0);
        for (size_t i = 0; i < PAGES; i += 3)
                area[i * page] = 1;
        assert_int_equal(pick(fd, area, PAGES, PAGE_OWN, addresses), (PAGES + 2) / 3);
        for (size_t i = 0; i < (PAGES + 2) / 3; i++)
                assert_ptr_equal(addresses[i], area + 3 * i * page);
        assert_int_equal(pick(fd, area + page, 3, PAGE_OWN, addresses), 1);
        assert_int_equal(pick(fd, area, PAGES, PAGE_FILE, addresses), 0);
        assert_int_equal(pagemap_read(fd, (uintptr_t)area, PAGES + 1, entries), -EINVAL);
        (void)munmap(area, PAGES * page);
}

/* A child that touches what it inherited, says so, and waits. */
static pid_t fork_that_touches(char *area) {
        int ready;
        const pid_t pid = child_fork_until_ready(&ready);

        if (pid == 0) {
                area[0] = 2;
                child_wait_ready(ready);
        }
        return pid;
}

TEST(shared_pages) {
        const size_t page = page_size_bytes();
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = open_pagemap(getpid(), &handle);
        char *area = pagemap_map(2 * page, PROT_READ | PROT_WRITE, MAP_SHARED);
        void *addresses[2];
        pid_t pid;

        memset(area, 1, 2 * page);
        assert_int_equal(pick(fd, area, 2, PAGE_OWN, addresses), 0);
        assert_int_equal(pick(fd, area, 2, PAGE_FILE, addresses), 2);
        assert_int_equal(pick(fd, area, 2, PAGE_FILE_ALONE, addresses), 2);
        pid = fork_that_touches(area);
        assert_int_equal(pick(fd, area, 2, PAGE_FILE, addresses), 2);
        assert_int_equal(pick(fd, area, 2, PAGE_FILE_ALONE, addresses), 1);
        assert_ptr_equal(addresses[0], area + page);
        child_end(pid);
        (void)munmap(area, 2 * page);
}

/* A private mapping of a file: what was only read is the file's, what was written is ours. */
TEST(copied_on_write) {
        const size_t page = page_size_bytes();
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int pagemap = open_pagemap(getpid(), &handle);
        _cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        char *area = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        void *addresses[2];

        assert_true(area != MAP_FAILED);
        assert_int_equal(((volatile char *)area)[0], 0x7f);
        (void)((volatile char *)area)[page];
        assert_int_equal(pick(pagemap, area, 2, PAGE_OWN, addresses), 0);
        assert_int_equal(pick(pagemap, area, 2, PAGE_FILE, addresses), 2);
        area[page] = 1;
        assert_int_equal(pick(pagemap, area, 2, PAGE_OWN, addresses), 1);
        assert_ptr_equal(addresses[0], area + page);
        assert_int_equal(pick(pagemap, area, 2, PAGE_FILE, addresses), 1);
        assert_ptr_equal(addresses[0], area);
        (void)munmap(area, 2 * page);
}

TEST(over_what_is_empty) {
        const uint64_t size = UINT64_C(1) << 36;
        const size_t page = page_size_bytes();
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = open_pagemap(getpid(), &handle);
        char *area = pagemap_map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
        const uint64_t start = (uintptr_t)area, end = start + size;
        uint64_t at = start;
        int r = pagemap_skip(fd, &at, end);

        if (r == -EOPNOTSUPP) {
                assert_int_equal(at, start);
                (void)munmap(area, size);
                skip_because("a kernel without PAGEMAP_SCAN");
        }
        assert_int_equal(r, 0);
        assert_int_equal(at, end);
        area[size - 5 * page] = area[7 * page] = area[8 * page] = 1;
        at = start;
        (void)madvise(area, size, MADV_NOHUGEPAGE);
        assert_int_equal(pagemap_skip(fd, &at, end), 0);
        assert_true(at <= start + 7 * page &&
                    at + (2 << 20) > start + 7 * page); /* or a huge page */
        at = start + 8 * page;
        assert_int_equal(pagemap_skip(fd, &at, end), 0);
        assert_int_equal(at, start + 8 * page);
        at = start + (4 << 20);
        assert_int_equal(pagemap_skip(fd, &at, end), 0);
        assert_true(at > end - (4 << 20) && at <= end - 5 * page);
        (void)munmap(area, size);
}

/* The process is the same, its memory is another's: nothing of that is shown. */
TEST(after_exec) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = -EBADF, again = -EBADF;
        uint64_t entry = 7;
        ExecChild child;

        exec_child_start(&child);
        fd = open_pagemap(child.pid, &handle);
        assert_int_equal(pagemap_read(fd, 0, 1, &entry), 0);
        exec_child_go(&child);
        for (int i = 0; i < 5000 && pagemap_read(fd, 0, 1, &entry) == 0; i++)
                (void)usleep(2000);
        assert_int_equal(pagemap_read(fd, 0, 1, &entry), -ESTALE);
        assert_true(proc_is_alive(&handle));
        assert_int_equal(pagemap_open(&handle, &again), 0);
        assert_int_equal(pagemap_read(again, 0, 1, &entry), 0);
        exec_child_end(&child);
        assert_int_equal(pagemap_read(again, 0, 1, &entry), -ESTALE);
        closep(&again);
        again = -EBADF;
        assert_int_equal(pagemap_open(&handle, &again), -ESRCH);
}
