/* CPU time of one look at all processes that are there, by the very functions of the daemon, while
 * so many more sleep. Prints the microseconds of CPU time of one, then waits for its input to end,
 * so that somebody else can be measured beside.
 *
 *     bench-scan PROCESSES LOOKS
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tidbnumad/world/processes.h"

static bool wanted(const char *exe, void *userdata) {
        const char *slash = strrchr(exe, '/');

        (void)userdata;
        return strcmp(slash ? slash + 1 : exe, "tikv-server-of-nobody") == 0;
}

static double cpu_usec(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void start_sleeper(void) {
        pid_t pid = fork();

        if (pid < 0)
                err(1, "fork");
        if (pid > 0)
                return;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
                (void)pause();
}

int main(int argc, char *argv[]) {
        long processes = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
        long looks = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_pid_list_ PidList list = { 0 };
        double begin;

        if (looks <= 0)
                errx(1, "usage: bench-scan PROCESSES LOOKS");
        if (sysroot_open(NULL, &sysroot) < 0)
                errx(1, "cannot open /proc and /sys");
        while (processes-- > 0)
                start_sleeper();
        begin = cpu_usec();
        for (long i = 0; i < looks; i++) {
                if (pid_list_read(&sysroot, &list) < 0)
                        errx(1, "the look at all processes failed");
                for (size_t k = 0; k < list.n_pids; k++)
                        (void)process_may_match(&sysroot, list.pids[k], wanted, NULL);
        }
        (void)printf("%.1f\n", (cpu_usec() - begin) / (double)looks);
        (void)fflush(stdout);
        (void)getchar();
        return 0;
}
