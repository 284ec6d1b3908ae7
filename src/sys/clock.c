/* Clocks. */
#include <time.h>

#include "tidbnumad/sys/clock.h"

uint64_t clock_monotonic_usec(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
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
