/* Milliseconds for one residency sample: of a control group, whose folder is named, counted, or of
 * a process, drawn. The mean of ROUNDS, 200 if not told.
 *
 *     bench-sample FOLDER
 *     bench-sample --pid PID [ROUNDS]
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/sys/clock.h"
#include "tidbnumad/world/instances.h"
#include "tidbnumad/world/sampling.h"
#include "tidbnumad/world/topology-load.h"

enum { ROUNDS = 200 };

static void draw(const Sysroot *sysroot, const Topology *topology, const char *pid,
                 unsigned rounds) {
        _cleanup_proc_ ProcHandle process = PROC_HANDLE_NONE;

        if (proc_open(sysroot, (pid_t)strtol(pid, NULL, 10), &process) < 0)
                errx(1, "no process %s", pid);
        for (unsigned i = 0; i < rounds; i++) {
                _cleanup_draws_ Draws draws = { 0 };
                int r = sampler_draw(topology, &process, SAMPLER_PAGES, i + 1, &draws);

                if (r < 0)
                        errx(1, "%s: %s", pid, strerror(-r));
        }
}

static void count(const Topology *topology, const char *folder, unsigned rounds) {
        _cleanup_free_ NodeMemory *by_node = calloc(topology->n_nodes, sizeof(*by_node));
        _cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (!by_node || fd < 0)
                err(1, "%s", folder);
        for (unsigned i = 0; i < rounds; i++) {
                int r = residency_read(topology, fd, by_node);

                if (r < 0)
                        errx(1, "%s: %s", folder, strerror(-r));
        }
}

int main(int argc, char *argv[]) {
        const bool process = argc > 2 && strcmp(argv[1], "--pid") == 0;
        const unsigned rounds = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : ROUNDS;
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_topology_ Topology topology = { 0 };
        uint64_t begin;

        if ((argc != 2 && !process) || argc > 4 || rounds == 0)
                errx(1, "usage: bench-sample FOLDER | --pid PID [ROUNDS]");
        if (sysroot_open(NULL, &sysroot) < 0 || topology_load(&sysroot, &topology) < 0)
                errx(1, "the machine cannot be read");
        begin = clock_monotonic_usec();
        if (process)
                draw(&sysroot, &topology, argv[2], rounds);
        else
                count(&topology, argv[1], rounds);
        (void)printf("%.4f\n", (double)(clock_monotonic_usec() - begin) / rounds / 1e3);
        return 0;
}
