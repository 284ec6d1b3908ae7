/* Holds memory, to be looked at: bench-target BYTES [FILE]
 *
 * Writes its own number into FILE first, as into a control group's cgroup.procs. Says "ready"; then
 * for each line on stdin it maps, touches and unmaps memory until the next one, and says how long
 * the longest of these took, in microseconds. */
#include <err.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"

/* Small enough to be quick, and many faults a second. */
enum { PIECE_BYTES = 64 * 1024 };

static char *map(size_t size) {
        char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (area == MAP_FAILED)
                err(1, "no memory for %zu bytes", size);
        (void)madvise(area, size, MADV_NOHUGEPAGE);
        memset(area, 1, size);
        return area;
}

static bool line_waits(void) {
        struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

        return poll(&fd, 1, 0) != 0;
}

static uint64_t longest_until_line(void) {
        uint64_t longest = 0;

        while (!line_waits()) {
                const uint64_t begin = clock_monotonic_usec();
                uint64_t took;

                (void)munmap(map(PIECE_BYTES), PIECE_BYTES);
                took = clock_monotonic_usec() - begin;
                longest = took > longest ? took : longest;
        }
        return longest;
}

static void join(const char *path) {
        _cleanup_fclose_ FILE *file = fopen(path, "we");

        if (!file || fprintf(file, "%d", getpid()) < 0 || fflush(file) != 0)
                err(1, "%s", path);
}

int main(int argc, char *argv[]) {
        char line[16];

        if (argc != 2 && argc != 3)
                errx(1, "usage: bench-target BYTES [FILE]");
        if (argc == 3)
                join(argv[2]);
        (void)map(strtoull(argv[1], NULL, 10));
        for (puts("ready"); fflush(stdout) == 0 && read(STDIN_FILENO, line, 1) == 1;) {
                printf("%llu\n", (unsigned long long)longest_until_line());
                if (read(STDIN_FILENO, line, 1) != 1)
                        break;
        }
        return 0;
}
