/* Clocks. */
#pragma once

#include <stdint.h>

uint64_t clock_monotonic_usec(void);
double clock_realtime_seconds(void); /* since the epoch */
