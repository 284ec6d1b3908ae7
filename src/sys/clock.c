#include <time.h>
#include <unistd.h>

#include "tidbnumad/sys/clock.h"

static uint64_t read_usec(clockid_t clock) {
        struct timespec ts;

        (void)clock_gettime(clock, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_monotonic_usec(void) {
        return read_usec(CLOCK_MONOTONIC);
}

uint64_t clock_thread_cpu_usec(void) {
        return read_usec(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_boottime_ticks(void) {
        const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
        struct timespec ts;

        (void)clock_gettime(CLOCK_BOOTTIME, &ts);
        return (uint64_t)ts.tv_sec * hz + (uint64_t)ts.tv_nsec * hz / 1000000000;
}

double clock_boottime_seconds(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_BOOTTIME, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

double clock_realtime_seconds(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_REALTIME, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}
