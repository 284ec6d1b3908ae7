/* Milliseconds for one residency sample of the control group below /sys/fs/cgroup that is named.
 *
 *     bench-sample CGROUP
 */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/observe/topology-load.h"
#include "tidbnumad/sample/residency.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"

enum { ROUNDS = 200 };

int main(int argc, char *argv[]) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_topology_ Topology topology = { 0 };
        _cleanup_free_ NodeMemory *by_node = NULL;
        _cleanup_close_ int fd = -EBADF;
        uint64_t begin;
        int r;

        if (argc != 2)
                errx(1, "usage: bench-sample CGROUP");
        if (sysroot_open(NULL, &sysroot) < 0 || topology_load(&sysroot, &topology) < 0)
                errx(1, "the machine cannot be read");
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
