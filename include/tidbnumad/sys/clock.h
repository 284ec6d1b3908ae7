/* Clocks. */
#pragma once

#include <stdint.h>

uint64_t clock_monotonic_usec(void);
double clock_boottime_seconds(void); /* of which start times of processes are */
double clock_realtime_seconds(void); /* since the epoch */
