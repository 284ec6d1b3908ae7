/* Milliseconds for one residency sample: of the control group below /sys/fs/cgroup that is named,
 * counted, or of a process, drawn.
 *
 *     bench-sample CGROUP
 *     bench-sample --pid PID
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/observe/topology-load.h"
#include "tidbnumad/sample/residency.h"
#include "tidbnumad/sample/sampler.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"

enum { ROUNDS = 200 };

static void draw(const Sysroot *sysroot, const Topology *topology, const char *pid) {
        _cleanup_proc_ ProcHandle process = PROC_HANDLE_NONE;
        const uint64_t begin = clock_monotonic_usec();

        if (proc_open(sysroot, (pid_t)strtol(pid, NULL, 10), &process) < 0)
                errx(1, "no process %s", pid);
        for (unsigned i = 0; i < ROUNDS; i++) {
                _cleanup_draws_ Draws draws = { 0 };
                int r = sampler_draw(topology, &process, SAMPLER_PAGES, i + 1, &draws);

                if (r < 0)
                        errx(1, "%s: %s", pid, strerror(-r));
        }
        (void)printf("%.4f\n", (double)(clock_monotonic_usec() - begin) / ROUNDS / 1e3);
}

int main(int argc, char *argv[]) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_topology_ Topology topology = { 0 };
        _cleanup_free_ NodeMemory *by_node = NULL;
        _cleanup_close_ int fd = -EBADF;
        uint64_t begin;
        int r;

        if (argc != 2 && (argc != 3 || strcmp(argv[1], "--pid") != 0))
                errx(1, "usage: bench-sample CGROUP | --pid PID");
        if (sysroot_open(NULL, &sysroot) < 0 || topology_load(&sysroot, &topology) < 0)
                errx(1, "the machine cannot be read");
        if (argc == 3) {
                draw(&sysroot, &topology, argv[2]);
                return 0;
        }
        by_node = calloc(topology.n_nodes, sizeof(*by_node));
        if (!by_node || cgroup_open(&sysroot, argv[1], &fd) < 0)
                errx(1, "%s cannot be opened", argv[1]);
        begin = clock_monotonic_usec();
        for (unsigned i = 0; i < ROUNDS; i++) {
                r = residency_read(&topology, fd, by_node);
                if (r < 0)
                        errx(1, "%s: %s", argv[1], strerror(-r));
        }
        (void)printf("%.4f\n", (double)(clock_monotonic_usec() - begin) / ROUNDS / 1e3);
        return 0;
}
