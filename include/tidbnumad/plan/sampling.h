/* How often to sample, so that all of it stays within its budget. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The interval in force after a round that has cost `cost_usec`: the one that is wanted, or as much
 * longer as it takes for such rounds to use no more than `budget_ppm` of one CPU. One round that
 * was dear by accident does not outlast the next. A budget of 0 counts as one part in a million;
 * the interval is at most SAMPLING_INTERVAL_MAX_USEC, or the one that is wanted if that is longer.
 */
#define SAMPLING_INTERVAL_MAX_USEC (UINT64_C(3600) * 1000 * 1000)
uint64_t sampling_interval(uint64_t wanted_usec, uint32_t budget_ppm, uint64_t cost_usec);

/* The pause of an instance after this many consecutive draws with the same result: until the next
 * round, and from SAMPLING_STEADY_DRAWS on twice as long for each further draw, up to
 * SAMPLING_PAUSE_MAX_USEC. */
#define SAMPLING_STEADY_DRAWS 10
#define SAMPLING_PAUSE_MAX_USEC (UINT64_C(600) * 1000 * 1000)
uint64_t sampling_pause(unsigned n_steady, uint64_t interval_usec);

/* Is the share `ratio` another one than `before`, beyond what two draws of the same differ by? The
 * half-widths are those of the two, at 95 %. An unknown ratio (NAN) is another one. */
bool sampling_has_moved(double before, double before_halfwidth, double ratio, double halfwidth);
