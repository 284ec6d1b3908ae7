/* Children that hold memory of some shape, for the sampler to read. */
#pragma once

#include <inttypes.h>
#include <sys/mman.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/proc.h"

static inline void open_process(pid_t pid, ProcHandle *handle) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, pid, handle), 0);
}

static inline char *map(uint64_t size, int flags) {
        char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0);

        assert_true(area != MAP_FAILED);
        return area;
}

typedef void (*Holder)(void);

/* A child that holds memory, and waits. */
static inline pid_t start(Holder hold, ProcHandle *handle) {
        int ready;
        const pid_t pid = child_fork_until_ready(&ready);

        if (pid == 0) {
                hold();
                child_wait_ready(ready);
        }
        open_process(pid, handle);
        return pid;
}

/* Anonymous pages of a process, by numa_maps. */
static inline uint64_t anon_pages(pid_t pid) {
        _cleanup_fclose_ FILE *file = NULL;
        char path[64], line[4096];
        uint64_t all = 0;

        (void)snprintf(path, sizeof(path), "/proc/%d/numa_maps", pid);
        file = fopen(path, "re");
        if (!file) {
                child_end(pid);
                skip_because("no numa_maps here");
        }
        while (fgets(line, sizeof(line), file)) {
                const char *p = strstr(line, " anon=");

                all += p ? strtoull(p + 6, NULL, 10) : 0;
        }
        return all;
}
