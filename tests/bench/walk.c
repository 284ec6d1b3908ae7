/* One pass of the mover over a process in which there is nothing to move: all its cost is in
 * looking. Prints the milliseconds of the pass, of its longest step, and of one reading of
 * numa_maps, which holds the process's memory map for each mapping.
 *
 *     bench-walk sparse      100 GiB of address space, 200 MiB of it resident
 *     bench-walk mappings    50,000 mappings of two pages
 */
#include <err.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tidbnumad/change/mover.h"
#include "tidbnumad/sys/clock.h"

#define SPARSE_BYTES (UINT64_C(100) << 30)
#define SCAN_BYTES (UINT64_C(16) << 20) /* as worker/serve.c */

enum { HOLES = 100, HELD_BYTES = 2 << 20, MAPPINGS = 50000 };

static void *map(size_t size) {
        void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED)
                err(1, "cannot map %zu bytes", size);
        (void)madvise(p, size, MADV_NOHUGEPAGE);
        return p;
}

static void be_sparse(void) {
        char *p = map(SPARSE_BYTES);

        for (unsigned i = 0; i < HOLES; i++)
                memset(p + SPARSE_BYTES / HOLES * i, 1, HELD_BYTES);
}

/* Every other one may not be written, so that the kernel cannot join the mappings. */
static void be_many(void) {
        const size_t page = page_size_bytes();
        char *p = map(MAPPINGS * page * 2);

        memset(p, 1, MAPPINGS * page * 2);
        for (unsigned i = 0; i < MAPPINGS; i += 2)
                if (mprotect(p + i * page * 2, page * 2, PROT_READ) < 0)
                        err(1, "%u mappings", i);
}

static pid_t start(void (*become)(void)) {
        int ready[2];
        char byte;
        pid_t pid;

        if (pipe(ready) < 0)
                err(1, "pipe");
        pid = fork();
        if (pid < 0)
                err(1, "fork");
        if (pid == 0) {
                become();
                (void)!write(ready[1], "x", 1);
                for (;;)
                        (void)pause();
        }
        (void)close(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
                errx(1, "the process ended");
        return pid;
}

static double usec_to_ms(uint64_t usec) {
        return (double)usec / 1e3;
}

static void walk(const ProcHandle *handle, const NodeSet *nodes) {
        uint64_t begin = clock_monotonic_usec(), longest = 0, bytes;
        Mover mover = MOVER_NONE;
        int r = mover_begin(&mover, handle);

        if (r >= 0)
                do {
                        uint64_t step = clock_monotonic_usec();

                        r = mover_step(&mover, nodes, 0, SCAN_BYTES, &bytes);
                        step = clock_monotonic_usec() - step;
                        longest = step > longest ? step : longest;
                } while (r > 0);
        if (r < 0)
                errx(1, "the pass: %s", strerror(-r));
        (void)printf("%.3f %.3f", usec_to_ms(clock_monotonic_usec() - begin), usec_to_ms(longest));
        mover_end(&mover);
}

int main(int argc, char *argv[]) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_free_ char *text = NULL;
        char list[256];
        uint64_t begin;
        NodeSet nodes;
        pid_t pid;

        if (argc != 2 || (strcmp(argv[1], "sparse") != 0 && strcmp(argv[1], "mappings") != 0))
                errx(1, "usage: bench-walk sparse|mappings");
        if (sysroot_open(NULL, &sysroot) < 0 ||
            path_read(sysroot.sys_fd, list, sizeof(list), "devices/system/node/has_memory") < 0 ||
            id_set_parse_list(list, &nodes) < 0)
                errx(1, "the machine cannot be read");
        pid = start(strcmp(argv[1], "sparse") == 0 ? be_sparse : be_many);
        if (proc_open(&sysroot, pid, &handle) < 0)
                errx(1, "process %d cannot be opened", pid);
        walk(&handle, &nodes);
        begin = clock_monotonic_usec();
        if (path_read_alloc(handle.dir_fd, &text, NULL, "numa_maps") < 0)
                (void)puts("");
        else
                (void)printf(" %.3f\n", usec_to_ms(clock_monotonic_usec() - begin));
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return 0;
}
