/* How often to sample, so that all of it stays within its budget. */
#pragma once

#include <stdint.h>

/* The interval in force after a round that has cost `cost_usec`: the one that is wanted, or as much
 * longer as it takes for such rounds to use no more than `budget_ppm` of one CPU. One round that
 * was dear by accident does not outlast the next. A budget of 0 counts as one part in a million;
 * the interval is at most SAMPLING_INTERVAL_MAX_USEC, or the one that is wanted if that is longer.
 */
#define SAMPLING_INTERVAL_MAX_USEC (UINT64_C(3600) * 1000 * 1000)
uint64_t sampling_interval(uint64_t wanted_usec, uint32_t budget_ppm, uint64_t cost_usec);
