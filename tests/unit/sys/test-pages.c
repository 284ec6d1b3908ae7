/* Pages: this process's own pages on whatever machine it runs. */
#include <inttypes.h>
#include <sys/mman.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
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
