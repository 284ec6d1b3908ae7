/* Children that hold memory of some shape, for the sampler to look at. */
#pragma once

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../support/test.h"

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
        int ready[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails waits for nobody */
                hold();
                (void)!write(ready[1], "x", 1);
                for (;;)
                        (void)pause();
        }
        (void)close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        (void)close(ready[0]);
        open_process(pid, handle);
        return pid;
}

static inline void end(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Anonymous pages of a process, by numa_maps. */
static inline uint64_t anon_pages(pid_t pid) {
        _cleanup_fclose_ FILE *file = NULL;
        char path[64], line[4096];
        uint64_t all = 0;

        (void)snprintf(path, sizeof(path), "/proc/%d/numa_maps", pid);
        file = fopen(path, "re");
        if (!file) {
                end(pid);
                print_message("no numa_maps here\n");
                skip();
        }
        while (fgets(line, sizeof(line), file)) {
                const char *p = strstr(line, " anon=");

                all += p ? strtoull(p + 6, NULL, 10) : 0;
        }
        return all;
}
